"""The kernel of the verifier of inference: of the owners of a combination, how many have a sensitive term besides.

Lists of candidates are split as by the verifier of (k,m)-anonymity (`kernels.verify`), but to the end: every
combination has a list of the rows that hold it. So its owners, and those of them who have each sensitive term, are
counted at once.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.verify import (
    DEPTH,
    LAST,
    NEXT,
    NUMBER,
    OWNERS_SEEN,
    STAMP,
    VISITED,
    Candidates,
    Histories,
    OwnerCounts,
    split_list,
)

COMBINATIONS, VIOLATIONS, HAVING, HOLDING = 2, 4, 5, 6  # positions in the figures, with those of `kernels.verify`
N_FIGURES = 7  # HAVING of HOLDING owners have the sensitive term of the worst violation so far


@jit
def visit_crowds(
    histories: Histories,
    sensitive: NDArray[np.bool_],  # (terms,)
    lists: Candidates,  # one level more than the combinations have terms
    counts: OwnerCounts,  # `worst` has a column more than the combinations have terms: the sensitive term
    numerator: int,
    denominator: int,
    budget: int,
) -> bool:
    """Continue the depth-first enumeration for about `budget` steps; return whether it is finished."""
    levels, figures = lists.levels, counts.figures
    size = len(levels) - 1
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
        if depth < size:
            spent += split_list(histories, lists, counts, list_index, depth, size - depth - 1)
            continue
        before = counts.figures[OWNERS_SEEN]
        n_touched, work = _count_sensitive(histories, sensitive, lists, counts, list_index)
        _record_shares(histories, lists, counts, n_touched, figures[OWNERS_SEEN] - before, numerator, denominator)
        spent += work
    return True


@jit
def _count_sensitive(
    histories: Histories, sensitive: NDArray[np.bool_], lists: Candidates, counts: OwnerCounts, list_index: int
) -> tuple[int, int]:
    """Count the owners of a list, and those with each sensitive term; return how many terms these are, and the work."""
    begin, n_touched, work = lists.bounds[list_index], 0, 0
    stamp = counts.figures[OWNERS_SEEN]
    for position in range(begin, lists.bounds[list_index + 1]):
        row = lists.rows[position]
        if position == begin or histories.owner[row] != histories.owner[lists.rows[position - 1]]:
            stamp += 1
        for at in range(histories.indptr[row], histories.indptr[row + 1]):
            term = histories.ids[at]
            if sensitive[term] and counts.cells[term, STAMP] != stamp:
                if counts.cells[term, NUMBER] == 0:
                    counts.touched[n_touched] = term
                    n_touched += 1
                counts.cells[term, STAMP] = stamp
                counts.cells[term, NUMBER] += 1
        work += histories.indptr[row + 1] - histories.indptr[row]
    counts.figures[OWNERS_SEEN] = stamp
    counts.figures[VISITED] += lists.bounds[list_index + 1] - begin
    counts.figures[COMBINATIONS] += 1
    return n_touched, work


@jit
def _record_shares(
    histories: Histories,
    lists: Candidates,
    counts: OwnerCounts,
    n_touched: int,
    holding: int,
    numerator: int,
    denominator: int,
) -> None:
    """Record the sensitive terms just counted that too large a share of the owners have, and clear their cells."""
    figures = counts.figures
    for index in range(n_touched):
        term = counts.touched[index]
        having = counts.cells[term, NUMBER]
        counts.cells[term, NUMBER] = 0
        if having * denominator <= numerator * holding or _is_chosen(histories, lists, term):
            continue
        figures[VIOLATIONS] += 1
        difference = having * figures[HOLDING] - figures[HAVING] * holding
        if difference >= 0:
            _rank_chosen(histories, lists, counts, term)
            if difference > 0 or _is_first(counts.worst):
                figures[HAVING], figures[HOLDING] = having, holding
                counts.worst[0] = counts.worst[1]


@jit
def _chosen_term(histories: Histories, lists: Candidates, depth: int) -> int:
    """Return the term that was chosen at a depth of the current combination."""
    list_index = lists.levels[depth, NEXT] - 1
    return int(histories.ids[lists.ends[lists.bounds[list_index]]])


@jit
def _is_chosen(histories: Histories, lists: Candidates, term: int) -> bool:
    for depth in range(1, len(lists.levels)):
        if _chosen_term(histories, lists, depth) == term:
            return True
    return False


@jit
def _rank_chosen(histories: Histories, lists: Candidates, counts: OwnerCounts, sensitive_term: int) -> None:
    """Write the ranks of the combination, ascending, and then of the sensitive term, into the second row of `worst`."""
    ranks = counts.worst[1]
    for depth in range(1, len(lists.levels)):
        rank = histories.rank[_chosen_term(histories, lists, depth)]
        slot = depth - 1
        while slot > 0 and ranks[slot - 1] > rank:
            ranks[slot] = ranks[slot - 1]
            slot -= 1
        ranks[slot] = rank
    ranks[len(lists.levels) - 1] = histories.rank[sensitive_term]


@jit
def _is_first(worst: NDArray[np.int32]) -> bool:
    """Return whether the current violation sorts before the worst so far, in the order of the texts."""
    for position in range(worst.shape[1]):
        if worst[1, position] != worst[0, position]:
            return bool(worst[1, position] < worst[0, position])
    return False
