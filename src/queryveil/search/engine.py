"""The search engine, tantivy: BM25 over the analysed titles and texts. Nothing else imports it.

It gets terms, not text, so that it can never disagree with the analyser. A word in the title weighs more than one in
the text. Scores do not depend on how the engine cuts its files into segments, and ties go by document number.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray

from queryveil.core.errors import InternalError, OutputError

# "index_format v7": what an engine of this version reads
FORMAT: str = tantivy.__version__.rpartition(", ")[2]  # type: ignore[attr-defined]
TITLE_BOOST = 2.0
_HEAP = 128_000_000  # bytes the writer may hold before it cuts a segment
_SPACE = "queryveil"


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name=_SPACE, index_option="freq")
    builder.add_unsigned_field("number", fast=True)
    return builder.build()


def _with_analyser(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer(_SPACE, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


class EngineWriter:
    """Adds documents to an engine's folder, which may be new; they are there once they are committed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        with _faults():
            index = _with_analyser(tantivy.Index(_schema(), path=str(folder)))
            self._writer: tantivy.IndexWriter | None = index.writer(_HEAP, 1)

    def add(self, first: int, titles: Iterable[str], texts: Iterable[str]) -> None:
        """Add documents, numbered from the first, by the terms of titles and texts with spaces between them."""
        writer = self._open()
        with _faults():
            for number, (title, text) in enumerate(zip(titles, texts, strict=True), start=first):
                document = tantivy.Document()
                document.add_text("title", title)
                document.add_text("text", text)
                document.add_unsigned("number", number)
                writer.add_document(document)

    def commit(self) -> None:
        """Write everything out."""
        with _faults():
            self._open().commit()

    def close(self) -> None:
        """Wait until nothing is being written any more; what was not committed is lost."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            with _faults():
                writer.rollback()
                writer.wait_merging_threads()

    def _open(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise InternalError("documents were added to an engine that is closed.")
        return self._writer


@contextmanager
def _faults() -> Iterator[None]:
    """Turn the engine's errors, which are those of the disk here, into ours."""
    try:
        yield
    except ValueError:
        raise OutputError("the search engine could not write its files; see whether the disk is full.") from None


class Engine:
    """An engine's folder opened for searching, by any number of threads."""

    def __init__(self, folder: Path) -> None:
        index = _with_analyser(tantivy.Index.open(str(folder)))
        self._schema = index.schema
        self._searcher = index.searcher()

    def search(self, terms: Sequence[str], n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the numbers and scores of the best documents that hold any of the terms."""
        if not terms or n < 1:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        query = self._query(terms)
        limit = n
        while True:  # until it is certain which of those that tie with the last one come first
            limit = min(2 * limit, max(self._searcher.num_docs, 1))
            hits = self._searcher.search(query, limit, count=False).hits
            if len(hits) < limit or limit >= self._searcher.num_docs or hits[-1][0] < hits[n - 1][0]:
                break
        numbers = np.array(self._searcher.fast_field_values("number", [hit[1] for hit in hits]), np.int32)
        scores = np.array([hit[0] for hit in hits], np.float32)
        order = np.lexsort((numbers, -scores))[:n]
        return numbers[order], scores[order]

    def _query(self, terms: Sequence[str]) -> tantivy.Query:
        parts = []
        for term in dict.fromkeys(terms):
            title = tantivy.Query.term_query(self._schema, "title", term, "freq")
            parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(title, TITLE_BOOST)))
            parts.append((tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "text", term, "freq")))
        return tantivy.Query.boolean_query(parts)
