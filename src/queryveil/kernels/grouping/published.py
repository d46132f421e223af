"""Groups grown by what may be published of them, if every published entry has a highest share of holders.

An entry that more members hold than its share allows is not published. The next member is therefore the one that gives
the highest mean cosine of the members to the published entries. With A the sum of the members' rows at unit length and
R that of their rows, over published entries, the sum of these cosines is A·R / |R|. A candidate changes A·R and |R|² by
its entries that no member holds, which is known beforehand, and by a correction for each entry that some member holds;
the corrections are kept per candidate and change only when the holders of an entry do.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping import greedy
from queryveil.kernels.grouping.greedy import (
    add_scores,
    build_index,
    invert_rows,
    just_above,
    release_members,
    square_of,
)

SIMILARITY_WEIGHT = 0.1  # of the similarity in meaning, against the cosine to the published entries


class EntryWeights(NamedTuple):
    """The weights of entries, and how many of a group may hold each."""

    weight: NDArray[np.float64]  # (pairs,)
    unit: NDArray[np.float64]  # (pairs,): the same, with rows at unit length
    highest: NDArray[np.float64]  # (entries,): share of the members


class GroupCandidates(NamedTuple):
    """What the growing group publishes, and how each row would change it."""

    most: NDArray[np.float64]  # (entries,): the most members that may hold each if it is published
    held: NDArray[np.int64]  # (entries,)
    unit: NDArray[np.float64]  # (entries,): A, over all entries
    weight: NDArray[np.float64]  # (entries,): R, likewise
    alone: NDArray[np.float64]  # (rows, 2): what a row adds to A·R and |R|² if no member holds its entries
    change: NDArray[np.float64]  # (rows, 2): what it adds beyond that
    post_start: NDArray[np.int64]  # (entries + 1,)
    post_row: NDArray[np.int32]  # (pairs,): free rows that hold an entry
    post_position: NDArray[np.int64]  # (pairs,): position of the pair


@jit
def find_candidates(rows: greedy.FeatureRows, weights: EntryWeights, size: int) -> GroupCandidates:
    """Return the candidates for groups of `size` members, before there is one."""
    n_rows, n_entries, n_pairs = len(rows.indptr) - 1, len(weights.highest), len(rows.ids)
    most = np.floor(size * weights.highest * (1 + greedy.ROUNDING))
    alone = np.zeros((n_rows, 2))
    for row in range(n_rows):
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            if most[rows.ids[j]] >= 1:
                alone[row, 0] += weights.unit[j] * weights.weight[j]
                alone[row, 1] += weights.weight[j] ** 2
    held, unit, weight = np.zeros(n_entries, np.int64), np.zeros(n_entries), np.zeros(n_entries)
    start, post_row = np.zeros(n_entries + 1, np.int64), np.empty(n_pairs, np.int32)
    change, post_position = np.zeros((n_rows, 2)), np.empty(n_pairs, np.int64)
    return GroupCandidates(most, held, unit, weight, alone, change, start, post_row, post_position)


@jit
def _index_entries(rows: greedy.FeatureRows, state: greedy.GreedyState, found: GroupCandidates) -> None:
    """Build the inverted index of the entries of free rows."""
    free = state.free[: state.counters[greedy.N_INDEXED]]
    invert_rows(rows.indptr, rows.ids, free, found.post_start, found.post_row, found.post_position)


@jit
def _correct(found: GroupCandidates, weights: EntryWeights, entry: int, sign: float) -> None:
    """Add (or take back) the corrections for one entry to all rows that hold it."""
    held, most, a, r = found.held[entry], found.most[entry], found.unit[entry], found.weight[entry]
    change = found.change
    for i in range(found.post_start[entry], found.post_start[entry + 1]):
        row, position = found.post_row[i], found.post_position[i]
        unit, weight = weights.unit[position], weights.weight[position]
        if held < most:
            change[row, 0] += sign * (a * weight + unit * r)
            change[row, 1] += sign * 2 * r * weight
        elif most > 0:  # it is not published, or would not be with this row
            lost = held == most
            change[row, 0] -= sign * (unit * weight + (a * r if lost else 0.0))
            change[row, 1] -= sign * (weight * weight + (r * r if lost else 0.0))


@jit
def _join(rows: greedy.FeatureRows, weights: EntryWeights, found: GroupCandidates, row: int) -> int:
    """Put a row into the group; return the work done."""
    work = 0
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        entry = rows.ids[j]
        if found.held[entry] > 0:
            _correct(found, weights, entry, -1.0)
        found.held[entry] += 1
        found.unit[entry] += weights.unit[j]
        found.weight[entry] += weights.weight[j]
        _correct(found, weights, entry, 1.0)
        work += 4 * (found.post_start[entry + 1] - found.post_start[entry])
    return work


@jit
def _best_candidate(
    state: greedy.GreedyState,
    found: GroupCandidates,
    product: float,
    square: float,
    n_members: int,
    length: float,
    least: float,
) -> int:
    """Return the free row that makes the best group, among those similar enough and the lowest of tied ones, or -1."""
    best, bar = -1, -np.inf
    to_mean, to_cosine = 1 / np.sqrt(n_members + 1), 1 / np.sqrt(length) if length > 0 else 0.0
    for row in state.free[: state.counters[greedy.N_INDEXED]]:
        similarity = state.score[row] * to_cosine
        if state.group[row] != greedy.FREE or similarity < least:
            continue
        below = square + found.alone[row, 1] + found.change[row, 1]
        above = product + found.alone[row, 0] + found.change[row, 0]
        value = SIMILARITY_WEIGHT * similarity + (to_mean * above / np.sqrt(below) if below > greedy.ROUNDING else 0.0)
        if value > bar:
            best, bar = row, just_above(value)
    return best


@jit
def _grow_group(
    rows: greedy.FeatureRows,
    weights: EntryWeights,
    state: greedy.GreedyState,
    found: GroupCandidates,
    seed: int,
    size: int,
    by_seed: bool,
    least: float,
) -> int:
    """Grow one group of the given size from a seed; return the work done."""
    counters = state.counters
    indexed = state.free[: counters[greedy.N_INDEXED]]
    for each in indexed:
        state.score[each] = found.change[each, 0] = found.change[each, 1] = 0.0
    work, n_members, row = 3 * len(indexed), 0, seed
    product, square, length = 0.0, 0.0, 0.0
    while row >= 0 and n_members < size:
        product += found.alone[row, 0] + found.change[row, 0]
        square += found.alone[row, 1] + found.change[row, 1]
        if n_members == 0 or not by_seed:
            length += 2 * state.score[row] + square_of(rows, row)
            work += add_scores(rows, state, row)
        work += _join(rows, weights, found, row)
        state.group[row] = counters[greedy.N_GROUPS]
        state.members[n_members] = row
        n_members += 1
        if n_members < size:
            row = _best_candidate(state, found, product, square, n_members, length, least)
            work += 4 * len(indexed)
    for member in state.members[:n_members]:
        for entry in rows.ids[rows.indptr[member] : rows.indptr[member + 1]]:
            found.held[entry], found.unit[entry], found.weight[entry] = 0, 0.0, 0.0
    if n_members == size:
        counters[greedy.N_GROUPS] += 1
        counters[greedy.N_FREE] -= size
    else:
        release_members(state, n_members)
    return work


@jit
def grow_published(
    rows: greedy.FeatureRows,
    weights: EntryWeights,
    state: greedy.GreedyState,
    found: GroupCandidates,
    order: NDArray[np.int64],  # (rows,): seeds
    size: int,
    by_seed: bool,
    least: float,
    budget: int,
) -> None:
    """Grow groups of one size from seeds in the given order until all rows are in one or left over.

    It may stop earlier if the budget of work is spent; NEXT_SEED is the position in the order, -1 at the end.
    """
    counters = state.counters
    work = 0
    if counters[greedy.NEXT_SEED] == 0:
        _index_entries(rows, state, found)
    while counters[greedy.NEXT_SEED] >= 0 and work < budget:
        if 2 * counters[greedy.N_FREE] < counters[greedy.N_INDEXED]:
            build_index(rows, state)
            _index_entries(rows, state, found)
        if counters[greedy.NEXT_SEED] == len(order) or counters[greedy.N_FREE] < size:
            counters[greedy.NEXT_SEED] = -1
            state.group[state.group == greedy.FREE] = greedy.LEFT_OVER
        elif state.group[order[counters[greedy.NEXT_SEED]]] == greedy.FREE:
            work += _grow_group(rows, weights, state, found, order[counters[greedy.NEXT_SEED]], size, by_seed, least)
        else:
            counters[greedy.NEXT_SEED] += 1


@jit
def published_similarity(
    rows: greedy.FeatureRows, weights: EntryWeights, group: NDArray[np.int32], order: NDArray[np.int64]
) -> float:
    """Return the sum over all members of the cosine to what their group publishes; `order` is sorted by group."""
    n_entries = len(weights.highest)
    held, unit, weight = np.zeros(n_entries, np.int64), np.zeros(n_entries), np.zeros(n_entries)
    total, begin = 0.0, np.count_nonzero(group < 0)
    while begin < len(order):
        end = begin
        while end < len(order) and group[order[end]] == group[order[begin]]:
            for j in range(rows.indptr[order[end]], rows.indptr[order[end] + 1]):
                held[rows.ids[j]] += 1
                unit[rows.ids[j]] += weights.unit[j]
                weight[rows.ids[j]] += weights.weight[j]
            end += 1
        product, square = 0.0, 0.0
        for row in order[begin:end]:
            for entry in rows.ids[rows.indptr[row] : rows.indptr[row + 1]]:
                if 0 < held[entry] <= (end - begin) * weights.highest[entry] * (1 + greedy.ROUNDING):
                    product += unit[entry] * weight[entry]
                    square += weight[entry] ** 2
                held[entry], unit[entry], weight[entry] = 0, 0.0, 0.0
        if square > 0:
            total += product / np.sqrt(square)
        begin = end
    return total
