"""Algorithm 1 for m = 2 where everybody has one history, by far the most common case; `deletion` has the others.

Where the pairs of short histories are in the tree is found beforehand, for all histories that hold a term together, so
that no pair is searched later; sets of terms of a short history are bits of a word. Pairs of long ones are looked up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.deletion import select_deletion
from queryveil.kernels.km.supports import LISTED, ONE, Postings, Tree, find_node, list_pairs, lowest
from queryveil.kernels.km.updates import UTILITY, Log, Rule, Scratch

SHORT = 32  # terms of the longest history whose pairs are found beforehand
PAIRS = 8_000_000  # most pairs that are: bounds the room


class ShortHistories(NamedTuple):
    """The kept terms and the pairs of short histories; terms are given by their positions in a history.

    Pair i < j of history h is node `node[first[h] + j·(j − 1)/2 + i]` of the tree; all infrequent pairs are one node,
    which comes after the others.
    """

    first: NDArray[np.int64]  # (histories,): -1 for those that are not here
    kept: NDArray[np.uint64]  # (histories,): bit i says that position i is kept
    length: NDArray[np.int64]  # (histories,): positions that are considered
    node: NDArray[np.int32]
    infrequent_with: NDArray[np.uint64]  # (SHORT,): scratch space: bit j of row i: positions i < j are infrequent


@jit
def find_pairs(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], tree: Tree, terms: Postings, max_pairs: int
) -> ShortHistories:
    """Find the nodes of the pairs of short histories, as many of these as have no more pairs than the maximum."""
    start, history, position = terms
    n_terms, infrequent, n = len(start) - 1, len(tree.term2), 0
    first, kept = np.full(len(indptr) - 1, -1, np.int64), np.zeros(len(indptr) - 1, np.uint64)
    lengths = np.zeros(len(first), np.int64)
    for h in range(len(first)):
        end = indptr[h]
        while end < indptr[h + 1] and ids[end] < n_terms:
            end += 1
        length = end - indptr[h]
        n_pairs = length * (length - 1) >> 1
        lengths[h] = length
        if length <= SHORT and n + n_pairs <= max_pairs:
            first[h], kept[h] = n, (ONE << np.uint64(length)) - ONE
            n += n_pairs
    node, node_with = np.full(n, infrequent, np.int32), np.full(n_terms, infrequent, np.int32)
    for t in range(n_terms):
        low, high = tree.start2[t], tree.start2[t + 1]
        for i in range(low, high):
            node_with[tree.term2[i]] = i
        for q in range(start[t], start[t + 1] if low < high else 0):
            h = history[q]
            j = position[q] - indptr[h]
            row = first[h] + (j * (j - 1) >> 1)
            for i in range(j if first[h] >= 0 else 0):
                node[row + i] = node_with[ids[indptr[h] + i]]
        for i in range(low, high):
            node_with[tree.term2[i]] = infrequent
    return ShortHistories(first, kept, lengths, node, np.zeros(SHORT, np.uint64))


@jit
def _dropped_since(
    previous: int, dropped_at: NDArray[np.int64], ids: NDArray[np.int32], begin: int, kept: np.uint64
) -> np.uint64:
    """Return the kept positions of a short history whose terms have a combination that became infrequent later."""
    dropped, bits = np.uint64(0), kept
    if previous < 0:
        return kept
    while bits:
        i = lowest(bits)
        bits &= bits - ONE
        dropped |= np.uint64(dropped_at[ids[begin + i]] > previous) << np.uint64(i)
    return dropped


@jit
def _mark_infrequent(
    support2: NDArray[np.int32],
    k: int,
    node: NDArray[np.int32],
    first: int,
    rarest: np.uint64,
    length: int,
    infrequent_with: NDArray[np.uint64],
) -> None:
    """Mark the infrequent pairs of a short history whose rarer term is one of some."""
    for i in range(length):
        infrequent_with[i] = np.uint64(0)
    while rarest:
        j = lowest(rarest)
        rarest &= rarest - ONE
        row, shift = first + (j * (j - 1) >> 1), np.uint64(j)
        for i in range(j):
            infrequent_with[i] |= np.uint64(support2[node[row + i]] < k) << shift


@jit
def _choose_deletions(
    rule: Rule,
    is_plain: bool,
    utility: NDArray[np.float64],
    support1: NDArray[np.int32],
    ids: NDArray[np.int32],
    begin: int,
    common: np.uint64,
    deleted: np.uint64,
    infrequent_with: NDArray[np.uint64],
    current: NDArray[np.int32],
    indices: NDArray[np.int64],
) -> np.uint64:
    """Return the deleted positions of a short history, those of a term of every infrequent pair added."""
    while common:
        i = lowest(common)
        common &= common - ONE
        bits = infrequent_with[i] & ~deleted if not deleted >> np.uint64(i) & ONE else np.uint64(0)
        while bits:
            j = lowest(bits)
            bits &= bits - ONE
            if is_plain:  # the call would cost more than the work
                is_first = utility[ids[begin + j]] > utility[ids[begin + i]]
            else:
                current[0], current[1], indices[0], indices[1] = ids[begin + i], ids[begin + j], 0, 1
                is_first = select_deletion(rule, support1, current, indices, 2) == 0
            if is_first:
                deleted |= ONE << np.uint64(i)
                break
            deleted |= ONE << np.uint64(j)
    return deleted


@jit
def _delete_in_short(
    kept: np.uint64,
    deleted: np.uint64,
    is_kept: NDArray[np.bool_],
    ids: NDArray[np.int32],
    begin: int,
    node: NDArray[np.int32],
    first: int,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    drop_as_rarest: NDArray[np.int64],
    drop_as_other: NDArray[np.int64],
    now: int,
    k: int,
) -> int:
    """Delete terms of a short history, lower the supports of them and their pairs; return how many terms they are."""
    n_deleted, rarer = 0, kept
    while rarer:
        j = lowest(rarer)
        bit = ONE << np.uint64(j)
        rarer ^= bit
        t = ids[begin + j]
        others = deleted
        if deleted & bit:
            others = kept
            n_deleted += 1
            is_kept[begin + j] = False
            support1[t] -= 1
            if support1[t] == k - 1:
                drop_as_rarest[t] = now
        others &= bit - ONE
        row = first + (j * (j - 1) >> 1)
        while others:
            i = lowest(others)
            others &= others - ONE
            _lower_pair(support2, drop_as_rarest, drop_as_other, now, k, node[row + i], t, ids[begin + i])
    return n_deleted


@jit
def _delete_infrequent_listed(
    rule: Rule,
    is_plain: bool,
    utility: NDArray[np.float64],
    support1: NDArray[np.int32],
    current: NDArray[np.int32],
    n: int,
    is_deleted: NDArray[np.bool_],
    common: NDArray[np.bool_],
    frequent: NDArray[np.uint64],
    rarer: NDArray[np.uint64],
    indices: NDArray[np.int64],
) -> int:
    """Mark a term of every infrequent pair as deleted, pairs in lexicographic order; return how many.

    Frequent pairs are skipped a word of bits at a time.
    """
    words, n_deleted = (n + 63) >> 6, 0
    for i in range(n):
        if is_deleted[i] or not common[i]:
            continue
        above = ~(ONE << np.uint64(i & 63)) & (~np.uint64(0) << np.uint64(i & 63))
        for word in range(i >> 6, words):
            bits = rarer[word] & ~frequent[i * words + word] & above
            above = ~np.uint64(0)
            while bits and not is_deleted[i]:
                j = (word << 6) + lowest(bits)
                bits &= bits - ONE
                if is_plain:  # the call would cost more than the work
                    deleted = j if utility[current[j]] <= utility[current[i]] else i
                else:
                    indices[0], indices[1] = i, j
                    deleted = select_deletion(rule, support1, current, indices, 2)
                is_deleted[deleted] = True
                if deleted == j:
                    rarer[word] ^= ONE << np.uint64(j & 63)
                n_deleted += 1
    return n_deleted


@jit
def _lower_pair(
    support2: NDArray[np.int32],
    drop_as_rarest: NDArray[np.int64],
    drop_as_other: NDArray[np.int64],
    now: int,
    k: int,
    node: int,
    rarer: int,
    other: int,
) -> None:
    """Lower the support of a pair of terms by one; record the time if it becomes infrequent."""
    support2[node] -= 1
    if support2[node] == k - 1:
        drop_as_rarest[rarer] = now
        drop_as_other[other] = now


@jit
def _update_pairs(
    start: NDArray[np.int64],
    term: NDArray[np.int32],
    support2: NDArray[np.int32],
    drop_as_rarest: NDArray[np.int64],
    drop_as_other: NDArray[np.int64],
    now: int,
    k: int,
    current: NDArray[np.int32],
    n: int,
    is_deleted: NDArray[np.bool_],
) -> None:
    """Lower the supports of the pairs of the terms that have a deleted one, where pairs are not listed."""
    for g in range(n):
        if not is_deleted[g]:
            continue
        t = current[g]
        for i in range(g):
            node = find_node(term, start[t], start[t + 1], current[i])
            if node >= 0:
                _lower_pair(support2, drop_as_rarest, drop_as_other, now, k, node, t, current[i])
        for j in range(g + 1, n):
            node = -1 if is_deleted[j] else find_node(term, start[current[j]], start[current[j] + 1], t)
            if node >= 0:
                _lower_pair(support2, drop_as_rarest, drop_as_other, now, k, node, current[j], t)


@jit
def delete_pairs(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    history: int,
    now: int,
    budget: int,
    scratch: Scratch,
    short: ShortHistories,
) -> tuple[int, int, int]:
    """Delete infrequent terms and pairs in the histories from one on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    kept_in, first_in, node_in, infrequent_with = short.kept, short.first, short.node, short.infrequent_with
    lengths = short.length
    indptr, ids, kept, checked = log.indptr, log.ids, log.kept, log.checked
    drop_as_rarest, drop_as_other, k, utility = log.drop_as_rarest, log.drop_as_other, rule.k, rule.utility
    start, term, support2 = tree.start2, tree.term2, tree.support2
    current, where, position_of, indices = scratch.current, scratch.where, scratch.position_of, scratch.indices
    is_deleted, rarest, common = scratch.is_deleted, scratch.rarest, scratch.common
    frequent, rarer, first, second, node_of, _ = scratch.pairs
    is_plain = rule.target == UTILITY and not rule.has_random_ties
    n_deleted = work = 0
    h = history
    while h < len(checked) and work < budget:
        previous, needs_check, n, n_now = checked[h], False, 0, 0
        begin, end = indptr[h], indptr[h + 1]
        if first_in[h] >= 0:
            rarest_terms = _dropped_since(previous, drop_as_rarest, ids, begin, kept_in[h])
            if rarest_terms:
                now += 1
                checked[h] = now
                common_terms = _dropped_since(previous, drop_as_other, ids, begin, kept_in[h])
                first_pair, bits = first_in[h], kept_in[h]
                deleted = np.uint64(0)
                for i in range(lengths[h]):
                    deleted |= np.uint64(support1[ids[begin + i]] < k) << np.uint64(i)
                deleted &= bits
                _mark_infrequent(support2, k, node_in, first_pair, rarest_terms & ~deleted, lengths[h], infrequent_with)
                deleted = _choose_deletions(
                    rule,
                    is_plain,
                    utility,
                    support1,
                    ids,
                    begin,
                    common_terms,
                    deleted,
                    infrequent_with,
                    current,
                    indices,
                )
                kept_in[h] = bits ^ deleted
                if deleted:
                    n_now = _delete_in_short(
                        bits,
                        deleted,
                        kept,
                        ids,
                        begin,
                        node_in,
                        first_pair,
                        support1,
                        support2,
                        drop_as_rarest,
                        drop_as_other,
                        now,
                        k,
                    )
                n_deleted += n_now
                work += 100
            h += 1
            work += 10
            continue
        for i in range(begin, end):
            needs_check |= kept[i] and drop_as_rarest[ids[i]] > previous
        h += 1
        work += 2 + end - begin
        if not needs_check:
            continue
        now += 1
        checked[h - 1] = now
        for i in range(begin, end):
            if kept[i]:
                t = ids[i]
                current[n], where[n] = t, i
                rarest[n], common[n] = drop_as_rarest[t] > previous, drop_as_other[t] > previous
                is_deleted[n] = support1[t] < k
                n_now += is_deleted[n]
                n += 1
        n_listed, more_work = list_pairs(
            start,
            term,
            support2,
            k,
            current,
            n,
            is_deleted,
            rarest,
            position_of,
            frequent,
            rarer,
            first,
            second,
            node_of,
        )
        n_now += _delete_infrequent_listed(
            rule, is_plain, utility, support1, current, n, is_deleted, common, frequent, rarer, indices
        )
        work += 20 + more_work
        if not n_now:
            continue
        work += n * n
        n_deleted += n_now
        for i in range(n):
            if is_deleted[i]:
                kept[where[i]] = False
                support1[current[i]] -= 1
                if support1[current[i]] == k - 1:
                    drop_as_rarest[current[i]] = now
        if previous >= 0 or n > LISTED:
            _update_pairs(start, term, support2, drop_as_rarest, drop_as_other, now, k, current, n, is_deleted)
            continue
        for pair in range(n_listed):
            i, j = first[pair], second[pair]
            if is_deleted[i] or is_deleted[j]:
                _lower_pair(support2, drop_as_rarest, drop_as_other, now, k, node_of[pair], current[j], current[i])
    return h, now, n_deleted
