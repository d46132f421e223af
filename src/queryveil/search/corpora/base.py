"""What document formats share: the declaration, and opening, decoding and splitting of files."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from queryveil.core.errors import CorpusError
from queryveil.core.names import Declaration

_GZIP_MAGIC = b"\x1f\x8b"
_CONTROL_CHARACTERS = dict.fromkeys((*range(32), *range(127, 160)), " ")


@dataclass(frozen=True)
class Document:
    """One document of a corpus."""

    id: str
    title: str
    text: str
    location: str  # file and line, for error messages


@dataclass(frozen=True)
class CorpusFile:
    """A file of a corpus."""

    path: Path
    name: str  # relative to the corpus folder


@dataclass(frozen=True)
class Corpus(Declaration):
    """A document format; its function yields the documents of `(stream, file)`, or of nothing if it is bundled."""

    recognise: Callable[[str, bytes], bool] = field(default=lambda name, head: False, repr=False)
    # (file name, first bytes, decompressed) → whether the file is in this format
    is_bundled: bool = False  # the documents ship with queryveil and are in no file
    accepts_all_files: bool = False  # if the format is given, no file of a folder is skipped


@contextmanager
def open_file(file: CorpusFile) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file that may be compressed: the decompressed stream, and the raw one, whose position is the progress."""
    try:
        with file.path.open("rb") as raw:
            is_gzip = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            if is_gzip:
                with gzip.open(raw) as stream:
                    yield cast(BinaryIO, stream), raw
            else:
                yield raw, raw
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise CorpusError(f"{file.path} is damaged: it cannot be decompressed; get it anew.") from None
    except OSError as error:
        raise CorpusError(f"cannot read {file.path}: {error.strerror or error}; check the file.") from None


def decode(data: bytes) -> str:
    """Decode text as UTF-8, or else as Latin-1, which older collections use."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the decoded lines with their numbers, from 1."""
    for number, line in enumerate(stream, start=1):
        yield number, decode(line).rstrip("\r\n")


def sgml_elements(stream: BinaryIO, file: CorpusFile, begin: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield location and text of each element, from a line that starts with the begin tag to one with the end tag."""
    element: list[str] = []
    first = 0
    for number, line in numbered_lines(stream):
        if not element and not line.lstrip().upper().startswith(begin):
            continue
        first = first if element else number
        element.append(line)
        if end in line.upper():
            yield f"{file.path}, line {first:,}", "\n".join(element)
            element = []
    if element:
        raise CorpusError(f"{file.path}, line {first:,} begins a document that does not end; get the file anew.")


def normalize_spaces(text: str) -> str:
    """Return text on one line with single spaces, without control characters, which could steer a terminal."""
    return " ".join(text.translate(_CONTROL_CHARACTERS).split())
