"""The kernels of the verifiers, which share nothing with those that make a release.

They count the owners of every combination of terms by splitting lists of candidates recursively.

A candidate is a pair (row, end): a history that holds the combination, and the terms `ids[indptr[row]:end]` that may
still extend it. Splitting a list by the next term gives one list for each longer combination, as a transposed matrix
gives one list for each column. Terms are added from the highest id of a row to the lowest, so every combination has one
list only, with one candidate for each row that holds it. Lists keep the order of their rows, which are sorted by owner;
so distinct owners are counted by comparing neighbours.

The enumeration is depth first and keeps one level of lists for each term chosen: no level is longer than the number
of pairs, whatever the number of combinations. It can be interrupted and continued after each list.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

NEXT, LAST = 0, 1  # columns of `Candidates.levels`
STAMP, NUMBER = 0, 1  # columns of `OwnerCounts.cells`
DEPTH, OWNERS_SEEN, COMBINATIONS, VISITED, VIOLATIONS, LOWEST = range(6)  # positions in `OwnerCounts.figures`


class Histories(NamedTuple):
    """The released histories, which no kernel changes."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a row
    owner: NDArray[np.int32]  # (histories,)
    rank: NDArray[np.int32]  # (terms,): position of each term in the order of the texts


class Candidates(NamedTuple):
    """The lists of candidates: level d holds, one after the other, the lists of combinations of d terms."""

    rows: NDArray[np.int32]  # (histories + (size - 1) * pairs,)
    ends: NDArray[np.int64]  # as rows; above level 0 it is also the position in ids of the last term chosen
    bounds: NDArray[np.int64]  # list g of a level is [bounds[g]:bounds[g + 1]] of rows and ends
    levels: NDArray[np.int64]  # (size, 2): for each level the next list, and the end of its lists


class OwnerCounts(NamedTuple):
    """The figures counted so far, and scratch space."""

    cells: NDArray[np.int64]  # (terms, 2): last owner's stamp, and number of owners or of candidates
    touched: NDArray[np.int32]  # (terms,): the terms whose cell is in use
    figures: NDArray[np.int64]  # (6,)
    worst: NDArray[np.int32]  # (2, size): ranks of the worst combination so far, and of the current one


@jit
def visit_combinations(histories: Histories, lists: Candidates, counts: OwnerCounts, k: int, budget: int) -> bool:
    """Continue the depth-first enumeration for about `budget` steps; return whether it is finished."""
    levels, figures = lists.levels, counts.figures
    spent = 0
    while figures[DEPTH] >= 0:
        if spent >= budget:
            return False
        depth = figures[DEPTH]
        list_index = levels[depth, NEXT]
        if list_index == levels[depth, LAST]:
            figures[DEPTH] -= 1
            continue
        levels[depth, NEXT] += 1
        if depth == len(levels) - 1:
            before = figures[VISITED]
            _record_violations(histories, lists, counts, _count_owners(histories, lists, counts, list_index), k)
            spent += figures[VISITED] - before
        else:
            spent += split_list(histories, lists, counts, list_index, depth, len(levels) - depth - 1)
    return True


@jit
def split_list(
    histories: Histories, lists: Candidates, counts: OwnerCounts, list_index: int, depth: int, still_missing: int
) -> int:
    """Split one list by the next term, and append the new lists as the next level; return their total length.

    So many terms must still follow this one: lower ids of the row.
    """
    n_touched = 0
    for position in range(lists.bounds[list_index], lists.bounds[list_index + 1]):
        for at in range(histories.indptr[lists.rows[position]] + still_missing, lists.ends[position]):
            term = histories.ids[at]
            if counts.cells[term, NUMBER] == 0:
                counts.touched[n_touched] = term
                n_touched += 1
            counts.cells[term, NUMBER] += 1
    steps = _open_level(lists, counts, n_touched, depth)
    for position in range(lists.bounds[list_index], lists.bounds[list_index + 1]):
        row = lists.rows[position]
        for at in range(histories.indptr[row] + still_missing, lists.ends[position]):
            term = histories.ids[at]
            target = counts.cells[term, NUMBER]
            lists.rows[target] = row
            lists.ends[target] = at
            counts.cells[term, NUMBER] += 1
    for index in range(n_touched):
        counts.cells[counts.touched[index], NUMBER] = 0
    return steps


@jit
def _open_level(lists: Candidates, counts: OwnerCounts, n_touched: int, depth: int) -> int:
    """Allocate one list per touched term, leave each list's start in the term's cell, return the total length."""
    first = lists.levels[depth, LAST] + 1
    start = lists.bounds[lists.levels[depth, LAST]]
    filled = start
    for index in range(n_touched):
        term = counts.touched[index]
        lists.bounds[first + index] = filled
        filled += counts.cells[term, NUMBER]
        counts.cells[term, NUMBER] = lists.bounds[first + index]
    lists.bounds[first + n_touched] = filled
    lists.levels[depth + 1, NEXT] = first
    lists.levels[depth + 1, LAST] = first + n_touched
    counts.figures[DEPTH] = depth + 1
    return int(filled - start)


@jit
def _count_owners(histories: Histories, lists: Candidates, counts: OwnerCounts, list_index: int) -> int:
    """Count the owners of every combination that one last term completes; return how many combinations there are."""
    begin, n_touched, n_visited = lists.bounds[list_index], 0, 0
    stamp = counts.figures[OWNERS_SEEN]
    for position in range(begin, lists.bounds[list_index + 1]):
        row = lists.rows[position]
        # A new stamp for each owner of each list: cells of earlier lists can never look current.
        if position == begin or histories.owner[row] != histories.owner[lists.rows[position - 1]]:
            stamp += 1
        for at in range(histories.indptr[row], lists.ends[position]):
            term = histories.ids[at]
            if counts.cells[term, STAMP] != stamp:
                if counts.cells[term, NUMBER] == 0:
                    counts.touched[n_touched] = term
                    n_touched += 1
                counts.cells[term, STAMP] = stamp
                counts.cells[term, NUMBER] += 1
        n_visited += lists.ends[position] - histories.indptr[row]
    counts.figures[OWNERS_SEEN] = stamp
    counts.figures[VISITED] += n_visited
    return n_touched


@jit
def _record_violations(histories: Histories, lists: Candidates, counts: OwnerCounts, n_touched: int, k: int) -> None:
    """Record the combinations just counted that too few owners hold, and clear their cells."""
    figures = counts.figures
    figures[COMBINATIONS] += n_touched
    for index in range(n_touched):
        term = counts.touched[index]
        support = counts.cells[term, NUMBER]
        counts.cells[term, NUMBER] = 0
        if support >= k:
            continue
        figures[VIOLATIONS] += 1
        if support <= figures[LOWEST]:
            _rank_terms(histories, lists, counts, term)
            if support < figures[LOWEST] or _is_current_first(counts.worst):
                figures[LOWEST] = support
                for position in range(counts.worst.shape[1]):  # a copy of the row takes a second to compile
                    counts.worst[0, position] = counts.worst[1, position]


@jit
def _rank_terms(histories: Histories, lists: Candidates, counts: OwnerCounts, last_term: int) -> None:
    """Write the ranks of the current combination, ascending, into the second row of `worst`."""
    ranks = counts.worst[1]
    ranks[0] = histories.rank[last_term]
    for depth in range(1, len(ranks)):
        list_index = lists.levels[depth, NEXT] - 1
        rank = histories.rank[histories.ids[lists.ends[lists.bounds[list_index]]]]
        slot = depth
        while slot > 0 and ranks[slot - 1] > rank:
            ranks[slot] = ranks[slot - 1]
            slot -= 1
        ranks[slot] = rank


@jit
def _is_current_first(worst: NDArray[np.int32]) -> bool:
    """Return whether the current combination sorts before the worst so far, in the order of the texts."""
    for position in range(worst.shape[1]):
        if worst[1, position] != worst[0, position]:
            return bool(worst[1, position] < worst[0, position])
    return False
