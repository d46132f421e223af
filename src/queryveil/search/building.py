"""Making the folder of an index, from nothing or from an index that gets more documents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.search import folder as folders
from queryveil.search.analysis import BatchAnalyser, Counting
from queryveil.search.corpora.base import Document
from queryveil.search.documents import SCHEMA
from queryveil.search.engine import FORMAT, EngineWriter
from queryveil.search.index import Index, counts_of


class Builder:
    """Takes batches of documents and writes an index of them into an empty folder."""

    def __init__(self, folder: Path, old: Index | None = None) -> None:
        """Begin with the documents of an index, where one is given; that one stays as it is."""
        self.n_documents = 0
        self._folder = folder
        self._analyser = BatchAnalyser(() if old is None else old.terms)
        self._counting = Counting()
        if old is not None:
            copytree(old.path / folders.ENGINE, folder / folders.ENGINE, ignore=ignore_patterns("*.lock"))
        self._engine = EngineWriter(folder / folders.ENGINE)
        self._sink = pa.OSFile(str(folder / folders.DOCUMENTS), "wb")
        self._documents = pa.ipc.new_file(self._sink, SCHEMA)
        if old is not None:
            self._documents.write_table(old.documents.table)
            self._counting.take_over(counts_of(old))
            self.n_documents = len(old.documents)

    def add(self, documents: Sequence[Document]) -> list[Document]:
        """Add documents; return those that were left out, since they have no term by which they could be found."""
        n = len(documents)
        found = self._analyser.analyse([d.title for d in documents] + [d.text for d in documents])
        has_terms = found.lengths[:n] + found.lengths[n:] > 0
        place = np.cumsum(has_terms) - 1  # of each document among those that stay
        rows = np.repeat(np.concatenate((place, place)), found.lengths)
        self._counting.add(rows, found.terms, int(has_terms.sum()))
        kept = np.flatnonzero(has_terms).tolist()
        self._engine.add(self.n_documents, (found.joined[i] for i in kept), (found.joined[n + i] for i in kept))
        self._write_documents([documents[i] for i in kept])
        self.n_documents += len(kept)
        return [documents[i] for i in np.flatnonzero(~has_terms).tolist()]

    @property
    def n_terms(self) -> int:
        """Count the terms of all documents."""
        return len(self._analyser.terms)

    def close(self) -> None:
        """Stop, whatever is written by then."""
        self._sink.close()
        self._engine.close()

    def finish(self) -> None:
        """Write everything that is not yet written, and last of all what the folder holds."""
        self._documents.close()
        self._engine.commit()
        self.close()
        terms, counts = self._counting.finish(self._analyser.terms)
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

    def _write_documents(self, documents: Sequence[Document]) -> None:
        columns = [[getattr(document, name) for document in documents] for name in SCHEMA.names]
        self._documents.write_table(pa.table(columns, schema=SCHEMA))


def _write_table(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
