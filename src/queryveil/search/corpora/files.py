"""The files of a corpus: found, opened whether compressed or not, and read line by line."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import File

_GZIP = b"\x1f\x8b"
_HEAD = 4_096  # bytes


def files_at(place: Path) -> list[File]:
    """Return the file at a place, or all files of the folder there by name; hidden ones do not count."""
    if place.is_file():
        return [File(place, place.name)]
    if not place.is_dir():
        raise CorpusError(f"there is no file or folder {place}; check the place of the documents.")
    found = [(path, path.relative_to(place)) for path in place.rglob("*") if path.is_file()]
    return [
        File(path, str(name))
        for path, name in sorted(found, key=lambda pair: pair[1].parts)
        if not any(part.startswith(".") for part in name.parts)
    ]


@contextmanager
def opened(file: File) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file: the stream of its decompressed bytes, and the one of its own, which tells how far reading got."""
    try:
        with file.path.open("rb") as own:
            is_gzip = own.read(2) == _GZIP
            own.seek(0)
            if is_gzip:
                with gzip.open(own) as stream:
                    yield cast(BinaryIO, stream), own
            else:
                yield own, own
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise CorpusError(f"{file.path} is damaged: it cannot be decompressed; get it anew.") from None
    except OSError as error:
        raise CorpusError(f"cannot read {file.path}: {error.strerror or error}; check the file.") from None


def head_of(file: File) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with opened(file) as (stream, _):
        return stream.read(_HEAD)


def decoded(data: bytes) -> str:
    """Return bytes as text: UTF-8, or the Latin-1 of older collections."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers."""
    for number, line in enumerate(stream, start=1):
        yield number, decoded(line).rstrip("\r\n")


def elements(stream: BinaryIO, file: File, begin: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield the place and text of everything from a line that begins with one tag to the line with the other."""
    held: list[str] = []
    first = 0
    for number, line in lines(stream):
        if not held and not line.lstrip().upper().startswith(begin):
            continue
        first = first if held else number
        held.append(line)
        if end in line.upper():
            yield f"{file.path}, line {first:,}", "\n".join(held)
            held = []
    if held:
        raise CorpusError(f"{file.path}, line {first:,} begins a document that does not end; get the file anew.")
