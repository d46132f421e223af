"""From a path to its documents: the format is given or detected, and files in other formats are skipped."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import CorpusError
from queryveil.core.names import declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, open_file

_HEAD_BYTES = 4_096  # read of a file to detect its format
_DOCUMENTS_PER_REPORT = 500  # of progress


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
    heads = [(file, _head(file)) for file in files]
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
    done = 0
    for file, size in zip(found.files, sizes, strict=True):
        with open_file(file) as (stream, raw):
            for count, document in enumerate(reader(stream, file)):
                if count % _DOCUMENTS_PER_REPORT == 0:
                    progress("indexing", done + raw.tell(), sum(sizes))
                yield document
        done += size
        progress("indexing", done, sum(sizes))


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


def _head(file: CorpusFile) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with open_file(file) as (stream, _):
        return stream.read(_HEAD_BYTES)


def _as_corpus(declaration: object) -> Corpus:
    if not isinstance(declaration, Corpus):
        raise TypeError(f"{declaration} is declared as a corpus but is none")
    return declaration
