"""Groups chosen for what may be published of them, where every published entry has a highest share of holders.

An entry that more members hold than its share allows is not published. The next member is therefore the one with whom
the members' mean cosine to what is published is the highest. With A the sum of the members' rows at unit length and R
that of their rows, over published entries, the sum of these cosines is A·R / |R|. A candidate changes A·R and |R|² by
what its entries add where no member holds them, which is known beforehand, and by a correction for each entry that
some member holds; the corrections are kept per candidate and change only when an entry's holders do.

Lengths of rows, and sums of what the members of groups hold.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.grouping.greedy import FREE, LEFT_OVER, SLACK, Course, Rows, add_scores, index

LIKENESS = 0.1  # how much likeness in meaning weighs beside the cosine to what is published


class Weighed(NamedTuple):
    """What the entries of rows weigh, and how many of a group may hold each."""

    weight: NDArray[np.float64]  # (pairs,)
    unit: NDArray[np.float64]  # (pairs,): the same, of rows at unit length
    highest: NDArray[np.float64]  # (entries,): share of the members


class Candidates(NamedTuple):
    """What the group that grows publishes, and what each row would change of it."""

    most: NDArray[np.float64]  # (entries,): members that may hold each if it is published
    held: NDArray[np.int64]  # (entries,)
    unit: NDArray[np.float64]  # (entries,): A, of published entries or not
    weight: NDArray[np.float64]  # (entries,): R, likewise
    alone: NDArray[np.float64]  # (rows, 2): what a row adds to A·R and |R|² if no member holds any of its entries
    change: NDArray[np.float64]  # (rows, 2): what it adds beyond that
    post_start: NDArray[np.int64]  # (entries + 1,)
    post_row: NDArray[np.int32]  # (pairs,): free rows that hold an entry
    post_place: NDArray[np.int64]  # (pairs,): where in the rows


@jit
def find_candidates(rows: Rows, weighed: Weighed, size: int) -> Candidates:
    """Return what rows add to groups of so many members, before there is one."""
    n_rows, n_entries = len(rows.indptr) - 1, len(weighed.highest)
    most = np.floor(size * weighed.highest * (1 + SLACK))
    alone = np.zeros((n_rows, 2))
    for row in range(n_rows):
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            if most[rows.ids[j]] >= 1:
                alone[row, 0] += weighed.unit[j] * weighed.weight[j]
                alone[row, 1] += weighed.weight[j] ** 2
    return Candidates(
        most, np.zeros(n_entries, np.int64), np.zeros(n_entries), np.zeros(n_entries), alone, np.zeros((n_rows, 2)),
        np.zeros(n_entries + 1, np.int64), np.empty(len(rows.ids), np.int32), np.empty(len(rows.ids), np.int64),
    )  # fmt: skip


@jit
def _index_entries(rows: Rows, course: Course, found: Candidates) -> None:
    """Make the inverted index of the entries of free rows."""
    start = found.post_start
    start[:] = 0
    for i in range(course.whole[2]):
        row = course.free[i]
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            start[rows.ids[j] + 1] += 1
    start[:] = np.cumsum(start)
    at = start[:-1].copy()
    for i in range(course.whole[2]):
        row = course.free[i]
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            entry = rows.ids[j]
            found.post_row[at[entry]] = row
            found.post_place[at[entry]] = j
            at[entry] += 1


@jit
def _correct(found: Candidates, weighed: Weighed, entry: int, sign: float) -> None:
    """Add (or take back) the corrections for one entry to all rows that hold it."""
    held, most, a, r = found.held[entry], found.most[entry], found.unit[entry], found.weight[entry]
    change = found.change
    for i in range(found.post_start[entry], found.post_start[entry + 1]):
        row, place = found.post_row[i], found.post_place[i]
        unit, weight = weighed.unit[place], weighed.weight[place]
        if held < most:
            change[row, 0] += sign * (a * weight + unit * r)
            change[row, 1] += sign * 2 * r * weight
        elif most > 0:  # it is not published, or would not be with this row
            lost = held == most
            change[row, 0] -= sign * (unit * weight + (a * r if lost else 0.0))
            change[row, 1] -= sign * (weight * weight + (r * r if lost else 0.0))


@jit
def _join(rows: Rows, weighed: Weighed, found: Candidates, row: int) -> int:
    """Put a row into the group; return the work that was."""
    work = 0
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        entry = rows.ids[j]
        if found.held[entry] > 0:
            _correct(found, weighed, entry, -1.0)
        found.held[entry] += 1
        found.unit[entry] += weighed.unit[j]
        found.weight[entry] += weighed.weight[j]
        _correct(found, weighed, entry, 1.0)
        work += 4 * (found.post_start[entry + 1] - found.post_start[entry])
    return work


@jit
def _best(
    course: Course, found: Candidates, product: float, square: float, n_members: int, length: float, least: float
) -> int:
    """Return the free row that makes the best group, among those alike enough, or -1."""
    best = -1
    highest = -np.inf
    to_mean, to_cosine = 1 / np.sqrt(n_members + 1), 1 / np.sqrt(length) if length > 0 else 0.0
    for i in range(course.whole[2]):
        row = course.free[i]
        likeness = course.score[row] * to_cosine
        if course.group[row] != FREE or likeness < least:
            continue
        below = square + found.alone[row, 1] + found.change[row, 1]
        above = product + found.alone[row, 0] + found.change[row, 0]
        value = LIKENESS * likeness + (to_mean * above / np.sqrt(below) if below > SLACK else 0.0)
        if value > highest:
            best, highest = row, value
    return best


@jit
def _forget(rows: Rows, course: Course, found: Candidates, n_members: int) -> None:
    for i in range(n_members):
        row = course.members[i]
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            entry = rows.ids[j]
            found.held[entry] = 0
            found.unit[entry] = 0.0
            found.weight[entry] = 0.0


@jit
def _grow(
    rows: Rows, weighed: Weighed, course: Course, found: Candidates, seed: int, size: int, by_seed: bool, least: float
) -> int:
    """Grow one group of the given size from a seed; return the work that was."""
    group, whole = course.group, course.whole
    for i in range(whole[2]):
        row = course.free[i]
        course.score[row] = 0.0
        found.change[row, 0] = 0.0
        found.change[row, 1] = 0.0
    work, n_members = 3 * whole[2], 0
    product, square, length = 0.0, 0.0, 0.0
    row = seed
    while row >= 0:
        product += found.alone[row, 0] + found.change[row, 0]
        square += found.alone[row, 1] + found.change[row, 1]
        if n_members == 0 or not by_seed:
            length += 2 * course.score[row] + (rows.feature_indptr[row] < rows.feature_indptr[row + 1])
            work += add_scores(rows, course, row)
        work += _join(rows, weighed, found, row)
        group[row] = whole[0]
        course.members[n_members] = row
        n_members += 1
        if n_members == size:
            break
        row = _best(course, found, product, square, n_members, length, least)
        work += 4 * whole[2]
    _forget(rows, course, found, n_members)
    if n_members == size:
        whole[0] += 1
        whole[1] -= size
    else:  # nobody else is alike enough: others may fit elsewhere, the seed is found no company
        for i in range(1, n_members):
            group[course.members[i]] = FREE
        group[seed] = LEFT_OVER
        whole[1] -= 1
    return work


@jit
def grow_published(
    rows: Rows, weighed: Weighed, course: Course, found: Candidates, order: NDArray[np.int64], size: int, by_seed: bool,
    least: float, budget: int,
) -> None:  # fmt: skip
    """Grow groups of one size from seeds in the given order until all rows are in one or left over.

    The budget of work may end it before; whole[3] of the course is the place in the order, -1 at the end.
    """
    whole = course.whole
    work = 0
    if whole[3] == 0:
        _index_entries(rows, course, found)
    while whole[3] >= 0 and work < budget:
        if 2 * whole[1] < whole[2]:
            index(rows, course)
            _index_entries(rows, course, found)
        if whole[3] == len(order) or whole[1] < size:
            whole[3] = -1
        elif course.group[order[whole[3]]] == FREE:
            work += _grow(rows, weighed, course, found, order[whole[3]], size, by_seed, least)
        else:
            whole[3] += 1
    if whole[3] < 0:
        for row in range(len(course.group)):
            if course.group[row] == FREE:
                course.group[row] = LEFT_OVER


@jit
def published_likeness(rows: Rows, weighed: Weighed, group: NDArray[np.int32], order: NDArray[np.int64]) -> float:
    """Return the sum over all members of the cosine to what their group publishes; `order` stands group by group."""
    n_entries = len(weighed.highest)
    held, unit, weight = np.zeros(n_entries, np.int64), np.zeros(n_entries), np.zeros(n_entries)
    total = 0.0
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and group[order[end]] == group[order[begin]]:
            row = order[end]
            for j in range(rows.indptr[row], rows.indptr[row + 1]):
                held[rows.ids[j]] += 1
                unit[rows.ids[j]] += weighed.unit[j]
                weight[rows.ids[j]] += weighed.weight[j]
            end += 1
        product, square = 0.0, 0.0
        for i in range(begin, end):
            for j in range(rows.indptr[order[i]], rows.indptr[order[i] + 1]):
                entry = rows.ids[j]
                if 0 < held[entry] <= (end - begin) * weighed.highest[entry] * (1 + SLACK):
                    product += unit[entry] * weight[entry]
                    square += weight[entry] ** 2
                held[entry] = 0
                unit[entry] = 0.0
                weight[entry] = 0.0
        if square > 0 and group[order[begin]] >= 0:
            total += product / np.sqrt(square)
        begin = end
    return total


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
