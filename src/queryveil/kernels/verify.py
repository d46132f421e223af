"""The kernels of the verifiers, which share nothing with those that make a release.

They count who holds every combination of terms, by splitting lists of occurrences again and again.

An occurrence is a pair (row, end): it stands for the terms `ids[indptr[row]:end]` that may still join the
combination. Splitting a list by the next term that joins gives one list for each longer combination, as a
transposed matrix gives one list for each column. Terms join from the highest id of a row to the lowest, so every
combination comes up in one list only, exactly once for each row that holds it. Lists keep the order of their
rows; rows come sorted by owner; so distinct owners are counted by comparing neighbours.

The walk is depth first and keeps one level of lists for each term chosen: no level is longer than the number
of pairs, whatever the number of combinations. It can be left and taken up again after each list.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

NEXT, LAST = 0, 1  # columns of `Lists.levels`
STAMP, NUMBER = 0, 1  # columns of `Tally.cells`
DEPTH, OWNERS_SEEN, COMBINATIONS, OCCURRENCES, VIOLATIONS, LOWEST = range(6)  # places in `Tally.figures`


class Histories(NamedTuple):
    """The released histories, which no kernel changes."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a row
    owner: NDArray[np.int32]  # (histories,)
    rank: NDArray[np.int32]  # (terms,): place of each term in the order of the texts


class Lists(NamedTuple):
    """The lists of occurrences: level d holds, one above the other, the lists of combinations of d terms."""

    rows: NDArray[np.int32]  # (histories + (size - 1) * pairs,)
    ends: NDArray[np.int64]  # as rows; above level 0 it is also the place in ids of the last term chosen
    bounds: NDArray[np.int64]  # list g of a level is [bounds[g]:bounds[g + 1]] of rows and ends
    levels: NDArray[np.int64]  # (size, 2): of each level the list to take next, and where its lists end


class Tally(NamedTuple):
    """What was counted so far, and room to count in."""

    cells: NDArray[np.int64]  # (terms, 2): last owner's stamp, and number of owners or of occurrences
    touched: NDArray[np.int32]  # (terms,): the terms whose cell is in use
    figures: NDArray[np.int64]  # (6,)
    worst: NDArray[np.int32]  # (2, size): ranks of the worst combination so far, and of the one at hand


@jit
def walk(histories: Histories, lists: Lists, tally: Tally, k: int, budget: int) -> bool:
    """Go on with the walk until the budget of steps is spent; return whether it has come to its end."""
    levels, figures = lists.levels, tally.figures
    spent = 0
    while figures[DEPTH] >= 0:
        if spent >= budget:
            return False
        depth = figures[DEPTH]
        taken = levels[depth, NEXT]
        if taken == levels[depth, LAST]:
            figures[DEPTH] -= 1
            continue
        levels[depth, NEXT] += 1
        if depth == len(levels) - 1:
            before = figures[OCCURRENCES]
            _record_violations(histories, lists, tally, _count_owners(histories, lists, tally, taken), k)
            spent += figures[OCCURRENCES] - before
        else:
            spent += _split(histories, lists, tally, taken, depth)
    return True


@jit
def _split(histories: Histories, lists: Lists, tally: Tally, taken: int, depth: int) -> int:
    """Split one list by the next term that joins, and put the new lists on the level above."""
    still_missing = len(lists.levels) - depth - 1  # terms that must join after this one: lower ids of the row
    n_touched = 0
    for place in range(lists.bounds[taken], lists.bounds[taken + 1]):
        for at in range(histories.indptr[lists.rows[place]] + still_missing, lists.ends[place]):
            term = histories.ids[at]
            if tally.cells[term, NUMBER] == 0:
                tally.touched[n_touched] = term
                n_touched += 1
            tally.cells[term, NUMBER] += 1
    steps = _open_level(lists, tally, n_touched, depth)
    for place in range(lists.bounds[taken], lists.bounds[taken + 1]):
        row = lists.rows[place]
        for at in range(histories.indptr[row] + still_missing, lists.ends[place]):
            term = histories.ids[at]
            target = tally.cells[term, NUMBER]
            lists.rows[target] = row
            lists.ends[target] = at
            tally.cells[term, NUMBER] += 1
    for index in range(n_touched):
        tally.cells[tally.touched[index], NUMBER] = 0
    return steps


@jit
def _open_level(lists: Lists, tally: Tally, n_touched: int, depth: int) -> int:
    """Lay out one list per touched term, leave each list's start in the term's cell, return the total length."""
    first = lists.levels[depth, LAST] + 1
    start = lists.bounds[lists.levels[depth, LAST]]
    filled = start
    for index in range(n_touched):
        term = tally.touched[index]
        lists.bounds[first + index] = filled
        filled += tally.cells[term, NUMBER]
        tally.cells[term, NUMBER] = lists.bounds[first + index]
    lists.bounds[first + n_touched] = filled
    lists.levels[depth + 1, NEXT] = first
    lists.levels[depth + 1, LAST] = first + n_touched
    tally.figures[DEPTH] = depth + 1
    return int(filled - start)


@jit
def _count_owners(histories: Histories, lists: Lists, tally: Tally, taken: int) -> int:
    """Count the owners of every combination that one last term completes; return how many there are."""
    begin, n_touched, occurrences = lists.bounds[taken], 0, 0
    stamp = tally.figures[OWNERS_SEEN]
    for place in range(begin, lists.bounds[taken + 1]):
        row = lists.rows[place]
        # A new stamp for each owner of each list: what a cell holds from earlier lists can never look current.
        if place == begin or histories.owner[row] != histories.owner[lists.rows[place - 1]]:
            stamp += 1
        for at in range(histories.indptr[row], lists.ends[place]):
            term = histories.ids[at]
            if tally.cells[term, STAMP] != stamp:
                if tally.cells[term, NUMBER] == 0:
                    tally.touched[n_touched] = term
                    n_touched += 1
                tally.cells[term, STAMP] = stamp
                tally.cells[term, NUMBER] += 1
        occurrences += lists.ends[place] - histories.indptr[row]
    tally.figures[OWNERS_SEEN] = stamp
    tally.figures[OCCURRENCES] += occurrences
    return n_touched


@jit
def _record_violations(histories: Histories, lists: Lists, tally: Tally, n_touched: int, k: int) -> None:
    """Note the combinations just counted that too few owners hold, and clear their cells."""
    figures = tally.figures
    figures[COMBINATIONS] += n_touched
    for index in range(n_touched):
        term = tally.touched[index]
        support = tally.cells[term, NUMBER]
        tally.cells[term, NUMBER] = 0
        if support >= k:
            continue
        figures[VIOLATIONS] += 1
        if support <= figures[LOWEST]:
            _rank_terms(histories, lists, tally, term)
            if support < figures[LOWEST] or _comes_first(tally.worst):
                figures[LOWEST] = support
                tally.worst[0] = tally.worst[1]


@jit
def _rank_terms(histories: Histories, lists: Lists, tally: Tally, last_term: int) -> None:
    """Write the ranks of the combination at hand, ascending, into the second row of `worst`."""
    ranks = tally.worst[1]
    ranks[0] = histories.rank[last_term]
    for depth in range(1, len(ranks)):
        taken = lists.levels[depth, NEXT] - 1
        rank = histories.rank[histories.ids[lists.ends[lists.bounds[taken]]]]
        slot = depth
        while slot > 0 and ranks[slot - 1] > rank:
            ranks[slot] = ranks[slot - 1]
            slot -= 1
        ranks[slot] = rank


@jit
def _comes_first(worst: NDArray[np.int32]) -> bool:
    """Say whether the combination at hand stands before the worst so far, in the order of the texts."""
    for place in range(worst.shape[1]):
        if worst[1, place] != worst[0, place]:
            return bool(worst[1, place] < worst[0, place])
    return False
