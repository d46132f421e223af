"""From a corpus to an index that appears whole or not at all; documents are added to an index in the same way."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import CorpusError, InputError, OutputError
from queryveil.core.progress import Progress, silent
from queryveil.release import places
from queryveil.release.writer import check_place, named
from queryveil.search.building import Builder
from queryveil.search.corpora.base import Document
from queryveil.search.corpora.reading import find_corpus, read
from queryveil.search.folder import NAME
from queryveil.search.index import Index, open_index
from queryveil.workflows.requests import IndexRequest

_BATCH, _CHARACTERS = 4_096, 10_000_000  # of documents that are analysed together


@dataclass(frozen=True)
class Indexed:
    """An index, and what became of the documents of the corpus."""

    path: Path
    corpus: str  # the form of the documents
    documents: int  # in the index
    terms: int
    added: int
    known: int  # left as they were, since the index had them
    without_text: int  # left out
    first_without_text: str  # its place
    files_passed_over: int  # in another form


def index(request: IndexRequest, *, progress: Progress = silent) -> Indexed:
    """Write an index of a corpus, or add the corpus to an index; the old one stands until the new one does."""
    corpus, out, add, force = request.corpus, request.out, request.add, request.force
    if add and force:
        raise InputError("--add keeps the index there is and --force replaces it; give one of them.")
    place = named(out)
    check_place(place, NAME, force=add or force)
    if Path(corpus).is_dir() and place.resolve().is_relative_to(Path(corpus).resolve()):
        raise OutputError(f"{out} would lie among the documents of {corpus}; choose another place.")
    old = open_index(place) if add else None
    found = find_corpus(corpus, request.form)
    try:
        with places.beside(place) as workspace, _Run(workspace / places.NEW, old) as run:
            for batch in _batches(read(found, progress)):
                run.add(batch)
            if not run.builder.n_documents:
                raise CorpusError(f"{corpus} has no document with text; give documents that have some.")
            if run.n_added:
                progress("writing", 0, 0)
                run.builder.finish()
                places.put(workspace, place, force=add or force)
            return run.result(place, found.corpus.name, found.n_passed_over)
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror or error}; nothing was written.") from None


class _Run:
    """Keeps count of what becomes of documents while they are added."""

    def __init__(self, folder: Path, old: Index | None) -> None:
        folder.mkdir()
        self.builder = Builder(folder, old)
        self.n_added = self._n_known = self._n_without_text = 0
        self._first_without_text = ""
        self._old = old
        self._seen: set[str] = set()

    def __enter__(self) -> "_Run":
        return self

    def __exit__(self, *exception: object) -> None:
        self.builder.close()

    def add(self, documents: list[Document]) -> None:
        """Add those of a batch that the index has not yet."""
        new = [document for document in documents if not self._is_known(document)]
        left_out = self.builder.add(new)
        if left_out and not self._n_without_text:
            self._first_without_text = left_out[0].place
        self.n_added += len(new) - len(left_out)
        self._n_known += len(documents) - len(new)
        self._n_without_text += len(left_out)

    def result(self, place: Path, corpus: str, n_passed_over: int) -> Indexed:
        """Return what was done."""
        return Indexed(
            place,
            corpus,
            self.builder.n_documents,
            self.builder.n_terms,
            self.n_added,
            self._n_known,
            self._n_without_text,
            self._first_without_text,
            n_passed_over,
        )

    def _is_known(self, document: Document) -> bool:
        """Say whether the index has the document; an id stands for one text only."""
        if document.id in self._seen:
            raise CorpusError(
                f"{document.place}: the id {document.id} occurs a second time; give every document its own."
            )
        self._seen.add(document.id)
        if self._old is None or document.id not in self._old.documents.number_of:
            return False
        if self._old.documents.get(self._old.documents.number_of[document.id])[1:] != (document.title, document.text):
            raise CorpusError(
                f"{document.place}: the index has another text under the id {document.id}; "
                "make the index anew from all documents with --force."
            )
        return True


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield the documents in batches that fit into memory, however long they are."""
    batch: list[Document] = []
    n_characters = 0
    for document in documents:
        batch.append(document)
        n_characters += len(document.text)
        if len(batch) == _BATCH or n_characters > _CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch
