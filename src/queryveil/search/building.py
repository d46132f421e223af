"""Making the folder of an index, from nothing or from an index that gets more documents."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.search import folder as folders
from queryveil.search.analyser import Analyser
from queryveil.search.corpora.base import Document
from queryveil.search.documents import SCHEMA
from queryveil.search.engine import FORMAT, EngineWriter
from queryveil.search.index import Index, counts_of
from queryveil.search.vectors import Counts

_BATCH = 8_192  # documents


class Builder:
    """Takes documents one by one and writes an index of them into an empty folder."""

    def __init__(self, folder: Path, old: Index | None = None) -> None:
        """Begin with the documents of an index, where one is given; it stays as it is."""
        self.n_documents = 0
        self._folder = folder
        self._analyser = Analyser()
        self._counting = Counting()
        self._batch: list[Document] = []
        if old is not None:
            copytree(old.path / folders.ENGINE, folder / folders.ENGINE, ignore=ignore_patterns("*.lock"))
        self._engine = EngineWriter(folder / folders.ENGINE)
        self._sink = pa.OSFile(str(folder / folders.DOCUMENTS), "wb")
        self._documents = pa.ipc.new_file(self._sink, SCHEMA)
        if old is not None:
            self._documents.write_table(old.documents.table)
            self._counting.take_over(old.terms, counts_of(old))
            self.n_documents = len(old.documents)

    def add(self, document: Document) -> bool:
        """Add a document and say whether it was: one without a single term cannot be found, so it is left out."""
        title, text = self._analyser.terms(document.title), self._analyser.terms(document.text)
        if not title and not text:
            return False
        self._engine.add(self.n_documents, title, text)
        self._counting.add(title, text)
        self._batch.append(document)
        if len(self._batch) == _BATCH:
            self._write_batch()
        self.n_documents += 1
        return True

    def finish(self) -> None:
        """Write everything that is not yet written, and last of all what the folder holds."""
        self._write_batch()
        self._documents.close()
        self._sink.close()
        self._engine.close()
        terms, counts = self._counting.finish()
        _write_table(self._folder / folders.TERMS, pa.table({"term": pa.array(terms, pa.large_string())}))
        arrays: Mapping[str, NDArray[Any]] = {
            folders.INDPTR: counts.indptr,
            folders.IDS: counts.ids,
            folders.COUNTS: counts.counts,
            folders.WEIGHTS: counts.weights(len(terms)),
        }
        for name, array in arrays.items():
            np.save(self._folder / name, array)
        folders.write_record(self._folder, FORMAT, {"documents": self.n_documents, "terms": len(terms)})

    def _write_batch(self) -> None:
        columns = [[getattr(document, name) for document in self._batch] for name in SCHEMA.names]
        self._documents.write_table(pa.table(columns, schema=SCHEMA))
        self._counting.settle()
        self._batch.clear()


class Counting:
    """Counts the terms of documents that come one after the other."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # term → number in the order of first use
        self._found: list[int] = []  # the terms of the documents that are not settled, one after the other
        self._lengths: list[int] = []  # how many terms each of them has
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]] = []
        # row lengths, ids and counts of settled documents

    def take_over(self, terms: Iterable[str], counts: Counts) -> None:
        """Begin with documents that were counted before."""
        self._numbers = {term: number for number, term in enumerate(terms)}
        self._parts.append((np.diff(counts.indptr), counts.ids, counts.counts))

    def add(self, title: list[str], text: list[str]) -> None:
        """Count the terms of a document."""
        numbers = self._numbers
        self._found += [numbers.setdefault(term, len(numbers)) for term in (*title, *text)]
        self._lengths.append(len(title) + len(text))

    def settle(self) -> None:
        """Turn what was found since the last time into counts."""
        rows = np.repeat(np.arange(len(self._lengths)), self._lengths)
        keys, counts = np.unique(rows << 32 | np.array(self._found, np.int64), return_counts=True)
        lengths = np.bincount(keys >> 32, minlength=len(self._lengths))
        self._parts.append((lengths, (keys & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))
        self._found.clear()
        self._lengths.clear()

    def finish(self) -> tuple[list[str], Counts]:
        """Return the terms, sorted, and the counts over their places."""
        by_number = list(self._numbers)
        order = sorted(range(len(by_number)), key=by_number.__getitem__)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        lengths, ids, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        ids = place[ids]
        sorting = np.lexsort((ids, np.repeat(np.arange(len(lengths)), lengths)))
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
        return [by_number[number] for number in order], Counts(indptr, ids[sorting], counts[sorting])


def _write_table(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
