"""Spherical k-means that cuts many rows into blocks of similar ones, and sums over rows and groups."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping.greedy import FeatureRows
from queryveil.kernels.order import sort_range


@jit
def nearest_centres(
    rows: FeatureRows,
    which: NDArray[np.int64],
    number: NDArray[np.int32],
    centres: NDArray[np.float32],
    part: NDArray[np.int32],
) -> None:
    """Set, for every row of `which`, the centre with the highest dot product as computed; equal ones go to the first.

    `centres` is (dimensions of the sample, centres); `number` is the position of a dimension there, -1 for none.
    """
    n_centres = centres.shape[1]
    score = np.empty(n_centres, np.float32)
    for i in range(len(which)):
        for c in range(n_centres):
            score[c] = 0.0
        for j in range(rows.feature_indptr[which[i]], rows.feature_indptr[which[i] + 1]):
            position = number[rows.feature_ids[j]]
            if position >= 0:
                value = np.float32(rows.feature_values[j])
                for c in range(n_centres):
                    score[c] += value * centres[position, c]
        part[i] = np.argmax(score)


@jit
def sum_parts(
    rows: FeatureRows,
    which: NDArray[np.int64],
    number: NDArray[np.int32],
    part: NDArray[np.int32],
    centres: NDArray[np.float32],
) -> None:
    """Set each centre to the direction of the sum of its rows; one without rows is zero."""
    centres[:] = 0.0
    for i in range(len(which)):
        for j in range(rows.feature_indptr[which[i]], rows.feature_indptr[which[i] + 1]):
            centres[number[rows.feature_ids[j]], part[i]] += np.float32(rows.feature_values[j])
    length = np.zeros(centres.shape[1])
    for d in range(centres.shape[0]):
        for c in range(centres.shape[1]):
            length[c] += centres[d, c] * centres[d, c]
    for c in range(centres.shape[1]):
        length[c] = 1 / np.sqrt(length[c]) if length[c] > 0 else 0.0
    for d in range(centres.shape[0]):
        for c in range(centres.shape[1]):
            centres[d, c] *= np.float32(length[c])


@jit
def number_dimensions(rows: FeatureRows, which: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """Number the dimensions of some rows by first occurrence; return the numbers, -1 for others, and how many."""
    number = np.full(rows.n_dimensions, -1, np.int32)
    n_known = 0
    for i in range(len(which)):
        for j in range(rows.feature_indptr[which[i]], rows.feature_indptr[which[i] + 1]):
            if number[rows.feature_ids[j]] < 0:
                number[rows.feature_ids[j]] = n_known
                n_known += 1
    return number, n_known


@jit
def renumber(ids: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int32]:
    """Renumber ids in the order of their first occurrence, in place; return the old id of each number.

    `number` holds -1 for every id, before and after.
    """
    known = np.empty(len(ids), np.int32)
    n_known = 0
    for i in range(len(ids)):
        if number[ids[i]] < 0:
            number[ids[i]] = n_known
            known[n_known] = ids[i]
            n_known += 1
        ids[i] = number[ids[i]]
    for i in range(n_known):
        number[known[i]] = -1
    return known[:n_known].copy()


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
    """Return CSR rows of the entries of every group, ascending, with the number of holders and the sum of weights."""
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
        sort_range(entry, begin, end)
        for k in range(begin, end):
            holders[k], weight[k] = held[entry[k]], total[entry[k]]
            held[entry[k]] = 0
            total[entry[k]] = 0.0
        start[g + 1] = end
    end = start[n_groups]
    return start, entry[:end].copy(), holders[:end].copy(), weight[:end].copy()
