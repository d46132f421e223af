"""Greedy groups of rows that are alike, each grown until a principle is satisfied.

Likeness is the cosine of feature rows, which come at unit length: the dot product of a row with the sum of a group's
rows, up to the length of that sum, is its cosine with the centroid. A new member changes the dot products of those rows
alone that share a dimension with it, so they are kept and added to through an inverted index; the index forgets rows
that have a group whenever half of them have one. All sums are made in one written order (member by member, dimension
by dimension), so that ties are ties everywhere; they go to the lowest row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

FREE, LEFT_OVER = -1, -2  # in place of a group: not looked at yet; in no group that could be finished
MEAN, GLOBAL, MEMBERS, DIVERSITY, CLOSENESS = range(5)  # kinds of `Rule`
SLACK = 1e-9  # relative: what is equal in decimals may differ in binary


class Rows(NamedTuple):
    """What the rows of one run of the greedy hold: entries, which the principle is about, and features."""

    indptr: NDArray[np.int64]  # (rows + 1,)
    ids: NDArray[np.int32]  # (pairs,): entries
    feature_indptr: NDArray[np.int64]  # (rows + 1,)
    feature_ids: NDArray[np.int32]  # (feature pairs,): ascending within a row
    feature_values: NDArray[np.float64]  # (feature pairs,): rows are of unit length, or empty
    n_dimensions: int


class Rule(NamedTuple):
    """When a group may be published."""

    kind: int
    p: float
    smallest: int  # members
    bound: float  # GLOBAL: distinct entries; DIVERSITY: entropy; CLOSENESS: total variation distance
    share: NDArray[np.float64]  # (entries,): of all pairs of the log; used by CLOSENESS alone


class Tally(NamedTuple):
    """What is counted of one group: `held` is zero everywhere between two groups."""

    held: NDArray[np.int32]  # (entries,): members that hold each
    met: NDArray[np.int32]  # (entries,): those that some member holds, from 0 on
    whole: NDArray[np.int64]  # members, distinct entries, pairs
    real: NDArray[np.float64]  # the sum of held · ln held


class Course(NamedTuple):
    """How far the greedy has come."""

    group: NDArray[np.int32]  # (rows,): FREE, LEFT_OVER or a number
    free: NDArray[np.int32]  # (rows,): rows of the index, ascending, from 0 on; some may have a group already
    score: NDArray[np.float64]  # (rows,): dot product with the sum of the group that grows, or with its seed
    to_seed: NDArray[np.float64]  # (rows,): dot product with the seed of the group that grows
    post_start: NDArray[np.int64]  # (dimensions + 1,)
    post_row: NDArray[np.int32]  # (feature pairs,): rows of `free` that have a dimension, ascending
    post_value: NDArray[np.float64]
    members: NDArray[np.int32]  # (rows,): of the group that grows
    whole: NDArray[np.int64]  # groups, rows without one, rows of the index, the next seed


def make_tally(n_entries: int) -> Tally:
    """Return a tally of nobody."""
    return Tally(np.zeros(n_entries, np.int32), np.empty(n_entries, np.int32), np.zeros(3, np.int64), np.zeros(1))


def make_course(rows: Rows, seed: int) -> Course:
    """Return the start of the greedy from a first seed."""
    n = len(rows.indptr) - 1
    course = Course(
        group=np.full(n, FREE, np.int32),
        free=np.arange(n, dtype=np.int32),
        score=np.zeros(n),
        to_seed=np.zeros(n),
        post_start=np.zeros(rows.n_dimensions + 1, np.int64),
        post_row=np.empty(len(rows.feature_ids), np.int32),
        post_value=np.empty(len(rows.feature_ids)),
        members=np.empty(n, np.int32),
        whole=np.array([0, n, n, seed], np.int64),
    )
    index(rows, course)
    return course


@jit
def index(rows: Rows, course: Course) -> None:
    """Make the inverted index of the rows that have no group."""
    free, start, whole = course.free, course.post_start, course.whole
    n_free = 0
    for i in range(whole[2]):
        if course.group[free[i]] == FREE:
            free[n_free] = free[i]
            n_free += 1
    whole[2] = n_free
    start[:] = 0
    for i in range(n_free):
        for j in range(rows.feature_indptr[free[i]], rows.feature_indptr[free[i] + 1]):
            start[rows.feature_ids[j] + 1] += 1
    start[:] = np.cumsum(start)
    at = start[:-1].copy()
    for i in range(n_free):
        for j in range(rows.feature_indptr[free[i]], rows.feature_indptr[free[i] + 1]):
            dimension = rows.feature_ids[j]
            course.post_row[at[dimension]] = free[i]
            course.post_value[at[dimension]] = rows.feature_values[j]
            at[dimension] += 1


@jit
def count_in(tally: Tally, rows: Rows, row: int) -> None:
    """Count a row into the group."""
    held, met, whole = tally.held, tally.met, tally.whole
    gained = 0.0
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        entry = rows.ids[j]
        before = held[entry]
        if before == 0:
            met[whole[1]] = entry
            whole[1] += 1
        else:
            gained += (before + 1) * np.log(before + 1) - before * np.log(before)
        held[entry] = before + 1
    tally.real[0] += gained
    whole[0] += 1
    whole[2] += rows.indptr[row + 1] - rows.indptr[row]


@jit
def clear(tally: Tally) -> None:
    """Count nobody."""
    for i in range(tally.whole[1]):
        tally.held[tally.met[i]] = 0
    tally.whole[:] = 0
    tally.real[0] = 0.0


@jit
def is_legal(tally: Tally, rule: Rule) -> bool:
    """Say whether the group that was counted may be published."""
    members, distinct, pairs = tally.whole[0], tally.whole[1], tally.whole[2]
    if members < rule.smallest or pairs == 0:
        return False
    if rule.kind == MEAN:
        return rule.p * members * distinct >= pairs * (1 - SLACK)
    if rule.kind == GLOBAL:
        return distinct >= rule.bound * (1 - SLACK)
    if rule.kind == DIVERSITY:
        return np.log(pairs) - tally.real[0] / pairs >= rule.bound - SLACK
    if rule.kind == CLOSENESS:
        return _distance(tally, rule.share) <= rule.bound + SLACK
    return True


@jit
def _distance(tally: Tally, share: NDArray[np.float64]) -> float:
    """Return the total variation distance of the group's entries from those of all rows."""
    distance = 0.0
    for i in range(tally.whole[1]):
        entry = tally.met[i]
        distance += max(0.0, tally.held[entry] / tally.whole[2] - share[entry])
    return distance


@jit
def add_scores(rows: Rows, course: Course, row: int) -> int:
    """Add the dot products of all rows of the index with this one to their scores; return the work that was."""
    score, start, post_row, post_value = course.score, course.post_start, course.post_row, course.post_value
    work = 0
    for j in range(rows.feature_indptr[row], rows.feature_indptr[row + 1]):
        dimension, value = rows.feature_ids[j], rows.feature_values[j]
        for i in range(start[dimension], start[dimension + 1]):
            score[post_row[i]] += value * post_value[i]
        work += start[dimension + 1] - start[dimension]
    return work


@jit
def _closest(course: Course) -> int:
    """Return the free row with the highest score, or -1."""
    best = -1
    highest = -1.0
    for i in range(course.whole[2]):
        row = course.free[i]
        if course.score[row] > highest and course.group[row] == FREE:
            best, highest = row, course.score[row]
    return best


@jit
def _farthest_from_seed(course: Course) -> int:
    """Return the free row that is the least like the seed, or -1."""
    best = -1
    lowest = np.inf
    for i in range(course.whole[2]):
        row = course.free[i]
        if course.to_seed[row] < lowest and course.group[row] == FREE:
            best, lowest = row, course.to_seed[row]
    return best


@jit
def _grow(rows: Rows, rule: Rule, tally: Tally, course: Course, by_seed: bool, least: float) -> int:
    """Grow one group from the next seed, and find the seed after it; return the work that was."""
    group, free, score, members, whole = course.group, course.free, course.score, course.members, course.whole
    number, seed = whole[0], whole[3]
    for i in range(whole[2]):
        score[free[i]] = 0.0
    work = 3 * whole[2]
    n_members = 0
    length = 0.0  # of the sum of the members' rows, squared
    row = seed
    is_legal_now = False
    while row >= 0:
        is_empty = rows.feature_indptr[row] == rows.feature_indptr[row + 1]
        if n_members == 0 or not by_seed:
            length += 2 * score[row] + (0.0 if is_empty else 1.0)
            work += add_scores(rows, course, row)
        if n_members == 0:
            for i in range(whole[2]):
                course.to_seed[free[i]] = score[free[i]]
        group[row] = number
        members[n_members] = row
        n_members += 1
        count_in(tally, rows, row)
        is_legal_now = is_legal(tally, rule)
        if is_legal_now:
            break
        row = _closest(course)
        work += whole[2] + tally.whole[1] * (rule.kind == CLOSENESS)
        if row >= 0 and score[row] < least * np.sqrt(length):
            for i in range(1, n_members):  # they may fit elsewhere; the seed is found no company
                group[members[i]] = FREE
            group[seed] = LEFT_OVER
            n_members = 1
            break
    clear(tally)
    whole[1] -= n_members
    if is_legal_now:
        whole[0] += 1
    else:
        for i in range(n_members):
            group[members[i]] = LEFT_OVER
    if 2 * whole[1] < whole[2]:
        index(rows, course)
    whole[3] = _farthest_from_seed(course)
    return work


@jit
def grow_groups(rows: Rows, rule: Rule, tally: Tally, course: Course, by_seed: bool, least: float, budget: int) -> None:
    """Grow groups until all rows are in one or left over, or the budget of work is used up.

    `by_seed`: the next member is the closest to the seed, else to the centroid; nobody whose cosine with that is below
    `least` is taken.
    """
    work = 0
    while course.whole[3] >= 0 and work < budget:
        work += _grow(rows, rule, tally, course, by_seed, least)
