"""Algorithm 1 of Burghardt et al. 2010: deleting terms from histories until no combination is infrequent.

Two observations make it fast without changing a single deletion of the reference order:

* Deleting a term from a history changes only supports of combinations that hold it, and this history skips those
  from then on. So all supports may be updated once, when the history is done (not for target `fis`, whose choice
  looks at supports: there it happens at once).
* A history that was clean stays clean until one of its combinations falls below k. Every term carries the time of the
  last fall of a combination of which it was the rarest term, and of one of which it was not; a history needs to look
  again only at combinations whose terms all carry such a time after its own last check.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.pairs import LISTED, ONE, Pairs, children, find, find_pairs, lowest, make_pairs
from queryveil.kernels.supports import Tree

RANDOM, FIS, UTILITY = 0, 1, 2
MARKED = 256  # terms of the longest history whose frequent triples are marked: bounds the room


class Log(NamedTuple):
    """The log that is worked on; `alive` and the times change."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    owner: NDArray[np.int32]
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    alive: NDArray[np.bool_]  # (pairs,)
    checked: NDArray[np.int64]  # (histories,): when the history was last checked
    fell: NDArray[np.int64]  # (terms,): when a combination whose rarest term it is last fell below k
    fell_with: NDArray[np.int64]  # (terms,): when one of which it is another term did


class Scratch(NamedTuple):
    """Room for the terms of one history, made once."""

    current: NDArray[np.int32]  # the terms when its turn comes, ascending
    where: NDArray[np.int64]  # where each stands in the log
    gone: NDArray[np.bool_]  # which of them have been deleted since
    rarest: NDArray[np.bool_]  # which of them can be the rarest of a combination to look at
    common: NDArray[np.bool_]  # which of them can be another term of it
    pairs: Pairs
    triples: NDArray[np.uint64]  # (MARKED, MARKED, words): bit c of row (a, b) says that places a < b < c are frequent
    left: NDArray[np.int32]  # terms to look at when a size above two begins
    at: NDArray[np.int64]  # where each of those stands in `current`
    chosen: NDArray[np.int64]  # (4,): places in `left` of the combination looked at, ascending
    combination: NDArray[np.int32]  # (4,): the terms of the combination whose support is lowered, the rarest first
    rest: NDArray[np.int32]  # terms still there, for target `fis`
    rest_gone: NDArray[np.bool_]
    place_of: NDArray[np.int32]  # (terms,): the place of a current term, -1 elsewhere
    places: NDArray[np.int32]  # (3, longest): children found, per size
    nodes: NDArray[np.int64]  # (3, longest)


class Rule(NamedTuple):
    """k, m and how the term to delete is chosen."""

    k: int
    m: int
    target: int
    utility: NDArray[np.float64]  # (terms,), for UTILITY
    degree: NDArray[np.int64]  # (5, terms): frequent combinations of each size a term is in, for FIS
    random: NDArray[np.uint64]  # (1,): the state of splitmix64, for RANDOM


@jit
def _has(log: Log, h: int, t: int) -> bool:
    """Say whether a history holds a term now."""
    low, high = log.indptr[h], log.indptr[h + 1]
    while low < high:
        middle = (low + high) >> 1
        if log.ids[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low < log.indptr[h + 1] and log.ids[low] == t and log.alive[low]


@jit
def _has_all(log: Log, h: int, terms: NDArray[np.int32], n: int) -> bool:
    for i in range(n):
        if not _has(log, h, terms[i]):
            return False
    return True


@jit
def _held_elsewhere(log: Log, h: int, terms: NDArray[np.int32], n: int) -> bool:
    """Say whether another history of the same person holds all of these terms."""
    person = log.owner[h]
    for g in range(log.first[person], log.first[person + 1]):
        if g != h and _has_all(log, g, terms, n):
            return True
    return False


@jit
def _fall(
    fell: NDArray[np.int64], fell_with: NDArray[np.int64], degree: NDArray[np.int64], now: int,
    terms: NDArray[np.int32], n: int,
) -> None:  # fmt: skip
    """Note that a combination, its rarest term first, has just become infrequent; degrees are kept for `fis` only."""
    fell[terms[0]] = now
    for i in range(1, n):
        fell_with[terms[i]] = now
    if n > 1 and degree.shape[1] > 0:
        for i in range(n):
            degree[n, terms[i]] -= 1


@jit
def _update(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, current: NDArray[np.int32], n: int,
    gone: NDArray[np.bool_], by: int, is_listed: bool, scratch: Scratch,
) -> None:  # fmt: skip
    """Change the supports of all combinations of the `current` terms that hold one that is gone, or that comes back.

    The pairs of the terms may be listed already.
    """
    # Parts of tuples are taken out before the loops: each time costs the counting of references.
    place_of, combination = scratch.place_of, scratch.combination
    places2, places3, places4 = scratch.places[0], scratch.places[1], scratch.places[2]
    nodes2, nodes3, nodes4 = scratch.nodes[0], scratch.nodes[1], scratch.nodes[2]
    first, second, node_of, n_listed = (
        scratch.pairs.first,
        scratch.pairs.second,
        scratch.pairs.node,
        scratch.pairs.size[0],
    )
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    start4, term4, support4 = tree.start4, tree.term4, tree.support4
    fell, fell_with, degree, now = log.fell, log.fell_with, rule.degree, log.checked[h]
    m = rule.m
    fallen = rule.k - 1 if by < 0 else -1  # nothing falls by rising
    # What holds an infrequent pair is infrequent for good and needs no count, unless degrees are kept of it.
    least = 0 if rule.target == FIS else rule.k
    for i in range(n):
        place_of[current[i]] = i
    first_gone = 0
    while not gone[first_gone]:
        first_gone += 1
    person = log.owner[h]
    several = log.first[person + 1] - log.first[person] > 1
    listed = 0  # pairs are listed by their rarer term
    for c in range(first_gone, n):
        combination[0] = current[c]
        if gone[c] and not (several and _held_elsewhere(log, h, combination, 1)):
            support1[current[c]] += by
            if support1[current[c]] == fallen:
                _fall(fell, fell_with, degree, now, combination, 1)
        if m < 2:
            continue
        n2 = 0
        if is_listed:
            while listed < n_listed and second[listed] <= c:
                if second[listed] == c:
                    places2[n2], nodes2[n2] = first[listed], node_of[listed]
                    n2 += 1
                listed += 1
        else:
            n2 = children(start2, term2, current[c], current, c, place_of, places2, nodes2)
        for i in range(n2):
            b, node2 = places2[i], nodes2[i]
            if support2[node2] < least:
                continue
            combination[1] = current[b]
            gone2 = gone[c] or gone[b]
            if gone2 and not (several and _held_elsewhere(log, h, combination, 2)):
                support2[node2] += by
                if support2[node2] == fallen:
                    _fall(fell, fell_with, degree, now, combination, 2)
            if m < 3 or not (gone2 or first_gone < b):
                continue
            n3 = children(start3, term3, node2, current, b, place_of, places3, nodes3)
            for j in range(n3):
                a, node3 = places3[j], nodes3[j]
                combination[2] = current[a]
                gone3 = gone2 or gone[a]
                if gone3 and not (several and _held_elsewhere(log, h, combination, 3)):
                    support3[node3] += by
                    if support3[node3] == fallen:
                        _fall(fell, fell_with, degree, now, combination, 3)
                if m < 4:
                    continue
                n4 = children(start4, term4, node3, current, a, place_of, places4, nodes4)
                for x in range(n4):
                    if gone3 or gone[places4[x]]:
                        combination[3] = current[places4[x]]
                        if not (several and _held_elsewhere(log, h, combination, 4)):
                            support4[nodes4[x]] += by
                            if support4[nodes4[x]] == fallen:
                                _fall(fell, fell_with, degree, now, combination, 4)
    for i in range(n):
        place_of[current[i]] = -1


@jit
def _draw(rule: Rule, n: int) -> int:
    """Return a number below n from splitmix64."""
    rule.random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rule.random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(n))


@jit
def _is_worse(rule: Rule, support1: NDArray[np.int32], t: int, other: int) -> bool:
    """Say whether term t, of larger id, goes before the other one: at equal figures it does."""
    if rule.target == UTILITY:
        return rule.utility[t] <= rule.utility[other]
    for size in range(rule.m, 1, -1):
        if rule.degree[size, t] != rule.degree[size, other]:
            return rule.degree[size, t] < rule.degree[size, other]
    return support1[t] <= support1[other]


@jit
def _victim(
    rule: Rule, support1: NDArray[np.int32], current: NDArray[np.int32], places: NDArray[np.int64], n: int
) -> int:
    """Return the place of the term of a combination (places ascending) that goes."""
    if rule.target == RANDOM:
        return places[_draw(rule, n)] if n > 1 else places[0]
    worst = places[0]
    for i in range(1, n):
        if _is_worse(rule, support1, current[places[i]], current[worst]):
            worst = places[i]
    return worst


@jit
def _delete(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, place: int
) -> None:
    """Delete one term; for target `fis` the supports of what is still there are updated at once."""
    log.alive[s.where[place]] = False
    if rule.target == FIS:
        n_rest = 0
        for i in range(n):
            if i == place or not s.gone[i]:
                s.rest[n_rest], s.rest_gone[n_rest] = s.current[i], i == place
                n_rest += 1
        _update(log, tree, rule, support1, h, s.rest, n_rest, s.rest_gone, -1, False, s)
    s.gone[place] = True


@jit
def _clean_terms(log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch) -> int:
    """Delete single terms that are infrequent; return how many went."""
    current, k = s.current, rule.k
    n_gone = 0
    for i in range(n):
        if support1[current[i]] < k:
            _delete(log, tree, rule, support1, h, n, s, i)
            n_gone += 1
    return n_gone


@jit
def _clean_pairs(log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch) -> int:
    """Delete a term of every infrequent pair, pairs in lexicographic order; return how many went.

    Every infrequent pair that is come upon costs a term; the others are stepped over a word of bits at a time.
    """
    alive, utility = log.alive, rule.utility
    current, where, gone, common, chosen = s.current, s.where, s.gone, s.common, s.chosen
    good, rarer, words = s.pairs.good, s.pairs.rarer, (n + 63) >> 6
    n_gone = 0
    for i in range(n):
        if gone[i] or not common[i]:
            continue
        above = ~(ONE << np.uint64(i & 63)) & (~np.uint64(0) << np.uint64(i & 63))
        for word in range(i >> 6, words):
            bits = rarer[word] & ~good[i * words + word] & above
            above = ~np.uint64(0)
            while bits and not gone[i]:
                j = (word << 6) + lowest(bits)
                bits &= bits - ONE
                if rule.target == UTILITY:  # by far the most common; the calls would cost more than the work
                    victim = j if utility[current[j]] <= utility[current[i]] else i
                    gone[victim] = True
                    alive[where[victim]] = False
                else:
                    chosen[0], chosen[1] = i, j
                    victim = _victim(rule, support1, current, chosen, 2)
                    _delete(log, tree, rule, support1, h, n, s, victim)
                if victim == j:
                    rarer[word] ^= ONE << np.uint64(j & 63)
                n_gone += 1
    return n_gone


@jit
def _lower_pair(
    support2: NDArray[np.int32], fell: NDArray[np.int64], fell_with: NDArray[np.int64], now: int, k: int,
    node: int, rarer: int, other: int,
) -> None:  # fmt: skip
    """Lower the support of a pair of terms by one, noting when it becomes infrequent."""
    support2[node] -= 1
    if support2[node] == k - 1:
        fell[rarer] = now
        fell_with[other] = now


@jit
def _update_pairs(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, is_listed: bool
) -> None:
    """Do what `_update` does, for m = 2 and a person of one history: faster, as pairs are listed or few."""
    current, gone = s.current, s.gone
    first, second, node_of, size = s.pairs.first, s.pairs.second, s.pairs.node, s.pairs.size[0]
    start, term, support2 = tree.start2, tree.term2, tree.support2
    fell, fell_with, now, k = log.fell, log.fell_with, log.checked[h], rule.k
    for g in range(n):
        t = current[g]
        if not gone[g]:
            continue
        support1[t] -= 1
        if support1[t] == k - 1:
            fell[t] = now
        if is_listed:
            continue
        for i in range(g):
            node = find(term, start[t], start[t + 1], current[i])
            if node >= 0:
                _lower_pair(support2, fell, fell_with, now, k, node, t, current[i])
        for j in range(g + 1, n):
            node = -1 if gone[j] else find(term, start[current[j]], start[current[j] + 1], t)
            if node >= 0:
                _lower_pair(support2, fell, fell_with, now, k, node, current[j], t)
    for pair in range(size if is_listed else 0):
        i, j = first[pair], second[pair]
        if gone[i] or gone[j]:
            _lower_pair(support2, fell, fell_with, now, k, node_of[pair], current[j], current[i])


@jit
def _leave_over(n: int, s: Scratch) -> int:
    """Write down the terms that larger combinations are looked at with; return how many there are."""
    current, gone, rarest, common, left, at = s.current, s.gone, s.rarest, s.common, s.left, s.at
    n_left = 0
    for i in range(n):
        if not gone[i] and (rarest[i] or common[i]):
            left[n_left], at[n_left] = current[i], i
            n_left += 1
    return n_left


@jit
def _find_triples(tree: Tree, k: int, n_left: int, s: Scratch) -> int:
    """Mark the frequent triples of the terms left over that have a rarest term to look at; return the work done."""
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    left, at, rarest, common, good, rarer, place_of = (
        s.left,
        s.at,
        s.rarest,
        s.common,
        s.triples,
        s.pairs.rarer,
        s.place_of,
    )
    places2, nodes2, places3, nodes3 = s.places[0], s.nodes[0], s.places[1], s.nodes[1]
    words = (n_left + 63) >> 6
    good[: n_left * n_left * words] = np.uint64(0)
    rarer[:words] = np.uint64(0)
    work = n_left * n_left * words
    for c in range(n_left):
        place_of[left[c]] = c
    for c in range(n_left):
        if not rarest[at[c]]:
            continue
        word, bit = c >> 6, ONE << np.uint64(c & 63)
        rarer[word] |= bit
        n2 = children(start2, term2, left[c], left, c, place_of, places2, nodes2)
        for i in range(n2):
            b, node = places2[i], nodes2[i]
            if support2[node] < k or not common[at[b]]:
                continue
            n3 = children(start3, term3, node, left, b, place_of, places3, nodes3)
            work += b
            for j in range(n3):
                if support3[nodes3[j]] >= k:
                    good[(places3[j] * n_left + b) * words + word] |= bit
    for c in range(n_left):
        place_of[left[c]] = -1
    return work


@jit
def _clean_triples(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, n_left: int, s: Scratch
) -> int:
    """Delete a term of every infrequent triple that was not marked, in lexicographic order; return how many went."""
    at, gone, common, chosen, good, rarer = s.at, s.gone, s.common, s.chosen, s.triples, s.pairs.rarer
    words = (n_left + 63) >> 6
    n_gone = 0
    for a in range(n_left):
        for b in range(a + 1, n_left):
            if gone[at[a]] or not common[at[a]]:
                break
            above = ~(ONE << np.uint64(b & 63)) & (~np.uint64(0) << np.uint64(b & 63))
            for word in range(b >> 6, words):
                bits = rarer[word] & ~good[(a * n_left + b) * words + word] & above
                above = ~np.uint64(0)
                if not common[at[b]]:
                    break
                while bits and not (gone[at[a]] or gone[at[b]]):
                    c = (word << 6) + lowest(bits)
                    bits &= bits - ONE
                    chosen[0], chosen[1], chosen[2] = a, b, c
                    victim = _victim(rule, support1, s.left, chosen, 3)
                    _delete(log, tree, rule, support1, h, n, s, at[victim])
                    rarer[victim >> 6] &= ~(ONE << np.uint64(victim & 63))
                    n_gone += 1
    return n_gone


@jit
def _is_frequent(tree: Tree, k: int, pair_nodes: NDArray[np.int64], s: Scratch, size: int) -> bool:
    """Say whether the chosen combination of three or four terms has support ≥ k."""
    node = pair_nodes[s.chosen[size - 2], s.chosen[size - 1]]
    if node < 0:
        return False
    node = find(tree.term3, tree.start3[node], tree.start3[node + 1], s.left[s.chosen[size - 3]])
    if size == 3 or node < 0:
        return node >= 0 and tree.support3[node] >= k
    node = find(tree.term4, tree.start4[node], tree.start4[node + 1], s.left[s.chosen[0]])
    return node >= 0 and tree.support4[node] >= k


@jit
def _advance(chosen: NDArray[np.int64], size: int, n: int, last: int) -> bool:
    """Move to the next combination in lexicographic order that differs at place `last` or before; False at the end."""
    i = last
    while i >= 0:
        if chosen[i] + (size - i) < n:
            chosen[i] += 1
            for j in range(i + 1, size):
                chosen[j] = chosen[j - 1] + 1
            return True
        i -= 1
    return False


@jit
def _first_unfit(s: Scratch, size: int) -> int:
    """Return the first place of the chosen combination whose term is gone or need not be looked at, or -1."""
    for i in range(size):
        place = s.at[s.chosen[i]]
        if s.gone[place] or not (s.rarest[place] if i == size - 1 else s.common[place]):
            return i
    return -1


@jit
def _clean_larger(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, size: int
) -> tuple[int, int]:
    """Delete a term of every infrequent combination of three or four; return how many went and were looked at."""
    n_left = _leave_over(n, s)
    if n_left < size:
        return 0, 0
    if size == 3 and n_left <= MARKED:
        work = _find_triples(tree, rule.k, n_left, s)
        return _clean_triples(log, tree, rule, support1, h, n, n_left, s), work
    pair_nodes = np.empty((n_left, n_left), np.int64)
    for j in range(n_left):
        for i in range(j):
            pair_nodes[i, j] = find(tree.term2, tree.start2[s.left[j]], tree.start2[s.left[j] + 1], s.left[i])
    for i in range(size):
        s.chosen[i] = i
    n_gone, work = 0, n_left * n_left
    more = True
    while more:
        work += 1
        skip = _first_unfit(s, size)
        if skip >= 0:
            more = _advance(s.chosen, size, n_left, skip)
        elif _is_frequent(tree, rule.k, pair_nodes, s, size):
            more = _advance(s.chosen, size, n_left, size - 1)
        else:
            victim = _victim(rule, support1, s.left, s.chosen, size)
            _delete(log, tree, rule, support1, h, n, s, s.at[victim])
            n_gone += 1
    return n_gone, work


@jit
def _look_at(log: Log, h: int, now: int, s: Scratch) -> int:
    """Write down the terms of a history and which are to be looked at; return how many there are."""
    ids, alive, fell, fell_with = log.ids, log.alive, log.fell, log.fell_with
    current, where, gone, rarest, common = s.current, s.where, s.gone, s.rarest, s.common
    before = log.checked[h]
    n = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if alive[i]:
            t = ids[i]
            current[n], where[n], gone[n] = t, i, False
            rarest[n], common[n] = fell[t] > before, fell_with[t] > before
            n += 1
    log.checked[h] = now
    return n


@jit
def _clean(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, now: int, s: Scratch
) -> tuple[int, int]:
    """Delete terms of one history until all its combinations are frequent; return how many went and the work done."""
    is_first_time = log.checked[h] < 0
    n = _look_at(log, h, now, s)
    n_gone = _clean_terms(log, tree, rule, support1, h, n, s)
    work = n
    if rule.m > 1:
        work += find_pairs(tree, rule.k, s.current, n, s.gone, s.rarest, s.place_of, s.pairs)
        n_gone += _clean_pairs(log, tree, rule, support1, h, n, s)
    for size in range(3, rule.m + 1):
        more, looked_at = _clean_larger(log, tree, rule, support1, h, n, s, size)
        n_gone += more
        work += looked_at
    if n_gone and rule.target != FIS:
        person = log.owner[h]
        is_listed = is_first_time and rule.m > 1 and n <= LISTED
        if rule.m == 2 and log.first[person + 1] - log.first[person] == 1:
            _update_pairs(log, tree, rule, support1, h, n, s, is_listed)
        else:
            _update(log, tree, rule, support1, h, s.current, n, s.gone, -1, is_listed, s)
        work += n * n
    return n_gone, work


@jit
def _needs_check(log: Log, h: int) -> bool:
    ids, alive, fell, checked = log.ids, log.alive, log.fell, log.checked[h]
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if alive[i] and fell[ids[i]] > checked:
            return True
    return False


@jit
def sweep(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], first: int, now: int, budget: int, scratch: Scratch
) -> tuple[int, int, int]:
    """Clean the histories from `first` on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    n_gone = 0
    work = 0
    h = first
    while h < len(log.checked) and work < budget:
        work += log.indptr[h + 1] - log.indptr[h]
        if _needs_check(log, h):
            now += 1
            gone, done = _clean(log, tree, rule, support1, h, now, scratch)
            n_gone += gone
            work += 20 + done
        h += 1
    return h, now, n_gone


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
) -> int:
    """Put terms back into a history, those of most gain first, where no combination would be infrequent."""
    begin, end = log.indptr[h], log.indptr[h + 1]
    n_back = 0
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
            _update(log, tree, rule, support1, h, s.current, n, s.gone, 1, False, s)
            log.alive[i] = True
            n_back += 1
    return n_back


@jit
def put_back(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], gain: NDArray[np.float64], first: int, budget: int,
    scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Put terms back into the histories from `first` on until the budget of work is used up.

    In an anonymous log a combination is held by nobody or by k people, so one more does no harm. Return the next
    history and how many pairs came back.
    """
    n_back = work = 0
    h = first
    while h < len(log.indptr) - 1 and work < budget:
        length = log.indptr[h + 1] - log.indptr[h]
        work += 10 + length * length * length
        n_back += _put_back_into(log, tree, rule, support1, gain, h, scratch)
        h += 1
    return h, n_back


@jit
def degrees(tree: Tree, m: int, n_terms: int) -> NDArray[np.int64]:
    """Count, for every size and term, the frequent combinations of that size the term is in."""
    degree = np.zeros((5, n_terms), np.int64)
    if m < 2:
        return degree
    for c in range(n_terms):
        for i in range(tree.start2[c], tree.start2[c + 1]):
            b = tree.term2[i]
            degree[2, c] += 1
            degree[2, b] += 1
            if m < 3:
                continue
            for j in range(tree.start3[i], tree.start3[i + 1]):
                a = tree.term3[j]
                degree[3, c] += 1
                degree[3, b] += 1
                degree[3, a] += 1
                if m < 4:
                    continue
                for x in range(tree.start4[j], tree.start4[j + 1]):
                    degree[4, c] += 1
                    degree[4, b] += 1
                    degree[4, a] += 1
                    degree[4, tree.term4[x]] += 1
    return degree


def make_scratch(longest: int, n_terms: int, m: int) -> Scratch:
    """Return room for histories of up to `longest` terms."""
    marked = min(longest, MARKED)
    return Scratch(
        current=np.empty(longest, np.int32),
        where=np.empty(longest, np.int64),
        gone=np.zeros(longest, np.bool_),
        rarest=np.zeros(longest, np.bool_),
        common=np.zeros(longest, np.bool_),
        pairs=make_pairs(longest),
        triples=np.empty(marked * marked * ((marked + 63) >> 6) if m > 2 else 0, np.uint64),
        left=np.empty(longest, np.int32),
        at=np.empty(longest, np.int64),
        chosen=np.zeros(4, np.int64),
        combination=np.zeros(4, np.int32),
        rest=np.empty(longest, np.int32),
        rest_gone=np.zeros(longest, np.bool_),
        place_of=np.full(n_terms, -1, np.int32),
        places=np.empty((3, longest), np.int32),
        nodes=np.empty((3, longest), np.int64),
    )
