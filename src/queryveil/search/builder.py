"""Writing the folder of an index: a new one, or an existing index with more documents."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import Int32Array, IntArray, indptr_of, row_numbers
from queryveil.search import index
from queryveil.search.analyzer import BatchAnalyzer
from queryveil.search.corpora.base import Document
from queryveil.search.engine import SearchEngineWriter
from queryveil.search.ranking import TermCounts

_BATCH_DOCUMENTS, _BATCH_CHARACTERS = 4_096, 10_000_000


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield documents in batches that fit into memory, limited in number of documents and of characters."""
    batch: list[Document] = []
    n_characters = 0
    for document in documents:
        batch.append(document)
        n_characters += len(document.text)
        if len(batch) == _BATCH_DOCUMENTS or n_characters > _BATCH_CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch


class IndexTermCounter:
    """Accumulates term frequencies of documents, batch by batch."""

    def __init__(self, counted: TermCounts | None = None) -> None:
        """Start with the documents of an existing index, if given."""
        # per batch: (documents,) number of postings; (postings,) term ids; (postings,) counts
        self._batches: list[tuple[IntArray, Int32Array, Int32Array]] = []
        if counted is not None:
            self._batches.append((np.diff(counted.indptr), counted.ids, counted.counts))

    def add(self, rows: IntArray, term_ids: Int32Array, n_documents: int) -> None:
        """Count a batch, given the document and the term of every occurrence."""
        keys, counts = np.unique(rows << 32 | term_ids, return_counts=True)
        lengths = np.bincount(keys >> 32, minlength=n_documents)
        self._batches.append((lengths, (keys & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))

    def finish(self, terms: Sequence[str]) -> tuple[list[str], TermCounts]:
        """Return the terms in alphabetical order and the term frequencies, renumbered by that order."""
        order = sorted(range(len(terms)), key=terms.__getitem__)
        rank = np.argsort(np.array(order, np.int64)).astype(np.int32)
        lengths, ids, counts = (np.concatenate(column) for column in zip(*self._batches, strict=True))
        indptr, ids = indptr_of(lengths), rank[ids]
        sorting = np.argsort(row_numbers(indptr) << 32 | ids)
        return [terms[number] for number in order], TermCounts(indptr, ids[sorting], counts[sorting])


class IndexBuilder:
    """Writes an index of documents, given batch by batch, into an empty folder."""

    def __init__(self, folder: Path, old: index.Index | None = None) -> None:
        """Start with a copy of the documents of an existing index, if given."""
        self.n_documents = 0 if old is None else len(old.documents)
        self._folder = folder
        self._analyzer = BatchAnalyzer(() if old is None else old.terms)
        self._counter = IndexTermCounter(None if old is None else old.term_counts())
        if old is not None:
            copytree(old.path / index.ENGINE_FOLDER, folder / index.ENGINE_FOLDER, ignore=ignore_patterns("*.lock"))
        self._engine = SearchEngineWriter(folder / index.ENGINE_FOLDER)
        self._sink = pa.OSFile(str(folder / index.DOCUMENTS_FILE), "wb")
        self._documents = pa.ipc.new_file(self._sink, index.DOCUMENT_SCHEMA)
        if old is not None:
            self._documents.write_table(old.documents.table)

    @property
    def n_terms(self) -> int:
        """Count the distinct terms of all documents."""
        return len(self._analyzer.terms)

    def add(self, documents: Sequence[Document]) -> list[Document]:
        """Add documents; return those that were skipped because they have no terms and could never be found."""
        n = len(documents)
        batch = self._analyzer.analyze([d.title for d in documents] + [d.text for d in documents])
        has_terms = batch.lengths[:n] + batch.lengths[n:] > 0
        row = np.cumsum(has_terms) - 1  # number of each document among those that have terms
        self._counter.add(np.repeat(np.concatenate((row, row)), batch.lengths), batch.term_ids, int(has_terms.sum()))
        kept = np.flatnonzero(has_terms).tolist()
        self._engine.add(self.n_documents, (batch.joined[i] for i in kept), (batch.joined[n + i] for i in kept))
        columns = [[getattr(documents[i], name) for i in kept] for name in index.DOCUMENT_SCHEMA.names]
        self._documents.write_table(pa.table(columns, schema=index.DOCUMENT_SCHEMA))
        self.n_documents += len(kept)
        return [documents[i] for i in np.flatnonzero(~has_terms).tolist()]

    def close(self) -> None:
        """Release the files, whether or not the index is finished."""
        self._sink.close()
        self._engine.close()

    def finish(self) -> None:
        """Write everything that is still missing, the record last."""
        self._documents.close()
        self._engine.commit()
        self.close()
        terms, counts = self._counter.finish(self._analyzer.terms)
        table = pa.table({"term": pa.array(terms, pa.large_string())})
        with (
            pa.OSFile(str(self._folder / index.TERMS_FILE), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table)
        arrays: Mapping[str, NDArray[Any]] = {
            index.INDPTR_FILE: counts.indptr,
            index.IDS_FILE: counts.ids,
            index.COUNTS_FILE: counts.counts,
            index.WEIGHTS_FILE: counts.tf_idf(len(terms)),
        }
        for name, array in arrays.items():
            np.save(self._folder / name, array)
        index.write_record(self._folder, {"documents": self.n_documents, "terms": len(terms)})
