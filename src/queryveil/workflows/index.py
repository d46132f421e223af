"""Indexing a corpus, or adding it to an index; the new index replaces the old one atomically."""

from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import CorpusError, InputError, OutputError
from queryveil.core.progress import Progress, silent
from queryveil.release import places
from queryveil.release.writer import check_place, named
from queryveil.search.builder import IndexBuilder, batches
from queryveil.search.corpora.base import Document
from queryveil.search.corpora.discovery import find_corpus, read_documents
from queryveil.search.index import RECORD_FILE, Index, open_index
from queryveil.workflows.requests import IndexRequest


@dataclass(frozen=True)
class Indexed:
    """An index, and how many documents of the corpus were added to it."""

    path: Path
    corpus: str  # format of the documents
    documents: int  # in the index
    terms: int
    added: int
    known: int  # unchanged, because the index had them already
    without_text: int  # skipped
    first_without_text: str  # location of the first of them
    files_passed_over: int  # in another format


def index(request: IndexRequest, *, progress: Progress = silent) -> Indexed:
    """Write an index of a corpus, or add the corpus to an index; an existing index stays until the new one is ready."""
    corpus, out, add, force = request.corpus, request.out, request.add, request.force
    if add and force:
        raise InputError("--add keeps the index there is and --force replaces it; give one of them.")
    target = named(out)
    check_place(target, RECORD_FILE, force=add or force)
    if Path(corpus).is_dir() and target.resolve().is_relative_to(Path(corpus).resolve()):
        raise OutputError(f"{out} would lie among the documents of {corpus}; choose another place.")
    old = open_index(target) if add else None
    found = find_corpus(corpus, request.form)
    try:
        with places.beside(target) as workspace, _IndexRun(workspace / places.NEW, old) as run:
            for batch in batches(read_documents(found, progress)):
                run.add(batch)
            if not run.builder.n_documents:
                raise CorpusError(f"{corpus} has no document with text; give documents that have some.")
            if run.n_added:
                progress("writing", 0, 0)
                run.builder.finish()
                places.put(workspace, target, force=add or force)
            return run.result(target, found.corpus.name, found.n_skipped)
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror or error}; nothing was written.") from None


class _IndexRun:
    """Adds documents to an index and counts the added, known and skipped ones; closes the files at the end."""

    def __init__(self, folder: Path, old: Index | None) -> None:
        folder.mkdir()
        self.builder = IndexBuilder(folder, old)
        self.n_added = self._n_known = self._n_without_text = 0
        self._first_without_text = ""
        self._old = old
        self._seen_ids: set[str] = set()

    def __enter__(self) -> "_IndexRun":
        return self

    def __exit__(self, *exception: object) -> None:
        self.builder.close()

    def add(self, documents: list[Document]) -> None:
        """Add the documents of a batch that the index does not have yet."""
        new = [document for document in documents if not self._is_known(document)]
        skipped = self.builder.add(new)
        if skipped and not self._n_without_text:
            self._first_without_text = skipped[0].location
        self.n_added += len(new) - len(skipped)
        self._n_known += len(documents) - len(new)
        self._n_without_text += len(skipped)

    def result(self, path: Path, corpus: str, n_skipped_files: int) -> Indexed:
        """Return the counts."""
        return Indexed(
            path,
            corpus,
            self.builder.n_documents,
            self.builder.n_terms,
            self.n_added,
            self._n_known,
            self._n_without_text,
            self._first_without_text,
            n_skipped_files,
        )

    def _is_known(self, document: Document) -> bool:
        """Return whether the index has the document; raise if its id is used twice or for another text."""
        if document.id in self._seen_ids:
            raise CorpusError(
                f"{document.location}: the id {document.id} occurs a second time; give every document its own."
            )
        self._seen_ids.add(document.id)
        if self._old is None or document.id not in self._old.documents.number_of:
            return False
        if self._old.documents.get(self._old.documents.number_of[document.id])[1:] != (document.title, document.text):
            raise CorpusError(
                f"{document.location}: the index has another text under the id {document.id}; "
                "make the index anew from all documents with --force."
            )
        return True
