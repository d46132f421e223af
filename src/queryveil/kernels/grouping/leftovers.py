"""Rows that the greedy left over: each goes to the group with the closest centroid that stays legal with it.

What fits nowhere goes, all together, into as many of the nearest groups as it takes to be legal: two legal groups are
one legal group by every principle.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping.greedy import LEFT_OVER, Rows, Rule, Tally, clear, count_in, is_legal


class Gathered(NamedTuple):
    """Groups by their members, and the lengths of their sums."""

    group: NDArray[np.int32]  # (rows,): LEFT_OVER or a number
    first: NDArray[np.int32]  # (groups,): the first member of each
    after: NDArray[np.int32]  # (rows,): the next member, or -1
    length: NDArray[np.float64]  # (groups,): of the sum of the members' features, squared
    dense: NDArray[np.float64]  # (dimensions,): zero between two calls
    score: NDArray[np.float64]  # (groups,)


@jit
def _dot(rows: Rows, row: int, dense: NDArray[np.float64]) -> float:
    total = 0.0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        total += dense[rows.feature_ids[j]] * rows.feature_values[j]
    return total


@jit
def _put(rows: Rows, row: int, dense: NDArray[np.float64], times: float) -> None:
    """Add a row's features, so many times, to a dense vector."""
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j]] += times * rows.feature_values[j]


@jit
def _wipe(rows: Rows, row: int, dense: NDArray[np.float64]) -> None:
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j]] = 0.0


@jit
def _square(rows: Rows, row: int) -> float:
    return 1.0 if rows.feature_indptr[row] < rows.feature_indptr[row + 1] else 0.0


@jit
def gather(rows: Rows, group: NDArray[np.int32], n_groups: int) -> Gathered:
    """List the members of every group and measure its sum, member by member in the order of rows."""
    first, after = np.full(n_groups, -1, np.int32), np.full(len(group), -1, np.int32)
    for row in range(len(group) - 1, -1, -1):
        if group[row] >= 0:
            after[row] = first[group[row]]
            first[group[row]] = row
    length, dense = np.zeros(n_groups), np.zeros(rows.n_dimensions)
    for g in range(n_groups):
        row = first[g]
        while row >= 0:
            length[g] += 2 * _dot(rows, row, dense) + _square(rows, row)
            _put(rows, row, dense, 1.0)
            row = after[row]
        row = first[g]
        while row >= 0:
            _wipe(rows, row, dense)
            row = after[row]
    return Gathered(group, first, after, length, dense, np.zeros(n_groups))


@jit
def _score_groups(rows: Rows, groups: Gathered) -> None:
    """Set the cosine of every group's sum with the dense vector, up to the length of the latter."""
    groups.score[:] = 0.0
    for row in range(len(groups.group)):
        if groups.group[row] >= 0:
            groups.score[groups.group[row]] += _dot(rows, row, groups.dense)
    for g in range(len(groups.score)):
        if groups.length[g] > 0:
            groups.score[g] /= np.sqrt(groups.length[g])


@jit
def _count_group(rows: Rows, tally: Tally, groups: Gathered, g: int) -> None:
    row = groups.first[g]
    while row >= 0:
        count_in(tally, rows, row)
        row = groups.after[row]


@jit
def _place(rows: Rows, rule: Rule, tally: Tally, groups: Gathered, row: int, least: float) -> None:
    """Put one row into the closest group that stays legal, if there is one."""
    _put(rows, row, groups.dense, 1.0)
    _score_groups(rows, groups)
    _wipe(rows, row, groups.dense)
    while len(groups.score):
        g = int(np.argmax(groups.score))
        if groups.score[g] < least:
            return
        _count_group(rows, tally, groups, g)
        count_in(tally, rows, row)
        fits = is_legal(tally, rule)
        clear(tally)
        if fits:
            groups.length[g] += 2 * groups.score[g] * np.sqrt(groups.length[g]) + _square(rows, row)
            groups.group[row] = g
            groups.after[row], groups.first[g] = groups.first[g], row
            return
        groups.score[g] = -np.inf


@jit
def place_rows(
    rows: Rows, rule: Rule, tally: Tally, groups: Gathered, left: NDArray[np.int64], turn: int, least: float,
    budget: int,
) -> int:  # fmt: skip
    """Put rows that are left over, from `turn` on, into groups until the budget is used up; return the next turn."""
    work = 0
    while turn < len(left) and work < budget:
        _place(rows, rule, tally, groups, left[turn], least)
        work += len(rows.feature_ids) + len(groups.score)
        turn += 1
    return turn


@jit
def merge_left(rows: Rows, rule: Rule, tally: Tally, groups: Gathered) -> None:
    """Put all rows that are left over into one group with as many of the nearest groups as it takes to be legal.

    Nothing changes where even all groups together are not legal with them.
    """
    group = groups.group
    for row in range(len(group)):
        if group[row] == LEFT_OVER:
            count_in(tally, rows, row)
            _put(rows, row, groups.dense, 1.0)
    _score_groups(rows, groups)
    groups.dense[:] = 0.0
    order = np.argsort(-groups.score, kind="mergesort")
    n_taken = 0
    while n_taken < len(order) and not is_legal(tally, rule):
        _count_group(rows, tally, groups, order[n_taken])
        n_taken += 1
    if is_legal(tally, rule):
        into = order[0] if n_taken else len(order)
        taken = np.zeros(len(order) + 1, np.bool_)
        taken[order[:n_taken]] = True
        for row in range(len(group)):
            if group[row] == LEFT_OVER or (group[row] >= 0 and taken[group[row]]):
                group[row] = into
    clear(tally)
