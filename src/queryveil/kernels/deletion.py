"""Algorithm 1 of Burghardt et al. 2010: deleting terms from histories until no combination is infrequent.

Two observations make it fast without changing a single deletion of the reference order:

* Deleting a term from a history changes only supports of combinations that hold it, and this history skips those
  from then on. So all supports may be updated once, when the history is done (not for target `fis`, whose choice
  looks at supports: there it happens at once).
* A history that was clean stays clean until one of its combinations falls below k. Every term carries the time of the
  last fall of a combination that holds it; a history needs to look again only at combinations all of whose terms
  carry a time after its own last check.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.supports import Tree

RANDOM, FIS, UTILITY = 0, 1, 2


class Log(NamedTuple):
    """The log that is worked on; `alive` and the times change."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    owner: NDArray[np.int32]
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    alive: NDArray[np.bool_]  # (pairs,)
    checked: NDArray[np.int64]  # (histories,): when the history was last checked
    fell: NDArray[np.int64]  # (terms,): when a combination that holds the term last fell below k


class Rule(NamedTuple):
    """k, m and how the term to delete is chosen."""

    k: int
    m: int
    target: int
    utility: NDArray[np.float64]  # (terms,), for UTILITY
    degree: NDArray[np.int64]  # (5, terms): frequent combinations of each size a term is in, for FIS
    random: NDArray[np.uint64]  # (1,): the state of splitmix64, for RANDOM


@jit
def _find(start: NDArray[np.int64], term: NDArray[np.int32], parent: int, t: int) -> int:
    """Return the node of child t of a parent, or -1."""
    low, high = start[parent], start[parent + 1]
    while low < high:
        middle = (low + high) >> 1
        if term[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low if low < start[parent + 1] and term[low] == t else -1


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
def _lower(
    log: Log, rule: Rule, h: int, support: NDArray[np.int32], node: int, terms: NDArray[np.int32], n: int
) -> None:
    """Take one person from the support of a combination that history h no longer holds."""
    if _held_elsewhere(log, h, terms, n):
        return
    support[node] -= 1
    if support[node] == rule.k - 1:
        for i in range(n):
            log.fell[terms[i]] = log.checked[h]
            if rule.target == FIS and n > 1:
                rule.degree[n, terms[i]] -= 1


@jit
def _update(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, current: NDArray[np.int32], n: int,
    gone: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Lower the supports of all combinations of the `current` terms that hold one that is gone."""
    combination = np.empty(4, np.int32)
    for c in range(n):
        combination[0] = current[c]
        if gone[c]:
            _lower(log, rule, h, support1, current[c], combination, 1)
        if rule.m < 2:
            continue
        for b in range(c):
            if rule.m == 2 and not (gone[c] or gone[b]):
                continue
            node2 = _find(tree.start2, tree.term2, current[c], current[b])
            if node2 < 0:
                continue
            combination[1] = current[b]
            if gone[c] or gone[b]:
                _lower(log, rule, h, tree.support2, node2, combination, 2)
            if rule.m < 3 or tree.start3[node2] == tree.start3[node2 + 1]:
                continue
            for a in range(b):
                if rule.m == 3 and not (gone[c] or gone[b] or gone[a]):
                    continue
                node3 = _find(tree.start3, tree.term3, node2, current[a])
                if node3 < 0:
                    continue
                combination[2] = current[a]
                if gone[c] or gone[b] or gone[a]:
                    _lower(log, rule, h, tree.support3, node3, combination, 3)
                if rule.m < 4 or tree.start4[node3] == tree.start4[node3 + 1]:
                    continue
                for z in range(a):
                    if not (gone[c] or gone[b] or gone[a] or gone[z]):
                        continue
                    node4 = _find(tree.start4, tree.term4, node3, current[z])
                    if node4 >= 0:
                        combination[3] = current[z]
                        _lower(log, rule, h, tree.support4, node4, combination, 4)


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
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, current: NDArray[np.int32], n: int,
    where: NDArray[np.int64], gone: NDArray[np.bool_], scratch: NDArray[np.int32], place: int,
) -> None:  # fmt: skip
    """Delete one term; for target `fis` the supports of what is still there are updated at once."""
    log.alive[where[place]] = False
    if rule.target == FIS:
        n_left = 0
        only = np.zeros(n, np.bool_)
        for i in range(n):
            if i == place or not gone[i]:
                scratch[n_left] = current[i]
                only[n_left] = i == place
                n_left += 1
        _update(log, tree, rule, support1, h, scratch, n_left, only)
    gone[place] = True


@jit
def _frequent(
    tree: Tree, k: int, support1: NDArray[np.int32], nodes: NDArray[np.int64], current: NDArray[np.int32],
    places: NDArray[np.int64], size: int,
) -> bool:  # fmt: skip
    """Say whether a combination has support ≥ k; from size 3 on `nodes[i, j]` is the node of places i < j."""
    if size == 1:
        return support1[current[places[0]]] >= k
    if size == 2:
        node = _find(tree.start2, tree.term2, current[places[1]], current[places[0]])
        return node >= 0 and tree.support2[node] >= k
    node = nodes[places[size - 2], places[size - 1]]
    node = _find(tree.start3, tree.term3, node, current[places[size - 3]]) if node >= 0 else -1
    if size == 3:
        return node >= 0 and tree.support3[node] >= k
    node = _find(tree.start4, tree.term4, node, current[places[0]]) if node >= 0 else -1
    return node >= 0 and tree.support4[node] >= k


@jit
def _advance(places: NDArray[np.int64], size: int, n: int, from_: int) -> bool:
    """Move to the next combination in lexicographic order that differs at `from_` or before; False at the end."""
    i = from_
    while i >= 0:
        if places[i] + (size - i) < n:
            places[i] += 1
            for j in range(i + 1, size):
                places[j] = places[j - 1] + 1
            return True
        i -= 1
    return False


@jit
def _clean(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, now: int,
    current: NDArray[np.int32], where: NDArray[np.int64], scratch: NDArray[np.int32],
) -> tuple[int, int]:  # fmt: skip
    """Delete terms of one history until all its combinations are frequent; return the work done and how many went."""
    n = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if log.alive[i]:
            current[n] = log.ids[i]
            where[n] = i
            n += 1
    before = log.checked[h]
    log.checked[h] = now
    gone = np.zeros(n, np.bool_)
    places = np.zeros(4, np.int64)
    work = n
    n_gone = 0
    left = np.empty(n, np.int32)  # terms to look at when a size begins, and where they stand in `current`
    at = np.empty(n, np.int64)
    for size in range(1, rule.m + 1):
        n_left = 0
        for i in range(n):
            if not gone[i] and log.fell[current[i]] > before:
                left[n_left], at[n_left] = current[i], i
                n_left += 1
        if n_left < size:
            break
        nodes = np.empty((1, 1), np.int64)
        if size > 2:
            nodes = np.empty((n_left, n_left), np.int64)
            for j in range(n_left):
                for i in range(j):
                    nodes[i, j] = _find(tree.start2, tree.term2, left[j], left[i])
        for i in range(size):
            places[i] = i
        more = True
        while more:
            work += 1
            skip = -1  # the first place whose term is gone
            for i in range(size):
                if gone[at[places[i]]]:
                    skip = i
                    break
            if skip >= 0:
                more = _advance(places, size, n_left, skip)
                continue
            if not _frequent(tree, rule.k, support1, nodes, left, places, size):
                victim = _victim(rule, support1, left, places, size)
                _delete(log, tree, rule, support1, h, current, n, where, gone, scratch, at[victim])
                n_gone += 1
                continue
            more = _advance(places, size, n_left, size - 1)
    if n_gone and rule.target != FIS:
        _update(log, tree, rule, support1, h, current, n, gone)
        work += n * n
    return work, n_gone


@jit
def _needs_check(log: Log, h: int) -> bool:
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if log.alive[i] and log.fell[log.ids[i]] > log.checked[h]:
            return True
    return False


@jit
def sweep(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], first: int, now: int, budget: int, longest: int
) -> tuple[int, int, int]:
    """Clean the histories from `first` on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    current, scratch = np.empty(longest, np.int32), np.empty(longest, np.int32)
    where = np.empty(longest, np.int64)
    n_gone = 0
    work = 0
    h = first
    while h < len(log.checked) and work < budget:
        work += log.indptr[h + 1] - log.indptr[h]
        if _needs_check(log, h):
            now += 1
            done, gone = _clean(log, tree, rule, support1, h, now, current, where, scratch)
            work += 20 + done
            n_gone += gone
        h += 1
    return h, now, n_gone


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
