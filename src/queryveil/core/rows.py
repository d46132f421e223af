"""Arithmetic on compressed sparse rows (CSR): row `r` of `flat` is `flat[indptr[r]:indptr[r + 1]]`.

Everything outside the kernels that gathers, numbers, sums or selects rows uses these functions. The verifiers have
their own, so that a mistake here cannot hide itself.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)
_SORTED_AT_ONCE = 1 << 20  # entries: their keys fit into the cache, and little memory is needed besides the result


def indptr_of(lengths: NDArray[Any] | Sequence[int]) -> IntArray:
    """Return the row boundaries (rows + 1,) of rows with these lengths; a boolean mask counts as lengths 0 and 1."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def indptr_of_sorted(rows: NDArray[Any], n_rows: int) -> IntArray:
    """Return the row boundaries of entries whose row numbers are given; the entries must be sorted by row."""
    return indptr_of(np.bincount(rows, minlength=n_rows))


def row_numbers(indptr: NDArray[Any], dtype: Any = np.int64) -> NDArray[Any]:
    """Return the row number of every entry."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=dtype), np.diff(indptr))


def gather_rows(indptr: IntArray, rows: NDArray[Any], most: int | None = None) -> tuple[IntArray, IntArray]:
    """Return the boundaries of some rows and the positions of their entries; at most `most` entries per row."""
    lengths = indptr[rows + 1] - indptr[rows]
    if most is not None:
        lengths = np.minimum(lengths, most)
    return indptr_of(lengths), ranges(indptr[rows], lengths)


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> IntArray:
    """Return the positions start, start + 1, … of every range, one range after the other."""
    begins = indptr_of(lengths)
    return np.repeat(starts - begins[:-1], lengths) + np.arange(begins[-1])


def select_entries(indptr: IntArray, mask: NDArray[np.bool_]) -> IntArray:
    """Return the row boundaries after only the masked entries are kept; rows may become empty."""
    return indptr_of(mask)[indptr]


def order_within_rows(indptr: IntArray, keys: Int32Array) -> IntArray:
    """Return the positions of all entries, those of a row by their keys, which are not negative."""
    order, width = np.empty(len(keys), np.int64), int(keys.max(initial=0)) + 1
    cuts = np.searchsorted(indptr, np.arange(0, len(keys), _SORTED_AT_ONCE))
    for first, end in pairwise(np.unique(np.append(cuts, len(indptr) - 1)).tolist()):
        some = slice(indptr[first], indptr[end])
        joint = row_numbers(indptr[first : end + 1]) * width + keys[some]
        order[some] = indptr[first] + np.argsort(joint, kind="stable")
    return order


def row_sums(values: NDArray[Any], indptr: IntArray) -> NDArray[Any]:
    """Return the sum of every row; empty rows sum to 0."""
    total = np.concatenate((np.zeros(1, values.dtype if values.dtype.kind == "f" else np.int64), np.cumsum(values)))
    return np.diff(total[indptr])


def count_holders(owner: NDArray[Any], ids: NDArray[Any], n_items: int) -> IntArray:
    """Count the distinct owners of every item; `owner` and `ids` are parallel (entries,)."""
    pairs = np.unique(owner.astype(np.int64) * n_items + ids)
    return np.bincount(pairs % n_items, minlength=n_items) if n_items else np.zeros(0, np.int64)


def count_runs(values: NDArray[Any]) -> int:
    """Count the distinct values of an array whose equal values are adjacent."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + min(1, len(values))
