"""The search engine, tantivy: an inverted index of titles and texts, scored by BM25. Nothing else imports tantivy.

It is given analyzed terms, not text, so it cannot disagree with our analyzer. A match in the title weighs more than one
in the text. Scores do not depend on how the engine splits its files into segments; ties go by document number.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from queryveil.core.errors import InternalError, OutputError
from queryveil.core.extras import needs
from queryveil.search.ranking import RankedDocuments

with needs("search", "an index of documents"):
    import tantivy

ENGINE_VERSION: str = tantivy.__version__.rpartition(", ")[2]  # type: ignore[attr-defined]  # such as "index_format v7"
TITLE_BOOST = 2.0
_HEAP_BYTES = 128_000_000  # held in memory before a segment is written
_TOKENIZER = "queryveil"


def _with_tokenizer(index: tantivy.Index) -> tantivy.Index:
    """Register the tokenizer of our fields, which splits analyzed terms at spaces."""
    index.register_tokenizer(_TOKENIZER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


class SearchEngineWriter:
    """Adds documents to the engine's folder, new or existing; they become visible when committed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        fields = tantivy.SchemaBuilder()
        for name in ("title", "text"):
            fields.add_text_field(name, tokenizer_name=_TOKENIZER, index_option="freq")
        fields.add_unsigned_field("number", fast=True)
        with _disk_errors():
            index = _with_tokenizer(tantivy.Index(fields.build(), path=str(folder)))
            self._writer: tantivy.IndexWriter | None = index.writer(_HEAP_BYTES, 1)

    def add(self, first: int, titles: Iterable[str], texts: Iterable[str]) -> None:
        """Add documents, numbered from `first`; titles and texts are terms separated by spaces."""
        writer = self._open_writer()
        with _disk_errors():
            for number, (title, text) in enumerate(zip(titles, texts, strict=True), start=first):
                document = tantivy.Document()
                document.add_text("title", title)
                document.add_text("text", text)
                document.add_unsigned("number", number)
                writer.add_document(document)

    def commit(self) -> None:
        """Write everything out."""
        with _disk_errors():
            self._open_writer().commit()

    def close(self) -> None:
        """Roll back what is not committed, and wait for the merging threads."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            with _disk_errors():
                writer.rollback()
                writer.wait_merging_threads()

    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise InternalError("documents were added to an engine that is closed.")
        return self._writer


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise the engine's errors as `OutputError`; while writing, they come from the disk."""
    try:
        yield
    except ValueError:
        raise OutputError("the search engine could not write its files; see whether the disk is full.") from None


class SearchEngine:
    """The engine's folder opened for searching, by any number of threads."""

    def __init__(self, folder: Path) -> None:
        index = _with_tokenizer(tantivy.Index.open(str(folder)))
        self._schema = index.schema
        self._searcher = index.searcher()

    def search(self, terms: Sequence[str], n: int) -> RankedDocuments:
        """Return the n best documents that contain any of the terms."""
        if not terms or n < 1:
            return RankedDocuments(np.empty(0, np.int32), np.empty(0, np.float32))
        clauses = []
        for term in dict.fromkeys(terms):
            title, text = (tantivy.Query.term_query(self._schema, field, term, "freq") for field in ("title", "text"))
            clauses += [(tantivy.Occur.Should, each) for each in (tantivy.Query.boost_query(title, TITLE_BOOST), text)]
        query, limit = tantivy.Query.boolean_query(clauses), n
        while True:  # until all documents that tie with the n-th are among the hits
            limit = min(2 * limit, max(self._searcher.num_docs, 1))
            hits = self._searcher.search(query, limit, count=False).hits
            if len(hits) < limit or limit >= self._searcher.num_docs or hits[-1][0] < hits[n - 1][0]:
                break
        numbers = np.array(self._searcher.fast_field_values("number", [hit[1] for hit in hits]), np.int32)
        scores = np.array([hit[0] for hit in hits], np.float32)
        order = np.lexsort((numbers, -scores))[:n]
        return RankedDocuments(numbers[order], scores[order])
