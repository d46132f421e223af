"""Choosing among compressed sparse rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def indptr_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each row begins, and where the last ends, from the rows' lengths."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def positions_in(
    indptr: NDArray[np.int64], rows: NDArray[Any], most: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indptr of some rows, each cut to at most so many entries, and where their entries stand."""
    lengths = indptr[rows + 1] - indptr[rows]
    if most is not None:
        lengths = np.minimum(lengths, most)
    taken = indptr_of(lengths)
    return taken, np.repeat(indptr[rows] - taken[:-1], lengths) + np.arange(taken[-1])
