"""Lengths of rows, and sums of what the members of groups hold."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def at_unit_length(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of rows divided by the length of their row."""
    unit = np.empty(len(values))
    for row in range(len(indptr) - 1):
        square = 0.0
        for j in range(indptr[row], indptr[row + 1]):
            square += values[j] * values[j]
        length = np.sqrt(square)
        for j in range(indptr[row], indptr[row + 1]):
            unit[j] = values[j] / length
    return unit


@jit
def sum_groups(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.float64],
    group: NDArray[np.int32],  # (rows,): -1 for none
    members: NDArray[np.int64],  # rows that have a group, group by group
    n_groups: int,
    n_entries: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Return, group by group and by ascending entry, how many members hold an entry and the sum of its weights."""
    held, total = np.zeros(n_entries, np.int64), np.zeros(n_entries)
    entry, holders, weight = np.empty(len(ids), np.int32), np.empty(len(ids), np.int64), np.empty(len(ids))
    start = np.zeros(n_groups + 1, np.int64)
    i = 0
    for g in range(n_groups):
        begin = end = start[g]
        while i < len(members) and group[members[i]] == g:
            for j in range(indptr[members[i]], indptr[members[i] + 1]):
                if held[ids[j]] == 0:
                    entry[end] = ids[j]
                    end += 1
                held[ids[j]] += 1
                total[ids[j]] += weights[j]
            i += 1
        entry[begin:end].sort()
        for k in range(begin, end):
            holders[k], weight[k] = held[entry[k]], total[entry[k]]
            held[entry[k]] = 0
            total[entry[k]] = 0.0
        start[g + 1] = end
    end = start[n_groups]
    return start, entry[:end].copy(), holders[:end].copy(), weight[:end].copy()
