"""Bounding inference: of the holders of a combination X, at most a share may hold a sensitive term s as well.

Combinations are visited depth first, each with the list of the histories that hold it. A history may lose a sensitive
term while the visit goes on; lists that were made before are filtered when they are looked at. Histories of one owner
are neighbours, and lists keep their order, so owners are counted by comparing neighbours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import find_node

LARGEST = 5  # terms of a combination with its sensitive term
DEPTH, OWNERS_SEEN, FOUND, DELETED = range(4)  # positions in `Visit.figures`


class Terms(NamedTuple):
    """The log: (history, term) pairs of which some are kept."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]  # ascending and unique within a history
    owner: NDArray[np.int32]  # (histories,): who is counted
    kept: NDArray[np.bool_]  # (pairs,)
    sensitive: NDArray[np.bool_]  # (terms,)
    start: NDArray[np.int64]  # (terms + 1,)
    history: NDArray[np.int32]  # (pairs,): the histories of each term, ascending


class Bound(NamedTuple):
    """The guarantee: at least k people for up to m terms, and the largest share as a fraction."""

    k: int
    m: int
    numerator: int
    denominator: int


class Visit(NamedTuple):
    """The state of a visit and scratch space; allocated by `methods.coherence`."""

    row: NDArray[np.int32]  # (levels, pairs): lists of one level, one after the other: histories …
    at: NDArray[np.int64]  # … and the position in ids of the last term chosen
    bounds: NDArray[np.int64]  # (levels, terms + 2): list g of a level is [bounds[g]:bounds[g + 1]]
    levels: NDArray[np.int64]  # (levels, 2): the next list of each level, and the number of its lists
    chosen: NDArray[np.int32]  # (levels,): the terms of the current combination
    cells: NDArray[np.int64]  # (terms, 2): the last owner's stamp, and the number of owners
    touched: NDArray[np.int32]  # (terms,)
    figures: NDArray[np.int64]  # (4,)


@jit
def _position(log: Terms, row: int, term: int) -> int:
    """Return the position of a term that a history keeps, else −1."""
    at = find_node(log.ids, log.indptr[row], log.indptr[row + 1], term)
    return at if at >= 0 and log.kept[at] else -1


@jit
def _still_holds(log: Terms, row: int, chosen: NDArray[np.int32], size: int) -> bool:
    """Return whether a history of a list has lost no sensitive term of the combination since the list was made."""
    for i in range(size):
        if log.sensitive[chosen[i]] and _position(log, row, chosen[i]) < 0:
            return False
    return True


@jit
def _is_among(chosen: NDArray[np.int32], size: int, term: int) -> bool:
    for i in range(size):
        if chosen[i] == term:
            return True
    return False


@jit
def _count(log: Terms, visit: Visit, rows: NDArray[np.int32], size: int) -> tuple[int, int, int]:
    """Count the owners of a list, and in `cells` those with each sensitive term besides.

    Return the owners, the number of terms touched, and the work.
    """
    n_owners, n_touched, work, last = 0, 0, 0, -1
    stamp = visit.figures[OWNERS_SEEN]
    for row in rows:
        work += 1
        if not _still_holds(log, row, visit.chosen, size):
            continue
        if log.owner[row] != last:
            last = log.owner[row]
            n_owners += 1
            stamp += 1
        for at in range(log.indptr[row], log.indptr[row + 1]):
            term = log.ids[at]
            if not log.sensitive[term] or not log.kept[at] or visit.cells[term, 0] == stamp:
                continue
            if not _is_among(visit.chosen, size, term):
                if visit.cells[term, 1] == 0:
                    visit.touched[n_touched] = term
                    n_touched += 1
                visit.cells[term, 0] = stamp
                visit.cells[term, 1] += 1
        work += log.indptr[row + 1] - log.indptr[row]
    visit.figures[OWNERS_SEEN] = stamp
    return n_owners, n_touched, work


@jit
def _excess(bound: Bound, n_owners: int, n_having: int, size: int) -> int:
    """Return how many owners must lose the sensitive term: all if fewer than k would be left of a small combination."""
    allowed = n_owners * bound.numerator // bound.denominator
    if n_having <= allowed:
        return 0
    if size < bound.m and allowed < bound.k:
        allowed = 0
    return n_having - allowed


@jit
def _weigh(log: Terms, visit: Visit, rows: NDArray[np.int32], size: int, term: int, weight: NDArray[np.int64]) -> None:
    """Add one to the weight of a sensitive term in each history of a list that has it."""
    for row in rows:
        at = _position(log, row, term)
        if at >= 0 and _still_holds(log, row, visit.chosen, size):
            weight[at] += 1


@jit
def _delete_from_some(
    log: Terms, visit: Visit, rows: NDArray[np.int32], size: int, term: int, excess: int, weight: NDArray[np.int64]
) -> int:
    """Delete a sensitive term from so many owners of a list, those where it is too frequent most often; count pairs."""
    n_deleted = 0
    for _ in range(excess):
        best, highest = -1, np.int64(-1)
        for row in rows:
            at = _position(log, row, term)
            if at >= 0 and weight[at] > highest and _still_holds(log, row, visit.chosen, size):
                best, highest = log.owner[row], weight[at]
        for row in rows:
            if log.owner[row] == best and _still_holds(log, row, visit.chosen, size):
                at = _position(log, row, term)
                if at >= 0:
                    log.kept[at] = False
                    n_deleted += 1
    return n_deleted


@jit
def _examine(
    log: Terms, bound: Bound, visit: Visit, rows: NDArray[np.int32], size: int, weight: NDArray[np.int64], is_last: bool
) -> int:
    """Look for sensitive terms that too many owners of a combination have: weigh them, or delete them at last."""
    n_owners, n_touched, work = _count(log, visit, rows, size)
    for index in range(n_touched):
        term = visit.touched[index]
        excess = _excess(bound, n_owners, visit.cells[term, 1], size)
        visit.cells[term, 1] = 0
        if excess == 0:
            continue
        visit.figures[FOUND] += 1
        work += len(rows)
        if is_last:
            visit.figures[DELETED] += _delete_from_some(log, visit, rows, size, term, excess, weight)
            work += excess * len(rows)
        else:
            _weigh(log, visit, rows, size, term, weight)
    return work


@jit
def _split(log: Terms, visit: Visit, first: int, end: int, level: int) -> int:
    """Split a list by the next term, a lower id of the same history, into the lists of the next level."""
    row, at, bounds = visit.row[level + 1], visit.at[level + 1], visit.bounds[level + 1]
    n_touched = 0
    for position in range(first, end):
        for i in range(log.indptr[visit.row[level, position]], visit.at[level, position]):
            if log.kept[i]:
                term = log.ids[i]
                if visit.cells[term, 1] == 0:
                    visit.touched[n_touched] = term
                    n_touched += 1
                visit.cells[term, 1] += 1
    total = 0
    for index in range(n_touched):
        term = visit.touched[index]
        bounds[index] = total
        total += visit.cells[term, 1]
        visit.cells[term, 1] = bounds[index]
    bounds[n_touched] = total
    for position in range(first, end):
        history = visit.row[level, position]
        for i in range(log.indptr[history], visit.at[level, position]):
            if log.kept[i]:
                slot = visit.cells[log.ids[i], 1]
                row[slot], at[slot] = history, i
                visit.cells[log.ids[i], 1] += 1
    for index in range(n_touched):
        visit.cells[visit.touched[index], 1] = 0
    visit.levels[level + 1, 0], visit.levels[level + 1, 1] = 0, n_touched
    return int(total)


@jit
def visit_combinations(
    log: Terms, bound: Bound, visit: Visit, weight: NDArray[np.int64], is_last: bool, budget: int
) -> bool:
    """Continue the visit of all combinations for about `budget` steps; return whether it is finished.

    Level 0 is one list of all histories, whose `at` is the end of their terms.
    """
    figures, levels = visit.figures, visit.levels
    spent = 0
    while figures[DEPTH] >= 0:
        if spent >= budget:
            return False
        level = figures[DEPTH]
        number = levels[level, 0]
        if number == levels[level, 1]:
            figures[DEPTH] -= 1
            continue
        levels[level, 0] += 1
        first, end = visit.bounds[level, number], visit.bounds[level, number + 1]
        if level > 0:
            visit.chosen[level - 1] = log.ids[visit.at[level, first]]
            spent += _examine(log, bound, visit, visit.row[level, first:end], level, weight, is_last)
        if level < bound.m:
            spent += end - first + _split(log, visit, first, end, level)
            figures[DEPTH] += 1
    return True


@jit
def _holders(log: Terms, rows: NDArray[np.int32], term: int, found: NDArray[np.int32]) -> int:
    """Write the histories of a list that keep a term; return how many they are."""
    n = 0
    for row in rows:
        if _position(log, row, term) >= 0:
            found[n] = row
            n += 1
    return n


@jit
def _is_bounded(log: Terms, bound: Bound, visit: Visit, rows: NDArray[np.int32], size: int, is_people: bool) -> bool:
    """Return whether a combination has enough owners, and no sensitive term besides has too many of them."""
    n_owners, n_touched, _ = _count(log, visit, rows, size)
    is_fine = n_owners >= bound.k or not is_people
    for index in range(n_touched):
        term = visit.touched[index]
        if visit.cells[term, 1] * bound.denominator > n_owners * bound.numerator:
            is_fine = False
        visit.cells[term, 1] = 0
    return is_fine


@jit
def fits(log: Terms, bound: Bound, visit: Visit, history: int, added: int, is_people: bool) -> bool:
    """Return whether a history may have a term that it was just given: all combinations that it changes are bounded.

    These are those with the term; if it is sensitive, also all others of the history, as it follows from them.
    """
    begin, end = log.indptr[history], log.indptr[history + 1]
    is_sensitive = log.sensitive[log.ids[added]]
    cursor, levels = np.full(LARGEST, end, np.int64), visit.levels[:, 1]
    depth = 0
    while depth >= 0:
        cursor[depth] -= 1
        at = cursor[depth]
        if at < begin:
            depth -= 1
            continue
        if not log.kept[at]:
            continue
        visit.chosen[depth] = log.ids[at]
        has_added = _is_among(visit.chosen, depth + 1, log.ids[added])
        if not has_added and not is_sensitive and (at < added or depth + 1 == bound.m):
            continue  # nothing that follows holds the term
        if depth == 0:
            term = log.ids[at]
            listed = log.history[log.start[term] : log.start[term + 1]]
            levels[0] = _holders(log, listed, term, visit.row[0])
        else:
            levels[depth] = _holders(log, visit.row[depth - 1, : levels[depth - 1]], log.ids[at], visit.row[depth])
        rows = visit.row[depth, : levels[depth]]
        if (has_added or is_sensitive) and not _is_bounded(log, bound, visit, rows, depth + 1, is_people):
            return False
        if depth + 1 < bound.m:
            depth += 1
            cursor[depth] = at
    return True


@jit
def reinsert_bounded(
    people: Terms,
    histories: Terms,
    has_several: bool,
    bound: Bound,
    visit: Visit,
    candidates: NDArray[np.int64],  # pairs, the most useful first
    first: int,
    budget: int,
) -> int:
    """Put candidates from `first` on back where all bounds hold, so many at most; return the next one.

    Of people with several histories shares are looked at twice: of people, and of histories.
    """
    number = first
    while number < min(len(candidates), first + budget):
        added = candidates[number]
        history = np.searchsorted(people.indptr, added, side="right") - 1
        people.kept[added] = True
        is_fine = fits(people, bound, visit, history, added, True)
        if is_fine and has_several:
            is_fine = fits(histories, bound, visit, history, added, False)
        people.kept[added] = is_fine
        number += 1
    return number
