"""Document formats: their declaration, detection of a corpus's format, and what the readers share."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from queryveil.core.errors import CorpusError
from queryveil.core.names import Declaration, declarations, resolve
from queryveil.core.progress import Progress, silent

_HEAD_BYTES = 4_096  # read of a file to detect its format
_DOCUMENTS_PER_REPORT = 500  # of progress
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


def normalize_spaces(text: str) -> str:
    """Return text on one line with single spaces, without control characters, which could steer a terminal."""
    return " ".join(text.translate(_CONTROL_CHARACTERS).split())


@dataclass(frozen=True)
class FoundCorpus:
    """A document format and the files that are in it; a bundled corpus has none."""

    corpus: Corpus
    files: tuple[CorpusFile, ...] = ()
    n_skipped: int = 0  # files of the folder that are in another format


def find_corpus(path: str | Path, form: str = "") -> FoundCorpus:
    """Find the documents of a file or folder, or of the bundled corpus of that name; without `form`, detect it."""
    known = {name: _as_corpus(declared) for name, declared in declarations("corpus").items()}
    given = _as_corpus(resolve("corpus", form).declaration) if form else None
    bundled = known.get(str(path))
    if bundled is not None and bundled.is_bundled and not Path(path).exists():
        if given not in (None, bundled):
            raise CorpusError(f"{path} is bundled and not {form}; leave --format out.")
        return FoundCorpus(bundled)
    if given is not None and given.is_bundled:
        raise CorpusError(f"{form} is bundled and is in no file; write queryveil index {form}.")
    files = _files_at(Path(path))
    if not files:
        raise CorpusError(f"{path} is an empty folder; give documents.")
    if given is not None and (len(files) == 1 or given.accepts_all_files):
        return FoundCorpus(given, tuple(files))
    heads = []
    for file in files:
        with open_file(file) as (stream, _):
            heads.append((file, stream.read(_HEAD_BYTES)))
    for corpus in known.values() if given is None else [given]:
        recognised = tuple(file for file, head in heads if corpus.recognise(file.name, head))
        if recognised:
            return FoundCorpus(corpus, recognised, len(files) - len(recognised))
    what = f"documents in the form {form}" if form else "documents in a form that can be guessed"
    raise CorpusError(f"{path} has no {what}; queryveil list corpora names them, and --format settles which it is.")


def read_documents(found: FoundCorpus, progress: Progress = silent) -> Iterator[Document]:
    """Yield the documents of a corpus, file by file."""
    reader = found.corpus.load()
    if found.corpus.is_bundled:
        progress("indexing", 0, 0)
        yield from reader()
        return
    sizes = [file.path.stat().st_size for file in found.files]
    done, total = 0, sum(sizes)
    for file, size in zip(found.files, sizes, strict=True):
        with open_file(file) as (stream, raw):
            for count, document in enumerate(reader(stream, file)):
                if count % _DOCUMENTS_PER_REPORT == 0:
                    progress("indexing", done + raw.tell(), total)
                yield document
        done += size
        progress("indexing", done, total)


def _files_at(path: Path) -> list[CorpusFile]:
    """Return the file at a path, or all files of the folder in alphabetical order, without hidden ones."""
    if path.is_file():
        return [CorpusFile(path, path.name)]
    if not path.is_dir():
        raise CorpusError(f"there is no file or folder {path}; check the place of the documents.")
    found = [(file, file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    return [
        CorpusFile(file, str(name))
        for file, name in sorted(found, key=lambda pair: pair[1].parts)
        if not any(part.startswith(".") for part in name.parts)
    ]


def _as_corpus(declaration: object) -> Corpus:
    if not isinstance(declaration, Corpus):
        raise TypeError(f"{declaration} is declared as a corpus but is none")
    return declaration
