"""Profiles by the terms of a release brought over to the terms of an index, many at a time."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import gather_rows, indptr_of, per_entry, row_numbers, select_entries
from queryveil.search.evaluation.publication import Rows
from queryveil.search.index import Index
from queryveil.search.vectors import ProfileVector


@dataclass(frozen=True, eq=False)
class Lexicon:
    """For every term of a release the index terms that it stands for, none where the index does not know it."""

    indptr: NDArray[np.int64]  # (terms + 1,)
    ids: NDArray[np.int32]
    factors: NDArray[np.float64]
    width: int  # terms of the index

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Say of every term whether the index has it."""
        return np.diff(self.indptr) > 0

    def vectors(self, rows: Rows) -> list[ProfileVector]:
        """Return the same vectors that the index makes of each row."""
        indptr, place = gather_rows(self.indptr, rows.ids.astype(np.int64))
        sizes = np.diff(indptr)
        row = per_entry(row_numbers(rows.indptr), indptr)
        cells, cell = np.unique(row * self.width + self.ids[place], return_inverse=True)
        total = np.bincount(cell, per_entry(rows.weights, indptr) * self.factors[place]).astype(np.float64)
        ends = np.searchsorted(cells // self.width, np.arange(len(rows.indptr)))
        known = select_entries(rows.indptr, sizes > 0)
        return [
            _vector((cells[a:b] % self.width).astype(np.int32), total[a:b], int(k1 - k0), int(j1 - j0))
            for (a, b), (k0, k1), (j0, j1) in zip(pairwise(ends), pairwise(known), pairwise(rows.indptr), strict=True)
        ]


def _vector(ids: NDArray[np.int32], weights: NDArray[np.float64], n_known: int, n_terms: int) -> ProfileVector:
    length = float(np.sqrt(np.sum(weights**2)))
    return ProfileVector(ids, (weights / (length or 1.0)).astype(np.float32), n_known, n_terms)


def lexicon_of(index: Index, terms: tuple[str, ...]) -> Lexicon:
    """Look every term of a release up in an index."""
    found = [index.vector((term,), (1.0,)) for term in terms]
    lengths = np.array([len(vector) for vector in found], np.int64)
    # a vector has unit length; the smallest weight in it is that of a word that the term has once
    factors = [vector.weights / vector.weights.min() for vector in found if len(vector)]
    return Lexicon(
        indptr_of(lengths),
        np.concatenate([np.empty(0, np.int32), *(vector.ids for vector in found)]),
        np.concatenate([np.empty(0), *factors]).round(),
        len(index.terms),
    )
