"""Improve a log that is anonymous for combinations of two: reselect the kept terms of a history.

A history may keep any of its terms that are pairwise held by at least k people now, and must keep both
terms of a pair that just k people hold. The term with most conflicts for its gain is excluded until no two conflict;
the new selection is applied if it gains more than the present one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.growth import GrowingLog
from queryveil.kernels.km.supports import (
    LISTED,
    TermPairs,
    Tree,
    list_pairs,
    make_term_pairs,
)


class SelectionScratch(NamedTuple):
    """Scratch space for the terms of one history, allocated once."""

    current: NDArray[np.int32]
    where: NDArray[np.int64]
    is_kept: NDArray[np.bool_]  # in the present selection
    is_required: NDArray[np.bool_]  # must be in every selection
    is_excluded: NDArray[np.bool_]  # from the new selection
    n_conflicts: NDArray[np.int64]
    conflicts_with: NDArray[np.bool_]  # (LISTED, LISTED)
    all_false: NDArray[np.bool_]
    all_true: NDArray[np.bool_]
    position_of: NDArray[np.int32]  # (terms,): -1 between calls
    pairs: TermPairs


@jit
def _load_candidates(
    log: GrowingLog, ids: NDArray[np.int32], pair_of: NDArray[np.int64], h: int, k: int, s: SelectionScratch
) -> tuple[int, int]:
    """Load the terms that a history may keep; return how many there are and how many it keeps now."""
    current, where, is_kept, kept, support1 = s.current, s.where, s.is_kept, log.kept, log.support1
    n = n_kept = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        t = ids[i]
        if t < len(support1) and support1[t] >= k:
            current[n], where[n], is_kept[n] = t, pair_of[i], kept[pair_of[i]]
            n_kept += is_kept[n]
            n += 1
    return n, n_kept


@jit
def _find_conflicts(
    support1: NDArray[np.int32], support2: NDArray[np.int32], k: int, n: int, s: SelectionScratch
) -> bool:
    """Mark pairs that may not be kept and terms that must be; return whether any kept term may be deleted."""
    conflicts_with, is_required, is_kept, current = s.conflicts_with, s.is_required, s.is_kept, s.current
    first, second, node = s.pairs.first, s.pairs.second, s.pairs.node
    for i in range(n):
        conflicts_with[i, :n] = True
        conflicts_with[i, i] = False
        is_required[i] = is_kept[i] and support1[current[i]] <= k
    for pair in range(s.pairs.size[0]):
        i, j, support = first[pair], second[pair], support2[node[pair]]
        if support >= k:
            conflicts_with[i, j] = conflicts_with[j, i] = False
            if support == k and is_kept[i] and is_kept[j]:
                is_required[i] = is_required[j] = True
    for i in range(n):
        if is_kept[i] and not is_required[i]:
            return True
    return False


@jit
def _choose_terms(gain: NDArray[np.float64], n: int, s: SelectionScratch) -> float:
    """Exclude terms until no two conflict, then include those without conflicts again; return the change of gain."""
    conflicts_with, n_conflicts, where = s.conflicts_with, s.n_conflicts, s.where
    is_required, is_kept, is_excluded = s.is_required, s.is_kept, s.is_excluded
    for i in range(n):
        is_excluded[i] = False
        for j in range(n):
            if is_required[j] and conflicts_with[i, j]:
                is_excluded[i] = True
    for i in range(n):
        n_conflicts[i] = 0
        for j in range(n):
            n_conflicts[i] += conflicts_with[i, j] and not is_excluded[j]
    while True:
        worst, most = -1, 0.0
        for i in range(n):
            if not is_excluded[i] and not is_required[i] and n_conflicts[i] and n_conflicts[i] >= most * gain[where[i]]:
                worst = i
                most = n_conflicts[i] / gain[where[i]] if gain[where[i]] > 0 else np.inf
        if worst < 0:
            break
        is_excluded[worst] = True
        for i in range(n):
            n_conflicts[i] -= conflicts_with[worst, i]
    change = 0.0
    for i in range(n):
        if is_excluded[i]:
            has_conflict = gain[where[i]] < 0
            for j in range(n):
                has_conflict |= conflicts_with[i, j] and not is_excluded[j]
            is_excluded[i] = has_conflict
        change += gain[where[i]] * (int(not is_excluded[i]) - int(is_kept[i]))
    return change


@jit
def _apply_selection(log: GrowingLog, support2: NDArray[np.int32], h: int, n: int, s: SelectionScratch) -> None:
    """Apply the new selection to a history and update the supports."""
    current, where, is_kept, is_excluded = s.current, s.where, s.is_kept, s.is_excluded
    first, second, node = s.pairs.first, s.pairs.second, s.pairs.node
    kept_terms, pair_at, kept, support1 = log.kept_terms, log.pair_at, log.kept, log.support1
    for pair in range(s.pairs.size[0]):
        i, j = first[pair], second[pair]
        support2[node[pair]] += int(not is_excluded[i] and not is_excluded[j]) - int(is_kept[i] and is_kept[j])
    end = log.indptr[h]
    for i in range(n):
        support1[current[i]] += int(not is_excluded[i]) - int(is_kept[i])
        kept[where[i]] = not is_excluded[i]
        if not is_excluded[i]:
            kept_terms[end], pair_at[end] = current[i], where[i]
            end += 1
    log.size[h] = end - log.indptr[h]


@jit
def reselect(
    log: GrowingLog,
    tree: Tree,
    ids: NDArray[np.int32],
    pair_of: NDArray[np.int64],
    k: int,
    gain: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    budget: int,
    is_dropped: NDArray[np.bool_],
    s: SelectionScratch,
) -> int:
    """Reselect the terms of the histories of the order, from `first` on, until the budget of work is used up.

    `pair_of` maps each place of the log to its pair in the order by term, -1 for terms that are not considered.
    Histories of people who have several, and very long ones, do not change. `is_dropped` marks the terms that a
    changed history does not keep. Return the next position in the order.
    """
    work = 0
    turn = first
    while turn < len(order) and work < budget:
        h = order[turn]
        turn += 1
        work += 10
        person = log.owner[h]
        length = log.indptr[h + 1] - log.indptr[h]
        is_all_or_nothing = log.size[h] == 0 or log.size[h] == length
        if is_all_or_nothing or length > LISTED or log.first[person + 1] - log.first[person] > 1:
            continue
        n, n_kept = _load_candidates(log, ids, pair_of, h, k, s)
        if n == n_kept:
            continue
        work += n * n + list_pairs(tree, k, s.current, n, s.all_false, s.all_true, s.position_of, s.pairs)
        if _find_conflicts(log.support1, tree.support2, k, n, s) and _choose_terms(gain, n, s) > 0:
            _apply_selection(log, tree.support2, h, n, s)
            for i in range(log.indptr[h], log.indptr[h + 1]):
                if ids[i] < len(is_dropped) and not log.kept[pair_of[i]]:
                    is_dropped[ids[i]] = True
    return turn


def make_selection_scratch(longest: int, n_terms: int) -> SelectionScratch:
    """Return scratch space for histories of up to `longest` terms."""
    n = min(longest, LISTED)
    return SelectionScratch(
        current=np.empty(n, np.int32),
        where=np.empty(n, np.int64),
        is_kept=np.empty(n, np.bool_),
        is_required=np.empty(n, np.bool_),
        is_excluded=np.empty(n, np.bool_),
        n_conflicts=np.empty(n, np.int64),
        conflicts_with=np.empty((n, n), np.bool_),
        all_false=np.zeros(n, np.bool_),
        all_true=np.ones(n, np.bool_),
        position_of=np.full(n_terms, -1, np.int32),
        pairs=make_term_pairs(n),
    )
