"""Deleting terms that could stay, where nothing else must go for it."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.inference import Bound, Terms, Visit, fits


@jit
def delete_spared(
    log: Terms,
    bound: Bound,  # for one person more than the guarantee asks for, and without a bound on inference
    visit: Visit,
    candidates: NDArray[np.int64],  # pairs, in the order in which they are tried
    is_thinned: NDArray[np.bool_],  # (histories,)
    first: int,
    end: int,
    limit: int,
) -> int:
    """Delete candidates from `first` to `end`, of each history one at most and never the last; return how many.

    A pair can be spared if every combination of its history with its term is held by more people than it must be.
    """
    n_deleted = 0
    for number in range(first, end):
        if n_deleted == limit:
            break
        pair = candidates[number]
        history = np.searchsorted(log.indptr, pair, side="right") - 1
        if is_thinned[history] or log.indptr[history + 1] - log.indptr[history] < 2:
            continue
        if fits(log, bound, visit, history, pair, True):
            log.kept[pair] = False
            is_thinned[history] = True
            n_deleted += 1
    return n_deleted
