"""From a place to its documents: the form is given or guessed, and files that are not of it are passed over."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import CorpusError
from queryveil.core.names import declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.search.corpora.base import Corpus, Document, File
from queryveil.search.corpora.files import files_at, head_of, opened

_OFTEN = 500  # documents between two reports of progress


@dataclass(frozen=True)
class FoundCorpus:
    """A corpus and its files; a bundled one has none."""

    corpus: Corpus
    files: tuple[File, ...] = ()
    n_passed_over: int = 0  # files of the folder that are in another form


def find_corpus(place: str | Path, name: str = "") -> FoundCorpus:
    """Find the documents at a place, or the bundled ones where the place is only their name."""
    known = declarations("corpus")
    given = _as_corpus(resolve("corpus", name).declaration) if name else None
    bundled = known.get(str(place))
    if bundled is not None and _as_corpus(bundled).is_bundled and not Path(place).exists():
        if given not in (None, bundled):
            raise CorpusError(f"{place} is bundled and not {name}; leave --format out.")
        return FoundCorpus(_as_corpus(bundled))
    if given is not None and given.is_bundled:
        raise CorpusError(f"{name} is bundled and is in no file; write queryveil index {name}.")
    files = files_at(Path(place))
    if not files:
        raise CorpusError(f"{place} is an empty folder; give documents.")
    if given is not None and (len(files) == 1 or given.name == "text"):
        return FoundCorpus(given, tuple(files))
    heads = [(file, head_of(file)) for file in files]
    for corpus in [_as_corpus(declared) for declared in known.values()] if given is None else [given]:
        recognised = tuple(file for file, head in heads if corpus.recognise(file.name, head))
        if recognised:
            return FoundCorpus(corpus, recognised, len(files) - len(recognised))
    what = f"documents in the form {name}" if name else "documents in a form that can be guessed"
    raise CorpusError(f"{place} has no {what}; queryveil list corpora names them, and --format settles which it is.")


def read(found: FoundCorpus, progress: Progress = silent) -> Iterator[Document]:
    """Yield the documents of a corpus, file by file."""
    reader = found.corpus.load()
    if found.corpus.is_bundled:
        progress("indexing", 0, 0)
        yield from reader()
        return
    sizes = [file.path.stat().st_size for file in found.files]
    done = 0
    for file, size in zip(found.files, sizes, strict=True):
        with opened(file) as (stream, own):
            for count, document in enumerate(reader(stream, file)):
                if count % _OFTEN == 0:
                    progress("indexing", done + own.tell(), sum(sizes))
                yield document
        done += size
        progress("indexing", done, sum(sizes))


def _as_corpus(declaration: object) -> Corpus:
    if not isinstance(declaration, Corpus):
        raise TypeError(f"{declaration} is declared as a corpus but is none")
    return declaration
