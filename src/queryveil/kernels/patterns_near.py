"""How near each of some patterns is to the nearest of others: entries they share, and how far apart they mean."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.matching import assign, make_sides


@jit
def most_shared(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int64],  # entries; −1 for one that the others cannot have
    post_indptr: NDArray[np.int64],  # entry → the other patterns that have it
    posts: NDArray[np.int32],
    n_others: int,
) -> NDArray[np.int64]:
    """Return, for every pattern, the most entries that it shares with one of the others."""
    shared, best = np.zeros(n_others, np.int64), np.zeros(len(indptr) - 1, np.int64)
    for pattern in range(len(best)):
        for i in range(indptr[pattern], indptr[pattern + 1]):
            if ids[i] >= 0:
                for p in range(post_indptr[ids[i]], post_indptr[ids[i] + 1]):
                    shared[posts[p]] += 1
                    best[pattern] = max(best[pattern], shared[posts[p]])
        shared[:] = 0
    return best


@jit
def nearest(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    other_indptr: NDArray[np.int64],
    other_ids: NDArray[np.int32],
    distances: NDArray[np.int64],  # (entries, other entries): 2 · omega or more where they are not matched
    omega: int,
    first: int,
    last: int,
    best: NDArray[np.int64],  # (patterns,)
) -> None:
    """Fill in, for the patterns from the first to before the last, the distance of the nearest of the others.

    Distances are those of minimum-weight perfect matchings in which every entry left alone costs omega. Others are
    passed over if they are too far even when each entry were matched with its nearest, whatever the rest do.
    """
    for pattern in range(first, last):
        rows = ids[indptr[pattern] : indptr[pattern + 1]]
        best[pattern] = omega * len(rows)  # all left alone, as beside a pattern of none
        is_first = True
        for other in range(len(other_indptr) - 1):
            columns = other_ids[other_indptr[other] : other_indptr[other + 1]]
            alone = omega * (len(rows) + len(columns))
            bound = alone
            for row in rows:
                least = 2 * omega
                for column in columns:
                    least = min(least, distances[row, column])
                bound += least - 2 * omega
            if is_first or bound < best[pattern]:
                cost = np.empty((len(rows), len(columns)), np.int64)
                for i in range(len(rows)):
                    for j in range(len(columns)):
                        cost[i, j] = min(distances[rows[i], columns[j]] - 2 * omega, 0)
                ones, others = np.ones(len(rows), np.int64), np.ones(len(columns), np.int64)
                saved, _ = assign(make_sides(cost, ones, others), -alone - 1, 0)
                if is_first or alone + saved < best[pattern]:
                    best[pattern] = alone + saved
                is_first = False
