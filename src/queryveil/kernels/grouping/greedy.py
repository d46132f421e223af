"""Greedy groups of similar rows, each grown until a principle is satisfied; leftovers join the closest groups.

Similarity is the cosine of feature rows of unit length. A new member changes the dot products with the group's sum only
of rows that share a dimension with it, so they are updated through an inverted index, which is rebuilt without grouped
rows whenever half of its rows have a group. Ties go to the lowest row or group. Similarities that are equal in exact
arithmetic may differ in the last bits, so a later one must be better by more than `ROUNDING`. Leftover rows that fit
nowhere are merged with as many of the nearest groups as it takes to be legal: two legal groups are one legal group by
every principle.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

FREE, LEFT_OVER = -1, -2  # instead of a group: not considered yet; in no group that could be finished
MEAN, GLOBAL, MEMBERS, DIVERSITY, CLOSENESS = range(5)  # kinds of `GroupRule`
N_GROUPS, N_FREE, N_INDEXED, NEXT_SEED = range(4)  # of `GreedyState.counters`
N_MEMBERS, N_DISTINCT, N_PAIRS = range(3)  # of `GroupTally.counters`
_N_LOG_N = np.array([n * math.log(n) if n else 0.0 for n in range(64)])  # of most members that hold an entry
ROUNDING = 1e-9  # relative: numbers that are equal in decimals may differ in binary


class FeatureRows(NamedTuple):
    """The rows to be grouped: entries, which the principle is about, and features, which they are compared by."""

    indptr: NDArray[np.int64]  # (rows + 1,)
    ids: NDArray[np.int32]  # (pairs,): entries
    feature_indptr: NDArray[np.int64]  # (rows + 1,)
    feature_ids: NDArray[np.int32]  # (feature pairs,): ascending within a row
    feature_values: NDArray[np.float64]  # (feature pairs,): rows are of unit length, or empty
    n_dimensions: int


class GroupRule(NamedTuple):
    """When a group may be published."""

    kind: int
    p: float
    smallest: int  # members
    bound: float  # GLOBAL: distinct entries; DIVERSITY: entropy; CLOSENESS: total variation distance
    share: NDArray[np.float64]  # (entries,): of all pairs of the log; used by CLOSENESS alone


class GroupTally(NamedTuple):
    """Counts of the entries of one group; zero between two groups."""

    held: NDArray[np.int32]  # (entries,): members that hold each
    distinct: NDArray[np.int32]  # (entries,): the entries that some member holds, first N_DISTINCT
    counters: NDArray[np.int64]  # members, distinct entries, pairs
    entropy: NDArray[np.float64]  # (1,): the sum of held · ln held


class GreedyState(NamedTuple):
    """The progress of the greedy."""

    group: NDArray[np.int32]  # (rows,): FREE, LEFT_OVER or a number
    free: NDArray[np.int32]  # (rows,): rows of the index, ascending, first N_INDEXED; some may have a group already
    score: NDArray[np.float64]  # (rows,): dot product with the sum of the growing group, or with its seed
    to_seed: NDArray[np.float64]  # (rows,): dot product with the seed of the growing group
    post_start: NDArray[np.int64]  # (dimensions + 1,)
    post_row: NDArray[np.int32]  # (feature pairs,): rows of `free` that have a dimension, ascending
    post_value: NDArray[np.float64]
    members: NDArray[np.int32]  # (rows,): of the growing group
    counters: NDArray[np.int64]  # groups, rows without a group, rows of the index, the next seed (-1: finished)


class MemberLists(NamedTuple):
    """The members of groups as linked lists, and the lengths of their sums."""

    group: NDArray[np.int32]  # (rows,): LEFT_OVER or a number
    first: NDArray[np.int32]  # (groups,): the first member of each
    after: NDArray[np.int32]  # (rows,): the next member, or -1
    length: NDArray[np.float64]  # (groups,): of the sum of the members' features, squared
    dense: NDArray[np.float64]  # (dimensions,): zero between two calls
    score: NDArray[np.float64]  # (groups,)


def empty_tally(n_entries: int) -> GroupTally:
    """Return a tally of nobody."""
    return GroupTally(np.zeros(n_entries, np.int32), np.empty(n_entries, np.int32), np.zeros(3, np.int64), np.zeros(1))


def start_greedy(rows: FeatureRows, seed: int) -> GreedyState:
    """Return the initial state of the greedy from a first seed."""
    n, n_pairs = len(rows.indptr) - 1, len(rows.feature_ids)
    group, free = np.full(n, FREE, np.int32), np.arange(n, dtype=np.int32)
    posts = (np.zeros(rows.n_dimensions + 1, np.int64), np.empty(n_pairs, np.int32), np.empty(n_pairs))
    counters = np.array([0, n, n, seed], np.int64)
    state = GreedyState(group, free, np.zeros(n), np.zeros(n), *posts, np.empty(n, np.int32), counters)
    build_index(rows, state)
    return state


@jit
def invert_rows(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    chosen: NDArray[np.int32],
    start: NDArray[np.int64],  # output: (ids + 1,)
    post_row: NDArray[np.int32],  # output: (pairs,)
    post_position: NDArray[np.int64],  # output: (pairs,)
) -> None:
    """Write the inverted index of chosen CSR rows: for every id the rows that have it, and where."""
    for i in range(len(start)):
        start[i] = 0
    for row in chosen:
        for j in range(indptr[row], indptr[row + 1]):
            start[ids[j] + 1] += 1
    for i in range(1, len(start)):
        start[i] += start[i - 1]
    at = start[:-1].copy()
    for row in chosen:
        for j in range(indptr[row], indptr[row + 1]):
            post_row[at[ids[j]]], post_position[at[ids[j]]] = row, j
            at[ids[j]] += 1


@jit
def build_index(rows: FeatureRows, state: GreedyState) -> None:
    """Build the inverted index of the features of rows without a group."""
    free, position, n_free = state.free, np.empty(len(state.post_row), np.int64), 0
    for i in range(state.counters[N_INDEXED]):
        if state.group[free[i]] == FREE:
            free[n_free] = free[i]
            n_free += 1
    state.counters[N_INDEXED] = n_free
    invert_rows(rows.feature_indptr, rows.feature_ids, free[:n_free], state.post_start, state.post_row, position)
    for i in range(state.post_start[-1]):
        state.post_value[i] = rows.feature_values[position[i]]


@jit
def _n_log_n(n: int) -> float:
    return _N_LOG_N[n] if n < len(_N_LOG_N) else n * np.log(n)


@jit
def count_row(tally: GroupTally, rows: FeatureRows, row: int) -> None:
    """Count a row as a member of the group."""
    held, counters = tally.held, tally.counters
    gained = 0.0
    for entry in rows.ids[rows.indptr[row] : rows.indptr[row + 1]]:
        before = held[entry]
        if before == 0:
            tally.distinct[counters[N_DISTINCT]] = entry
            counters[N_DISTINCT] += 1
        else:
            gained += _n_log_n(before + 1) - _n_log_n(before)
        held[entry] = before + 1
    tally.entropy[0] += gained
    counters[N_MEMBERS] += 1
    counters[N_PAIRS] += rows.indptr[row + 1] - rows.indptr[row]


@jit
def clear_tally(tally: GroupTally) -> None:
    """Reset all counts to zero."""
    for entry in tally.distinct[: tally.counters[N_DISTINCT]]:
        tally.held[entry] = 0
    for i in range(len(tally.counters)):
        tally.counters[i] = 0
    tally.entropy[0] = 0.0


@jit
def is_legal(tally: GroupTally, rule: GroupRule) -> bool:
    """Return whether the counted group may be published."""
    members, distinct, pairs = tally.counters[N_MEMBERS], tally.counters[N_DISTINCT], tally.counters[N_PAIRS]
    if members < rule.smallest or pairs == 0:
        return False
    if rule.kind == MEAN:
        return rule.p * members * distinct >= pairs * (1 - ROUNDING)
    if rule.kind == GLOBAL:
        return distinct >= rule.bound * (1 - ROUNDING)
    if rule.kind == DIVERSITY:
        return np.log(pairs) - tally.entropy[0] / pairs >= rule.bound - ROUNDING
    if rule.kind == CLOSENESS:  # by the total variation distance from the entries of all rows
        apart = 0.0
        for entry in tally.distinct[:distinct]:
            apart += max(0.0, tally.held[entry] / pairs - rule.share[entry])
        return apart <= rule.bound + ROUNDING
    return True


@jit
def add_scores(rows: FeatureRows, state: GreedyState, row: int) -> int:
    """Add the dot products of all indexed rows with this one to their scores; return the number of additions."""
    score, start, post_row, post_value = state.score, state.post_start, state.post_row, state.post_value
    work = 0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dimension, value = rows.feature_ids[j], rows.feature_values[j]
        for i in range(start[dimension], start[dimension + 1]):
            score[post_row[i]] += value * post_value[i]
        work += start[dimension + 1] - start[dimension]
    return work


@jit
def just_above(value: float) -> float:
    """Return what a later value must exceed to be better than this one, and not tied with it."""
    return value + ROUNDING * abs(value)


@jit
def _best_free(state: GreedyState, score: NDArray[np.float64], sign: float) -> int:
    """Return the free row with the highest `sign` · score, the lowest of tied ones, or -1."""
    best, bar = -1, -np.inf
    for row in state.free[: state.counters[N_INDEXED]]:
        if sign * score[row] > bar and state.group[row] == FREE:
            best, bar = row, just_above(sign * score[row])
    return best


@jit
def release_members(state: GreedyState, n_members: int) -> None:
    """Make the members of an unfinished group free again, and leave its seed over."""
    for row in state.members[:n_members]:
        state.group[row] = FREE
    state.group[state.members[0]] = LEFT_OVER
    state.counters[N_FREE] -= 1


@jit
def _grow_group(
    rows: FeatureRows, rule: GroupRule, tally: GroupTally, state: GreedyState, by_seed: bool, least: float
) -> int:
    """Grow one group from the next seed, and find the seed after it; return the work done."""
    score, counters = state.score, state.counters
    indexed = state.free[: counters[N_INDEXED]]
    for each in indexed:  # a loop is faster than an assignment by index
        score[each] = 0.0
    work, n_members, row = 3 * len(indexed), 0, counters[NEXT_SEED]
    length = 0.0  # of the sum of the members' rows, squared
    is_finished, is_similar = False, True
    while row >= 0 and is_similar and not is_finished:
        if n_members == 0 or not by_seed:
            length += 2 * score[row] + square_of(rows, row)
            work += add_scores(rows, state, row)
        if n_members == 0:
            for each in indexed:
                state.to_seed[each] = score[each]
        state.group[row] = counters[N_GROUPS]
        state.members[n_members] = row
        n_members += 1
        count_row(tally, rows, row)
        is_finished = is_legal(tally, rule)
        if not is_finished:
            row = _best_free(state, score, 1.0)
            work += len(indexed) + tally.counters[N_DISTINCT] * (rule.kind == CLOSENESS)
            is_similar = row < 0 or score[row] >= least * np.sqrt(length)
    clear_tally(tally)
    if not is_similar:
        release_members(state, n_members)
    else:
        counters[N_FREE] -= n_members
        if is_finished:
            counters[N_GROUPS] += 1
        else:
            for member in state.members[:n_members]:
                state.group[member] = LEFT_OVER
    if 2 * counters[N_FREE] < counters[N_INDEXED]:
        build_index(rows, state)
    counters[NEXT_SEED] = _best_free(state, state.to_seed, -1.0)
    return work


@jit
def grow_groups(
    rows: FeatureRows, rule: GroupRule, tally: GroupTally, state: GreedyState, by_seed: bool, least: float, budget: int
) -> None:
    """Grow groups until all rows are in one or left over, or the budget of work is spent.

    `by_seed`: the next member is the closest to the seed, else to the centroid; nobody whose cosine with that is below
    `least` is added.
    """
    work = 0
    while state.counters[NEXT_SEED] >= 0 and work < budget:
        work += _grow_group(rows, rule, tally, state, by_seed, least)


@jit
def square_of(rows: FeatureRows, row: int) -> float:
    """Return the squared length of a row, 1 unless it is empty."""
    return 1.0 if rows.feature_indptr[row] < rows.feature_indptr[row + 1] else 0.0


@jit
def _dot(rows: FeatureRows, row: int, dense: NDArray[np.float64]) -> float:
    total = 0.0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        total += dense[rows.feature_ids[j]] * rows.feature_values[j]
    return total


@jit
def _add_to(rows: FeatureRows, row: int, dense: NDArray[np.float64]) -> None:
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j]] += rows.feature_values[j]


@jit
def _clear(rows: FeatureRows, row: int, dense: NDArray[np.float64]) -> None:
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dense[rows.feature_ids[j]] = 0.0


@jit
def collect_members(rows: FeatureRows, group: NDArray[np.int32], n_groups: int) -> MemberLists:
    """List the members of every group and compute the length of its sum, member by member in the order of rows."""
    first, after = np.full(n_groups, -1, np.int32), np.full(len(group), -1, np.int32)
    for row in range(len(group) - 1, -1, -1):
        if group[row] >= 0:
            after[row] = first[group[row]]
            first[group[row]] = row
    length, dense = np.zeros(n_groups), np.zeros(rows.n_dimensions)
    for g in range(n_groups):
        row = first[g]
        while row >= 0:
            length[g] += 2 * _dot(rows, row, dense) + square_of(rows, row)
            _add_to(rows, row, dense)
            row = after[row]
        row = first[g]
        while row >= 0:
            _clear(rows, row, dense)
            row = after[row]
    return MemberLists(group, first, after, length, dense, np.zeros(n_groups))


@jit
def _score_groups(rows: FeatureRows, groups: MemberLists) -> None:
    """Set the cosine of every group's sum with the dense vector, up to the length of the latter."""
    for g in range(len(groups.score)):
        groups.score[g] = 0.0
    for row in range(len(groups.group)):
        if groups.group[row] >= 0:
            groups.score[groups.group[row]] += _dot(rows, row, groups.dense)
    for g in range(len(groups.score)):
        if groups.length[g] > 0:
            groups.score[g] /= np.sqrt(groups.length[g])


@jit
def _closest(groups: MemberLists) -> int:
    """Return the group with the highest score, the lowest of tied ones, or -1 if all are excluded (-inf)."""
    best, bar = -1, -np.inf
    for g in range(len(groups.score)):
        if groups.score[g] > bar:
            best, bar = g, just_above(groups.score[g])
    return best


@jit
def _count_group(rows: FeatureRows, tally: GroupTally, groups: MemberLists, g: int) -> None:
    row = groups.first[g]
    while row >= 0:
        count_row(tally, rows, row)
        row = groups.after[row]


@jit
def _place(rows: FeatureRows, rule: GroupRule, tally: GroupTally, groups: MemberLists, row: int, least: float) -> None:
    """Put one row into the closest group that stays legal, if there is one."""
    _add_to(rows, row, groups.dense)
    _score_groups(rows, groups)
    _clear(rows, row, groups.dense)
    g = _closest(groups)
    while g >= 0 and groups.score[g] >= least:
        _count_group(rows, tally, groups, g)
        count_row(tally, rows, row)
        fits = is_legal(tally, rule)
        clear_tally(tally)
        if fits:
            groups.length[g] += 2 * groups.score[g] * np.sqrt(groups.length[g]) + square_of(rows, row)
            groups.group[row] = g
            groups.after[row], groups.first[g] = groups.first[g], row
            return
        groups.score[g] = -np.inf
        g = _closest(groups)


@jit
def place_rows(
    rows: FeatureRows,
    rule: GroupRule,
    tally: GroupTally,
    groups: MemberLists,
    left: NDArray[np.int64],
    turn: int,
    least: float,
    budget: int,
) -> int:
    """Put leftover rows, from position `turn` on, into groups until the budget is spent; return the next position."""
    work = 0
    while turn < len(left) and work < budget:
        _place(rows, rule, tally, groups, left[turn], least)
        work += len(rows.feature_ids) + len(groups.score)
        turn += 1
    return turn


@jit
def merge_leftovers(rows: FeatureRows, rule: GroupRule, tally: GroupTally, groups: MemberLists) -> None:
    """Put all leftover rows into one group with as many of the nearest groups as it takes to be legal.

    Nothing changes if even all groups together are not legal with them.
    """
    group = groups.group
    for row in range(len(group)):
        if group[row] == LEFT_OVER:
            count_row(tally, rows, row)
            _add_to(rows, row, groups.dense)
    _score_groups(rows, groups)
    for dimension in range(len(groups.dense)):
        groups.dense[dimension] = 0.0
    n_groups = len(groups.score)
    is_merged, into = np.zeros(n_groups, np.bool_), n_groups
    g = _closest(groups)
    while g >= 0 and not is_legal(tally, rule):
        _count_group(rows, tally, groups, g)
        is_merged[g], groups.score[g] = True, -np.inf
        into = g if into == n_groups else into
        g = _closest(groups)
    if is_legal(tally, rule):
        for row in range(len(group)):
            if group[row] == LEFT_OVER or (group[row] >= 0 and is_merged[group[row]]):
                group[row] = into
    clear_tally(tally)
