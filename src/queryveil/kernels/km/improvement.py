"""Reselecting, history by history, which terms to keep of an anonymous log, for combinations of two.

A history may keep any of its terms that are pairwise held by at least k people now, and must keep a term of a pair that
just k people hold. Of the conflicting terms the one goes that has most conflicts for its gain, until there is none;
the new choice is taken if it gains more than what is kept now.

Putting terms back into the histories of an anonymous log, for combinations of up to four.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.growth import Grown
from queryveil.kernels.km.supports import LISTED, Pairs, Tree, children, find_pairs, make_pairs
from queryveil.kernels.km.updates import Log, Rule, Scratch, update


class SelectionScratch(NamedTuple):
    """Scratch space for the terms of one history, allocated once."""

    current: NDArray[np.int32]
    where: NDArray[np.int64]
    was: NDArray[np.bool_]  # kept now
    must: NDArray[np.bool_]  # has to stay
    out: NDArray[np.bool_]  # not chosen
    conflicts: NDArray[np.int64]
    clash: NDArray[np.bool_]  # (LISTED, LISTED)
    nothing: NDArray[np.bool_]
    everything: NDArray[np.bool_]
    place_of: NDArray[np.int32]  # (terms,): -1 in between
    pairs: Pairs


@jit
def _candidates(
    log: Grown, ids: NDArray[np.int32], pair_of: NDArray[np.int64], h: int, k: int, s: SelectionScratch
) -> tuple[int, int]:
    """Write down the terms that a history may keep; return how many there are and how many it keeps."""
    current, where, was, kept, support1 = s.current, s.where, s.was, log.kept, log.support1
    n = n_kept = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        t = ids[i]
        if t < len(support1) and support1[t] >= k:
            current[n], where[n], was[n] = t, pair_of[i], kept[pair_of[i]]
            n_kept += was[n]
            n += 1
    return n, n_kept


@jit
def _find_clashes(
    support1: NDArray[np.int32], support2: NDArray[np.int32], k: int, n: int, s: SelectionScratch
) -> bool:
    """Mark the pairs that may not be kept and the terms that must be; say whether any kept term may go."""
    clash, must, was, current = s.clash, s.must, s.was, s.current
    first, second, node = s.pairs.first, s.pairs.second, s.pairs.node
    for i in range(n):
        clash[i, :n] = True
        clash[i, i] = False
        must[i] = was[i] and support1[current[i]] <= k
    for pair in range(s.pairs.size[0]):
        i, j, support = first[pair], second[pair], support2[node[pair]]
        if support >= k:
            clash[i, j] = clash[j, i] = False
            if support == k and was[i] and was[j]:
                must[i] = must[j] = True
    for i in range(n):
        if was[i] and not must[i]:
            return True
    return False


@jit
def _choose(gain: NDArray[np.float64], n: int, s: SelectionScratch) -> float:
    """Leave terms out until no two clash, then take back those that clash with none; return the change of gain."""
    clash, must, was, out, conflicts, where = s.clash, s.must, s.was, s.out, s.conflicts, s.where
    for i in range(n):
        out[i] = False
        for j in range(n):
            if must[j] and clash[i, j]:
                out[i] = True
    for i in range(n):
        conflicts[i] = 0
        for j in range(n):
            conflicts[i] += clash[i, j] and not out[j]
    while True:
        worst, most = -1, 0.0
        for i in range(n):
            if not out[i] and not must[i] and conflicts[i] and conflicts[i] >= most * gain[where[i]]:
                worst = i
                most = conflicts[i] / gain[where[i]] if gain[where[i]] > 0 else np.inf
        if worst < 0:
            break
        out[worst] = True
        for i in range(n):
            conflicts[i] -= clash[worst, i]
    change = 0.0
    for i in range(n):
        if out[i]:
            has_conflict = gain[where[i]] < 0
            for j in range(n):
                has_conflict |= clash[i, j] and not out[j]
            out[i] = has_conflict
        change += gain[where[i]] * (int(not out[i]) - int(was[i]))
    return change


@jit
def _take(log: Grown, support2: NDArray[np.int32], h: int, n: int, s: SelectionScratch) -> None:
    """Keep the new choice of a history."""
    current, where, was, out = s.current, s.where, s.was, s.out
    first, second, node = s.pairs.first, s.pairs.second, s.pairs.node
    row, at, kept, support1 = log.row, log.at, log.kept, log.support1
    for pair in range(s.pairs.size[0]):
        i, j = first[pair], second[pair]
        support2[node[pair]] += int(not out[i] and not out[j]) - int(was[i] and was[j])
    end = log.indptr[h]
    for i in range(n):
        support1[current[i]] += int(not out[i]) - int(was[i])
        kept[where[i]] = not out[i]
        if not out[i]:
            row[end], at[end] = current[i], where[i]
            end += 1
    log.size[h] = end - log.indptr[h]


@jit
def reselect(
    log: Grown,
    tree: Tree,
    ids: NDArray[np.int32],
    pair_of: NDArray[np.int64],
    k: int,
    gain: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    budget: int,
    dropped: NDArray[np.bool_],
    s: SelectionScratch,
) -> int:
    """Reselect the terms of the histories of the order, from `first` on, until the budget of work is used up.

    `pair_of` maps each place of the log to its pair of term and history, -1 for terms that are not considered.
    Histories of people who have several, and very long ones, stay as they are. `dropped` marks the terms that a changed
    history does not keep. Return the next place in the order.
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
        n, n_kept = _candidates(log, ids, pair_of, h, k, s)
        if n == n_kept:
            continue
        work += n * n + find_pairs(tree, k, s.current, n, s.nothing, s.everything, s.place_of, s.pairs)
        if _find_clashes(log.support1, tree.support2, k, n, s) and _choose(gain, n, s) > 0:
            _take(log, tree.support2, h, n, s)
            for i in range(log.indptr[h], log.indptr[h + 1]):
                if ids[i] < len(dropped) and not log.kept[pair_of[i]]:
                    dropped[ids[i]] = True
    return turn


def make_selection_scratch(longest: int, n_terms: int) -> SelectionScratch:
    """Return scratch space for histories of up to `longest` terms."""
    n = min(longest, LISTED)
    return SelectionScratch(
        current=np.empty(n, np.int32),
        where=np.empty(n, np.int64),
        was=np.empty(n, np.bool_),
        must=np.empty(n, np.bool_),
        out=np.empty(n, np.bool_),
        conflicts=np.empty(n, np.int64),
        clash=np.empty((n, n), np.bool_),
        nothing=np.zeros(n, np.bool_),
        everything=np.ones(n, np.bool_),
        place_of=np.full(n_terms, -1, np.int32),
        pairs=make_pairs(n),
    )


@jit
def _n_frequent_with(
    tree: Tree, k: int, m: int, current: NDArray[np.int32], n: int, place: int, scratch: Scratch
) -> int:
    """Count the frequent combinations of two to m of the current terms that hold the one at a place."""
    place_of = scratch.place_of
    places2, places3, places4 = scratch.places[0], scratch.places[1], scratch.places[2]
    nodes2, nodes3, nodes4 = scratch.nodes[0], scratch.nodes[1], scratch.nodes[2]
    for i in range(n):
        place_of[current[i]] = i
    found = 0
    for c in range(place, n):
        n2 = children(tree.start2, tree.term2, current[c], current, c, place_of, places2, nodes2)
        for i in range(n2):
            b = places2[i]
            if b < place < c or tree.support2[nodes2[i]] < k:
                continue  # the tree goes down: the place cannot come any more
            found += b == place or c == place
            if m < 3:
                continue
            n3 = children(tree.start3, tree.term3, nodes2[i], current, b, place_of, places3, nodes3)
            for j in range(n3):
                a = places3[j]
                if (a < place < b) or tree.support3[nodes3[j]] < k:
                    continue
                found += a == place or b == place or c == place
                if m < 4:
                    continue
                n4 = children(tree.start4, tree.term4, nodes3[j], current, a, place_of, places4, nodes4)
                for x in range(n4):
                    holds = a == place or b == place or c == place or places4[x] == place
                    found += holds and tree.support4[nodes4[x]] >= k
    for i in range(n):
        place_of[current[i]] = -1
    return found


@jit
def _put_back_into(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], gain: NDArray[np.float64], h: int, s: Scratch
) -> None:
    """Put terms back into a history, those of most gain first, where no combination would be infrequent."""
    begin, end = log.indptr[h], log.indptr[h + 1]
    for i in begin + np.argsort(-gain[begin:end]):
        if log.alive[i] or gain[i] < 0 or support1[log.ids[i]] < rule.k:
            continue
        n, place = 0, -1
        for j in range(begin, end):
            if log.alive[j] or j == i:
                s.current[n], s.gone[n] = log.ids[j], j == i
                place = n if j == i else place
                n += 1
        others = n - 1
        needed = others
        if rule.m > 2:
            needed += others * (others - 1) // 2
        if rule.m > 3:
            needed += others * (others - 1) * (others - 2) // 6
        if _n_frequent_with(tree, rule.k, rule.m, s.current, n, place, s) == needed:
            update(log, tree, rule, support1, h, s.current, n, s.gone, 1, False, s)
            log.alive[i] = True


@jit
def put_back(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    gain: NDArray[np.float64],
    first: int,
    budget: int,
    scratch: Scratch,
) -> int:
    """Put terms back into the histories from `first` on until the budget of work is used up.

    In an anonymous log a combination is held by nobody or by k people, so one more does no harm. Return the next
    history.
    """
    work = 0
    h = first
    while h < len(log.indptr) - 1 and work < budget:
        length = log.indptr[h + 1] - log.indptr[h]
        work += 10 + length * length * length
        _put_back_into(log, tree, rule, support1, gain, h, scratch)
        h += 1
    return h
