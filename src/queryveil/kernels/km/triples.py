"""Algorithm 1 for m = 3: who holds two pairs of terms is found by intersecting sets of bits, and no triple is stored.

Every frequent pair has the histories that hold it as bits, numbered among those of its rarer term. A triple is held
by those who hold both pairs that its rarest term forms with the other two. So to delete a term from a history is to
lower the supports of its pairs and to clear their bits; most triples are never looked at.

The order of deletions is that of `deletion`. The first pass does not look for triples that become infrequent, since the
second looks at every history anyway.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.deletion import select_deletion
from queryveil.kernels.km.supports import LISTED, ONE, Postings, Tree, find_node, lowest
from queryveil.kernels.km.updates import Log, Rule, Scratch, is_elsewhere


class Holders(NamedTuple):
    """The histories that hold each frequent pair, as bits: bit r is the r-th history that has its rarer term at all."""

    rank: NDArray[np.int32]  # (pairs of the log,): of each history among those of the term
    words: NDArray[np.int64]  # (terms,): words of each row of bits with the term as the rarer one
    first: NDArray[np.int64]  # (terms,): the bits of node i of term t begin at first[t] + i · words[t]
    bits: NDArray[np.uint64]
    start: NDArray[np.int64]  # (terms + 1,): the histories with term t are those from start[t] to start[t + 1] − 1
    owner: NDArray[np.int32]  # (pairs of frequent terms,): the owners of these
    has_one_each: bool  # every owner has one history


@jit
def find_holders(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    kept: NDArray[np.bool_],
    owner: NDArray[np.int32],
    has_one_each: bool,
    tree: Tree,
    terms: Postings,
) -> Holders:
    """Return which histories keep both terms of each pair of the tree; `terms` are the postings of all terms."""
    start, history, position = terms
    start2, term2 = tree.start2, tree.term2
    n_terms = len(start) - 1
    rank, words, first = np.empty(len(ids), np.int32), np.empty(n_terms, np.int64), np.empty(n_terms, np.int64)
    room = 0
    for t in range(n_terms):
        words[t] = (start[t + 1] - start[t] + 63) >> 6
        first[t] = room - start2[t] * words[t]
        room += (start2[t + 1] - start2[t]) * words[t]
    bits, row_with = np.zeros(room, np.uint64), np.full(n_terms, -1, np.int64)
    for t in range(n_terms):
        for node in range(start2[t], start2[t + 1]):
            row_with[term2[node]] = first[t] + node * words[t]
        for q in range(start[t], start[t + 1]):
            at, r = position[q], q - start[t]
            rank[at] = r
            word, bit = r >> 6, ONE << np.uint64(r & 63)
            for i in range(indptr[history[q]] if kept[at] and start2[t] < start2[t + 1] else at, at):
                if row_with[ids[i]] >= 0 and kept[i]:
                    bits[row_with[ids[i]] + word] |= bit
        for node in range(start2[t], start2[t + 1]):
            row_with[term2[node]] = -1
    return Holders(rank, words, first, bits, start, owner[history], has_one_each)


@jit
def count_holders_of_all(
    bits: NDArray[np.uint64],
    one: int,
    other: int,
    third: int,
    words: int,
    limit: int,
    owner: NDArray[np.int32],
    first_owner: int,
    has_one_each: bool,
) -> int:
    """Return how many owners are in all three rows of bits, of which two may be the same, counted up to a limit."""
    n, last = 0, -1
    for word in range(words):
        both = bits[one + word] & bits[other + word] & bits[third + word]
        while both:
            if not has_one_each:
                person = owner[first_owner + (word << 6) + lowest(both)]
                n -= person == last
                last = person
            both &= both - ONE
            n += 1
            if n == limit:
                return n
    return n


@jit
def _load_terms(log: Log, k: int, support1: NDArray[np.int32], h: int, s: Scratch) -> tuple[int, int]:
    """Load the terms of a history and mark the infrequent ones as deleted; return how many there are of both."""
    ids, kept, drop_as_rarest, drop_as_other = log.ids, log.kept, log.drop_as_rarest, log.drop_as_other
    current, where, is_deleted, rarest, common = s.current, s.where, s.is_deleted, s.rarest, s.common
    previous, needs_check, n, n_deleted = log.checked[h], False, 0, 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if kept[i]:
            t = ids[i]
            current[n], where[n], is_deleted[n] = t, i, support1[t] < k
            rarest[n], common[n] = drop_as_rarest[t] > previous, drop_as_other[t] > previous
            needs_check |= rarest[n]
            n_deleted += is_deleted[n]
            n += 1
    return (n, n_deleted) if needs_check else (0, 0)


@jit
def find_nodes(tree: Tree, k: int, n: int, finds_all: bool, s: Scratch) -> NDArray[np.int64]:
    """Return the nodes of the frequent pairs of a history, −1 for others; pair i < j is at j·(j − 1)/2 + i.

    Unless all are found, only those whose rarer term has to be tested.
    """
    start, term, support = tree.start2, tree.term2, tree.support2
    current, position_of, rarest = s.current, s.position_of, s.rarest
    node_of = s.pairs.node if n <= LISTED else np.empty(n * (n - 1) >> 1, np.int64)
    for j in range(n):
        position_of[current[j]] = j
        if not rarest[j] and not finds_all:
            continue
        row, low, high = j * (j - 1) >> 1, start[current[j]], start[current[j] + 1]
        for i in range(j):
            node_of[row + i] = -1
        # Either the children are looked up among the terms or the terms among the children, whichever costs less.
        if high - low <= 20 * j:
            for node in range(low, high):
                i = position_of[term[node]]
                if i >= 0 and support[node] >= k:
                    node_of[row + i] = node
        else:
            for i in range(j):
                node = find_node(term, low, high, current[i])
                if node >= 0 and support[node] >= k:
                    node_of[row + i] = node
    for j in range(n):
        position_of[current[j]] = -1
    return node_of


@jit
def _delete_infrequent_pairs(
    rule: Rule, support1: NDArray[np.int32], node_of: NDArray[np.int64], n: int, s: Scratch
) -> int:
    """Mark a term of every infrequent pair as deleted, pairs in lexicographic order; return how many."""
    current, is_deleted, rarest, common, indices = s.current, s.is_deleted, s.rarest, s.common, s.indices
    n_deleted = 0
    for i in range(n):
        if not common[i]:
            continue
        for j in range(i + 1, n):
            if is_deleted[i]:
                break
            if rarest[j] and not is_deleted[j] and node_of[(j * (j - 1) >> 1) + i] < 0:
                indices[0], indices[1] = i, j
                is_deleted[select_deletion(rule, support1, current, indices, 2)] = True
                n_deleted += 1
    return n_deleted


@jit
def _delete_infrequent_triples(
    rule: Rule, support1: NDArray[np.int32], holders: Holders, node_of: NDArray[np.int64], n: int, s: Scratch
) -> tuple[int, int]:
    """Mark a term of every infrequent triple as deleted, in lexicographic order; return how many and the work done."""
    current, is_deleted, rarest, common, indices = s.current, s.is_deleted, s.rarest, s.common, s.indices
    at, k = s.candidate_at, rule.k
    words, first, bits = holders.words, holders.first, holders.bits
    owner, start, has_one_each = holders.owner, holders.start, holders.has_one_each
    n_left = n_deleted = work = 0
    for i in range(n):
        if not is_deleted[i] and (rarest[i] or common[i]):
            at[n_left] = i
            n_left += 1
    for x in range(n_left):
        a = at[x]
        for y in range(x + 1, n_left if common[a] else 0):
            b = at[y]
            if is_deleted[a]:
                break
            for z in range(y + 1, n_left if common[b] else 0):
                c = at[z]
                if is_deleted[a] or is_deleted[b]:
                    break
                if is_deleted[c] or not rarest[c]:
                    continue
                t, row = current[c], c * (c - 1) >> 1
                one, other = first[t] + node_of[row + a] * words[t], first[t] + node_of[row + b] * words[t]
                if count_holders_of_all(bits, one, other, other, words[t], k, owner, start[t], has_one_each) < k:
                    indices[0], indices[1], indices[2] = a, b, c
                    is_deleted[select_deletion(rule, support1, current, indices, 3)] = True
                    n_deleted += 1
            work += n_left - y
    return n_deleted, work


@jit
def _lower_supports(
    log: Log,
    support2: NDArray[np.int32],
    k: int,
    support1: NDArray[np.int32],
    holders: Holders,
    node_of: NDArray[np.int64],
    h: int,
    n: int,
    now: int,
    s: Scratch,
) -> None:
    """Delete the marked terms from a history: lower the supports of them and of their pairs, and clear the bits."""
    current, where, is_deleted, terms = s.current, s.where, s.is_deleted, s.combination
    drop_as_rarest, drop_as_other = log.drop_as_rarest, log.drop_as_other
    rank, words, first, bits = holders.rank, holders.words, holders.first, holders.bits
    has_one_each = holders.has_one_each
    for j in range(n):
        terms[0] = current[j]
        if is_deleted[j]:
            log.kept[where[j]] = False
            if has_one_each or not is_elsewhere(log, h, terms, 1):
                support1[current[j]] -= 1
                if support1[current[j]] == k - 1:
                    drop_as_rarest[current[j]] = now
        t, row = current[j], j * (j - 1) >> 1
        word, bit = rank[where[j]] >> 6, ONE << np.uint64(rank[where[j]] & 63)
        for i in range(j):
            node = node_of[row + i]
            if node < 0 or not (is_deleted[i] or is_deleted[j]):
                continue
            terms[1] = current[i]
            if has_one_each or not is_elsewhere(log, h, terms, 2):
                support2[node] -= 1
            if support2[node] >= k:  # the bits of others are not looked at
                bits[first[t] + node * words[t] + word] &= ~bit
            elif support2[node] == k - 1:
                drop_as_rarest[t], drop_as_other[current[i]] = now, now


@jit
def _record_infrequent_triples(
    log: Log,
    support2: NDArray[np.int32],
    k: int,
    holders: Holders,
    node_of: NDArray[np.int64],
    n: int,
    now: int,
    s: Scratch,
) -> None:
    """Record the time for the triples of frequent pairs that the deletion of the marked terms made infrequent."""
    current, is_deleted = s.current, s.is_deleted
    words, first, bits = holders.words, holders.first, holders.bits
    owner, start, has_one_each = holders.owner, holders.start, holders.has_one_each
    for c in range(n):
        t, row = current[c], c * (c - 1) >> 1
        for b in range(c):
            one, row_b = node_of[row + b], b * (b - 1) >> 1
            if one < 0 or support2[one] < k:
                continue
            for a in range(b):
                if not (is_deleted[a] or is_deleted[b] or is_deleted[c]):
                    continue
                other, both = node_of[row + a], node_of[row_b + a]
                if other < 0 or both < 0 or support2[other] < k or support2[both] < k:
                    continue
                rows = first[t] + one * words[t], first[t] + other * words[t]
                if (
                    count_holders_of_all(bits, rows[0], rows[1], rows[1], words[t], k, owner, start[t], has_one_each)
                    == k - 1
                ):
                    log.drop_as_rarest[t] = now
                    log.drop_as_other[current[b]] = log.drop_as_other[current[a]] = now


@jit
def delete_triples(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    history: int,
    now: int,
    budget: int,
    s: Scratch,
    holders: Holders,
    is_first_pass: bool,
) -> tuple[int, int, int]:
    """Delete infrequent terms, pairs and triples in the histories from one on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    n_deleted = work = 0
    h = history
    while h < len(log.checked) and work < budget:
        n, n_now = _load_terms(log, rule.k, support1, h, s)
        work += 10 + log.indptr[h + 1] - log.indptr[h]
        if n:
            now += 1
            node_of = find_nodes(tree, rule.k, n, is_first_pass, s)
            n_now += _delete_infrequent_pairs(rule, support1, node_of, n, s)
            n_more, more_work = _delete_infrequent_triples(rule, support1, holders, node_of, n, s)
            n_now += n_more
            work += n * n + more_work
            if n_now and not is_first_pass:
                node_of = find_nodes(tree, rule.k, n, True, s)
            if n_now:
                _lower_supports(log, tree.support2, rule.k, support1, holders, node_of, h, n, now, s)
            if n_now and not is_first_pass:
                _record_infrequent_triples(log, tree.support2, rule.k, holders, node_of, n, now, s)
            if not is_first_pass:
                log.checked[h] = now
        n_deleted += n_now
        h += 1
    return h, now, n_deleted
