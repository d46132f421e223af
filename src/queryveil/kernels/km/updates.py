"""Update supports incrementally when terms of a history are deleted or reinserted.

The module also holds the data of Algorithm 1: the log, the deletion rule, and scratch space for one history.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import MARKED, ONE, TermPairs, Tree, children, make_term_pairs

RANDOM, FIS, UTILITY = 0, 1, 2


class Log(NamedTuple):
    """The log that terms are deleted from; `kept` and the times change."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    owner: NDArray[np.int32]
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    kept: NDArray[np.bool_]  # (pairs,)
    checked: NDArray[np.int64]  # (histories,): when the history was last checked
    drop_as_rarest: NDArray[np.int64]  # (terms,): when a combination of which it is the rarest became infrequent last
    drop_as_other: NDArray[np.int64]  # (terms,): when one of which it is another term did


class Rule(NamedTuple):
    """k, m and how the term to delete is chosen."""

    k: int
    m: int
    target: int
    utility: NDArray[np.float64]  # (terms,), for UTILITY
    degree: NDArray[np.int64]  # (5, terms): frequent combinations of each size a term is in, for FIS
    random: NDArray[np.uint64]  # (1,): the state of splitmix64, for RANDOM and random ties
    has_random_ties: bool  # which of equally useful terms is deleted: a random one, else the one of the largest id


class Scratch(NamedTuple):
    """Scratch space for the terms of one history, allocated once."""

    current: NDArray[np.int32]  # the terms when its turn comes, ascending
    where: NDArray[np.int64]  # where each stands in the log
    is_deleted: NDArray[np.bool_]  # which of them have been deleted since; on reinsertion, the term to reinsert
    rarest: NDArray[np.bool_]  # which of them can be the rarest of a combination to test
    common: NDArray[np.bool_]  # which of them can be another term of it
    pairs: TermPairs
    triples: NDArray[np.uint64]  # (candidates, candidates, words): bit c of (a, b): positions a < b < c are frequent
    frequent: NDArray[np.uint64]  # (n, words): bit b of row c: positions b < c are a frequent pair; for updates
    candidates: NDArray[np.int32]  # terms that can be in a larger combination to test
    candidate_at: NDArray[np.int64]  # the position of each of those in `current`
    indices: NDArray[np.int64]  # (4,): positions in `candidates` of the combination tested, ascending
    combination: NDArray[np.int32]  # (4,): the terms of the combination whose support is lowered, the rarest first
    rest: NDArray[np.int32]  # terms still kept, for target `fis`
    is_rest_deleted: NDArray[np.bool_]
    position_of: NDArray[np.int32]  # (terms,): the position of a current term, -1 elsewhere
    positions: NDArray[np.int32]  # (3, longest): children found, per size
    nodes: NDArray[np.int64]  # (3, longest)


def make_scratch(longest: int, n_terms: int, m: int) -> Scratch:
    """Return scratch space for histories of up to `longest` terms; for m up to 2 no triples are marked."""
    marked = min(longest, MARKED) if m > 2 else 0
    return Scratch(
        current=np.empty(longest, np.int32),
        where=np.empty(longest, np.int64),
        is_deleted=np.zeros(longest, np.bool_),
        rarest=np.zeros(longest, np.bool_),
        common=np.zeros(longest, np.bool_),
        pairs=make_term_pairs(longest),
        triples=np.empty(marked * marked * ((marked + 63) >> 6), np.uint64),
        frequent=np.empty(longest * ((longest + 63) >> 6) if m > 2 else 0, np.uint64),
        candidates=np.empty(longest, np.int32),
        candidate_at=np.empty(longest, np.int64),
        indices=np.zeros(4, np.int64),
        combination=np.zeros(4, np.int32),
        rest=np.empty(longest, np.int32),
        is_rest_deleted=np.zeros(longest, np.bool_),
        position_of=np.full(n_terms, -1, np.int32),
        positions=np.empty((3, longest), np.int32),
        nodes=np.empty((3, longest), np.int64),
    )


@jit
def _keeps(log: Log, h: int, t: int) -> bool:
    """Return whether a history keeps a term."""
    low, high = log.indptr[h], log.indptr[h + 1]
    while low < high:
        middle = (low + high) >> 1
        if log.ids[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low < log.indptr[h + 1] and log.ids[low] == t and log.kept[low]


@jit
def _keeps_all(log: Log, h: int, terms: NDArray[np.int32], n: int) -> bool:
    for i in range(n):
        if not _keeps(log, h, terms[i]):
            return False
    return True


@jit
def is_elsewhere(log: Log, h: int, terms: NDArray[np.int32], n: int) -> bool:
    """Return whether another history of the same person keeps all of these terms."""
    person = log.owner[h]
    for g in range(log.first[person], log.first[person + 1]):
        if g != h and _keeps_all(log, g, terms, n):
            return True
    return False


@jit
def _record_infrequent(
    drop_as_rarest: NDArray[np.int64],
    drop_as_other: NDArray[np.int64],
    degree: NDArray[np.int64],
    now: int,
    terms: NDArray[np.int32],
    n: int,
) -> None:
    """Record that a combination, its rarest term first, has just become infrequent; only `fis` needs degrees."""
    drop_as_rarest[terms[0]] = now
    for i in range(1, n):
        drop_as_other[terms[i]] = now
    if n > 1 and degree.shape[1] > 0:
        for i in range(n):
            degree[n, terms[i]] -= 1


@jit
def update(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    h: int,
    current: NDArray[np.int32],
    n: int,
    is_changed: NDArray[np.bool_],
    by: int,
    is_listed: bool,
    scratch: Scratch,
) -> None:
    """Change by `by` the supports of all combinations of the `current` terms with a term that is deleted or reinserted.

    `is_listed` says that `scratch.pairs` already lists the pairs of the terms.
    """
    # Bind tuple fields to locals before the loops: each access would cost an update of reference counts.
    position_of, combination = scratch.position_of, scratch.combination
    positions2, positions3, positions4 = scratch.positions[0], scratch.positions[1], scratch.positions[2]
    nodes2, nodes3, nodes4 = scratch.nodes[0], scratch.nodes[1], scratch.nodes[2]
    frequent, words = scratch.frequent, (n + 63) >> 6
    first, second, node_of = scratch.pairs.first, scratch.pairs.second, scratch.pairs.node
    n_listed = scratch.pairs.size[0]
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    start4, term4, support4 = tree.start4, tree.term4, tree.support4
    drop_as_rarest, drop_as_other, degree, now = log.drop_as_rarest, log.drop_as_other, rule.degree, log.checked[h]
    m = rule.m
    infrequent_at = rule.k - 1 if by < 0 else -1  # a support that rises makes nothing infrequent
    # A combination with an infrequent pair stays infrequent and needs no count, unless `fis` needs its degrees.
    min_support = 0 if rule.target == FIS else rule.k
    for i in range(n):
        position_of[current[i]] = i
    first_changed = 0
    while not is_changed[first_changed]:
        first_changed += 1
    person = log.owner[h]
    has_several = log.first[person + 1] - log.first[person] > 1
    for i in range(n * words if m > 2 else 0):
        frequent[i] = np.uint64(0) if i >= first_changed * words else ~np.uint64(0)
    listed = 0  # pairs are listed by their rarer term
    for c in range(first_changed, n):
        combination[0] = current[c]
        if is_changed[c] and not (has_several and is_elsewhere(log, h, combination, 1)):
            support1[current[c]] += by
            if support1[current[c]] == infrequent_at:
                _record_infrequent(drop_as_rarest, drop_as_other, degree, now, combination, 1)
        if m < 2:
            continue
        n2 = 0
        if is_listed:
            while listed < n_listed and second[listed] <= c:
                if second[listed] == c:
                    positions2[n2], nodes2[n2] = first[listed], node_of[listed]
                    n2 += 1
                listed += 1
        else:
            n2 = children(start2, term2, current[c], current, c, position_of, positions2, nodes2)
        n_frequent = 0
        for i in range(n2):
            b, node2 = positions2[i], nodes2[i]
            if support2[node2] < min_support:
                continue
            combination[1] = current[b]
            if (is_changed[c] or is_changed[b]) and not (has_several and is_elsewhere(log, h, combination, 2)):
                support2[node2] += by
                if support2[node2] == infrequent_at:
                    _record_infrequent(drop_as_rarest, drop_as_other, degree, now, combination, 2)
            if m > 2 and support2[node2] >= min_support:
                frequent[c * words + (b >> 6)] |= ONE << np.uint64(b & 63)
                positions2[n_frequent], nodes2[n_frequent] = b, node2
                n_frequent += 1
        for i in range(n_frequent):
            b, node2 = positions2[i], nodes2[i]
            changed2 = is_changed[c] or is_changed[b]
            with_both = np.uint64(0)
            for word in range((b >> 6) + 1):
                with_both |= frequent[c * words + word] & frequent[b * words + word]
            if with_both == 0 or not (changed2 or first_changed < b):
                continue
            combination[1] = current[b]
            n3 = children(start3, term3, node2, current, b, position_of, positions3, nodes3)
            for j in range(n3):
                a, node3 = positions3[j], nodes3[j]
                word, bit = a >> 6, ONE << np.uint64(a & 63)
                if not frequent[c * words + word] & frequent[b * words + word] & bit:
                    continue
                combination[2] = current[a]
                changed3 = changed2 or is_changed[a]
                if changed3 and not (has_several and is_elsewhere(log, h, combination, 3)):
                    support3[node3] += by
                    if support3[node3] == infrequent_at:
                        _record_infrequent(drop_as_rarest, drop_as_other, degree, now, combination, 3)
                if m < 4:
                    continue
                n4 = children(start4, term4, node3, current, a, position_of, positions4, nodes4)
                for x in range(n4):
                    if changed3 or is_changed[positions4[x]]:
                        combination[3] = current[positions4[x]]
                        if not (has_several and is_elsewhere(log, h, combination, 4)):
                            support4[nodes4[x]] += by
                            if support4[nodes4[x]] == infrequent_at:
                                _record_infrequent(drop_as_rarest, drop_as_other, degree, now, combination, 4)
    for i in range(n):
        position_of[current[i]] = -1
