"""Cutting many rows into parts that are alike, by k-means on directions."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping.greedy import Rows


@jit
def nearest_centres(
    rows: Rows, which: NDArray[np.int64], number: NDArray[np.int32], centres: NDArray[np.float32],
    part: NDArray[np.int32],
) -> None:  # fmt: skip
    """Set, for every row of `which`, the centre with the highest dot product; ties go to the first.

    `centres` is (dimensions that some centre has, centres); `number` says where a dimension stands there, -1: nowhere.
    """
    n_centres = centres.shape[1]
    score = np.empty(n_centres, np.float32)
    for i in range(len(which)):
        score[:] = 0.0
        for j in range(rows.feature_indptr[which[i]], rows.feature_indptr[which[i] + 1]):
            place = number[rows.feature_ids[j]]
            if place >= 0:
                value = np.float32(rows.feature_values[j])
                for c in range(n_centres):
                    score[c] += value * centres[place, c]
        part[i] = np.argmax(score)


@jit
def sum_parts(
    rows: Rows, which: NDArray[np.int64], number: NDArray[np.int32], part: NDArray[np.int32],
    centres: NDArray[np.float32],
) -> None:  # fmt: skip
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
def number_dimensions(rows: Rows, which: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """Number the dimensions of some rows as they come; return the numbers, -1 for others, and how many there are."""
    number = np.full(rows.n_dimensions, -1, np.int32)
    n_known = 0
    for i in range(len(which)):
        for j in range(rows.feature_indptr[which[i]], rows.feature_indptr[which[i] + 1]):
            if number[rows.feature_ids[j]] < 0:
                number[rows.feature_ids[j]] = n_known
                n_known += 1
    return number, n_known


@jit
def localize(ids: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the ids anew as they come, in place; return what each number stands for.

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
