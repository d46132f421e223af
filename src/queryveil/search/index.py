"""An index opened for searching: the engine, the documents and their vectors, mapped into memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.errors import CorpusError
from queryveil.search import folder as folders
from queryveil.search.analyser import Analyser
from queryveil.search.documents import Documents, open_documents
from queryveil.search.engine import FORMAT, Engine
from queryveil.search.ranking import Ranked
from queryveil.search.vectors import Counts, ProfileVector, profile_vector


@dataclass(frozen=True, eq=False)
class Index:
    """Documents that can be searched, by several threads at once; get it from `open_index`."""

    path: Path
    documents: Documents
    terms: tuple[str, ...] = field(repr=False)  # sorted; a term's id is its position
    indptr: NDArray[np.int64] = field(repr=False)  # (documents + 1,): the vector of each document
    ids: NDArray[np.int32] = field(repr=False)  # (pairs,): ascending and unique within a document
    weights: NDArray[np.float32] = field(repr=False)  # (pairs,): tf-idf, each document of unit length
    engine: Engine = field(repr=False)

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """Map every term to its id."""
        return MappingProxyType({term: number for number, term in enumerate(self.terms)})

    @cached_property
    def analyser(self) -> Analyser:
        """Return the analyser of the documents, for queries and profiles."""
        return Analyser(self.number_of)

    def search(self, query: str, n: int = 100) -> Ranked:
        """Return the best documents for a query by the engine's own score, BM25; ties by document number."""
        return Ranked(*self.engine.search(self.analyser.terms(query), n))

    def vector(self, terms: Iterable[str], weights: Iterable[float]) -> ProfileVector:
        """Map a profile onto the terms of the index, at unit length."""
        return profile_vector(terms, weights, self.analyser, self.number_of)


def open_index(path: Path) -> Index:
    """Open an index; one that is damaged, or was made by other rules, is refused."""
    folders.read_record(path, FORMAT)
    try:
        terms = pa.ipc.open_file(pa.memory_map(str(path / folders.TERMS))).read_all()["term"]
        return Index(
            path,
            open_documents(path / folders.DOCUMENTS),
            tuple(terms.to_pylist()),
            _mapped(path / folders.INDPTR),
            _mapped(path / folders.IDS),
            _mapped(path / folders.WEIGHTS),
            Engine(path / folders.ENGINE),
        )
    except (OSError, ValueError, KeyError, pa.ArrowException):
        raise CorpusError(f"{path} cannot be opened; make it anew with queryveil index --force.") from None


def counts_of(index: Index) -> Counts:
    """Return how often each document uses each term, to add more documents to them."""
    return Counts(index.indptr, index.ids, _mapped(index.path / folders.COUNTS))


def _mapped(path: Path) -> NDArray[Any]:
    """Map an array into memory, read-only; an empty one cannot be mapped."""
    return np.asarray(np.load(path, mmap_mode="r"))
