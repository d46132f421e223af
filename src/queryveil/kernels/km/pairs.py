"""Algorithm 1 for m = 2 where everybody has one history, by far the most common case; `deletion` has the others.

Where the pairs of short histories are in the tree is found beforehand, for all histories that hold a term together, so
that no pair is searched later; sets of terms of a short history are bits of a word. Pairs of long ones are looked up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import NOT_NEGATIVE, jit
from queryveil.kernels.km.deletion import select_deletion
from queryveil.kernels.km.supports import LISTED, ONE, Postings, Tree, find_node, list_pairs, lowest
from queryveil.kernels.km.updates import UTILITY, Log, Rule, Scratch

SHORT = 32  # terms of the longest history whose pairs are found beforehand
PAIRS = 8_000_000  # most pairs that are: bounds the room


class ShortHistories(NamedTuple):
    """The kept terms of short histories and the nodes of their pairs in the tree.

    Of the n kept terms of history h the pairs are `node[first[h]:]` in lexicographic order, n·(n − 1)/2 of them; all
    infrequent pairs are one node, which comes after the others.
    """

    first: NDArray[np.int64]  # (histories,): -1 for those that are not here
    size: NDArray[np.int64]  # (histories,): kept terms
    place: NDArray[np.uint8]  # (pairs of the log,): where in history h each of its kept terms stands, from indptr[h] on
    node: NDArray[np.uint32]


class Drops(NamedTuple):
    """What is noted when a term or a pair becomes infrequent: the time, and which histories to check again."""

    as_rarest: NDArray[np.int64]  # (terms,): for long histories, as in `Log`
    as_other: NDArray[np.int64]
    is_unchecked: NDArray[np.bool_]  # (histories,): which of the short ones to check
    start: NDArray[np.int64]  # with history: the postings of terms
    history: NDArray[np.int32]


@jit
def find_pairs(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], tree: Tree, terms: Postings, max_pairs: int
) -> ShortHistories:
    """Find the nodes of the pairs of short histories, as many of these as have no more pairs than the maximum."""
    start, history, position = terms
    n_terms, infrequent, n = len(start) - 1, len(tree.term2), 0
    first, size = np.full(len(indptr) - 1, -1, np.int64), np.zeros(len(indptr) - 1, np.int64)
    place = np.empty(len(ids), np.uint8)
    for h in range(len(first)):
        end = indptr[h]
        while end < indptr[h + 1] and ids[end] < n_terms:
            place[end] = (end - indptr[h]) & 255  # only short histories use it
            end += 1
        size[h] = end - indptr[h]
        n_pairs = size[h] * (size[h] - 1) >> 1
        if size[h] <= SHORT and n + n_pairs <= max_pairs:
            first[h] = n
            n += n_pairs
    node, node_with = np.empty(n, np.uint32), np.full(n_terms, infrequent, np.uint32)
    for t in range(n_terms):
        low, high = tree.start2[t], tree.start2[t + 1]
        for i in range(low, high):
            node_with[tree.term2[i]] = i
        for q in range(start[t], start[t + 1]):
            h = int(history[q])
            j = position[q] - indptr[h] if first[h] >= 0 else 0
            begin, pair, step = indptr[h] & NOT_NEGATIVE, (first[h] + j - 1) & NOT_NEGATIVE, size[h] - 2
            for i in range(j):
                node[pair & NOT_NEGATIVE] = node_with[np.uint32(ids[begin + i])]
                pair += step - i
        for i in range(low, high):
            node_with[tree.term2[i]] = infrequent
    return ShortHistories(first, size, place, node)


@jit
def _has_infrequent(
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    k: int,
    node: NDArray[np.uint32],
    pair: int,
    current: NDArray[np.int32],
    n: int,
) -> bool:
    """Return whether a short history has an infrequent pair, or term if it is the only one."""
    pair &= NOT_NEGATIVE
    fewest = support1[current[0]] if n == 1 else np.int32(k)
    for i in range(n * (n - 1) >> 1):
        fewest = min(fewest, support2[node[pair + i]])
    return bool(fewest < k)


@jit
def _choose_by_utility(
    utility: NDArray[np.float64],
    k: int,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    node: NDArray[np.uint32],
    pair: int,
    current: NDArray[np.int32],
    n: int,
    value: NDArray[np.float64],
) -> int:
    """Return the terms of a short history to delete, as bits: infrequent ones, and the worse one of each such pair.

    It has few branches, as nothing foretells which pairs are infrequent. All bits are shifted by one at a time, because
    a vectorised loop would take longer for so few.
    """
    deleted, pair = 0, pair & NOT_NEGATIVE
    for i in range(n):
        deleted |= int(support1[current[i]] < k) << i
        value[i] = utility[current[i]]
    for i in range(n - 1):
        bits = is_better = 0
        for j in range(i + 1, n):
            bits = bits >> 1 | int(support2[node[pair]] < k) << 62
            is_better = is_better >> 1 | int(value[j] > value[i]) << 62
            pair += 1
        bits = bits >> (63 - n) & ~deleted & (deleted >> i & 1) - 1  # none if the term is deleted itself
        better = bits & is_better >> (63 - n)
        # Partners are deleted up to the first better one, which has the term itself deleted.
        deleted |= bits & (better & -better) - 1 | int(better != 0) << i
    return deleted


@jit
def _choose_by_rule(
    rule: Rule,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    node: NDArray[np.uint32],
    pair: int,
    current: NDArray[np.int32],
    n: int,
    indices: NDArray[np.int64],
) -> int:
    """Return the terms of a short history to delete, as bits: infrequent ones, and one of each such pair."""
    deleted = 0
    for i in range(n):
        deleted |= int(support1[current[i]] < rule.k) << i
    for i in range(n - 1):
        for j in range(i + 1, n):
            if support2[node[pair]] < rule.k and not (deleted >> i | deleted >> j) & 1:
                indices[0], indices[1] = i, j
                deleted |= 1 << select_deletion(rule, support1, current, indices, 2)
            pair += 1
    return deleted


@jit
def _delete_in_short(
    deleted: int,
    is_kept: NDArray[np.bool_],
    begin: int,
    place: NDArray[np.uint8],
    node: NDArray[np.uint32],
    pair: int,
    current: NDArray[np.int32],
    n: int,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    drops: Drops,
    now: int,
    k: int,
    is_first: bool,
    lowered: NDArray[np.int64],
) -> int:
    """Delete terms of a short history, lower the supports of them and their pairs; return how many terms stay."""
    infrequent, begin, pair, n_kept, n_lowered = len(support2) - 1, begin & NOT_NEGATIVE, pair & NOT_NEGATIVE, 0, 0
    to = pair
    for i in range(n):  # with few branches, as nothing foretells which terms are deleted
        is_i_deleted, at, t = deleted >> i & 1, place[begin + i], current[i]
        place[begin + n_kept] = at
        n_kept += 1 - is_i_deleted
        is_kept[begin + at] = is_i_deleted == 0
        support1[t] -= is_i_deleted
        if is_i_deleted & (support1[t] == k - 1):
            _note_drop(drops, now, t, -1, is_first)
        for j in range(i + 1, n):
            is_deleted, x = is_i_deleted | deleted >> j & 1, node[pair]
            pair += 1
            node[to], lowered[n_lowered] = x, int(x) << 10 | i << 5 | j
            to += 1 - is_deleted
            n_lowered += is_deleted & (x < infrequent)
    for p in range(n_lowered):
        x = lowered[p] >> 10 & NOT_NEGATIVE
        support2[x] -= 1
        if support2[x] == k - 1:
            rarer, other = current[lowered[p] & 31], current[lowered[p] >> 5 & 31]
            _note_drop(drops, now, rarer, other, is_first)
    return n_kept


@jit
def _note_drop(drops: Drops, now: int, rarer: int, other: int, is_first: bool) -> None:
    """Note that a pair, or a single term, has become infrequent; in the first two passes all short ones are checked."""
    drops.as_rarest[rarer] = now
    if other >= 0:
        drops.as_other[other] = now
    if not is_first:
        for q in range(drops.start[rarer], drops.start[rarer + 1]):
            drops.is_unchecked[drops.history[q]] = True


@jit
def _delete_infrequent_listed(rule: Rule, support1: NDArray[np.int32], n: int, s: Scratch) -> int:
    """Mark a term of every infrequent pair as deleted, pairs in lexicographic order; return how many.

    Frequent pairs are skipped a word of bits at a time.
    """
    current, is_deleted, common, indices, utility = s.current, s.is_deleted, s.common, s.indices, rule.utility
    frequent, rarer = s.pairs.frequent, s.pairs.rarer
    is_plain = rule.target == UTILITY and not rule.has_random_ties
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
    support2: NDArray[np.int32], node: int, k: int, drops: Drops, now: int, rarer: int, other: int, is_first: bool
) -> None:
    """Lower the support of a pair of terms of a long history by one."""
    support2[node] -= 1
    if support2[node] == k - 1:
        _note_drop(drops, now, rarer, other, is_first)


@jit
def _update_pairs(
    tree: Tree,
    k: int,
    drops: Drops,
    now: int,
    current: NDArray[np.int32],
    n: int,
    is_deleted: NDArray[np.bool_],
    is_first: bool,
) -> None:
    """Lower the supports of the pairs of the terms that have a deleted one, where pairs are not listed."""
    start, term, support2 = tree.start2, tree.term2, tree.support2
    for g in range(n):
        if not is_deleted[g]:
            continue
        t = current[g]
        for i in range(g):
            node = find_node(term, start[t], start[t + 1], current[i])
            if node >= 0:
                _lower_pair(support2, node, k, drops, now, t, current[i], is_first)
        for j in range(g + 1, n):
            node = -1 if is_deleted[j] else find_node(term, start[current[j]], start[current[j] + 1], t)
            if node >= 0:
                _lower_pair(support2, node, k, drops, now, current[j], t, is_first)


@jit
def _needs_check(log: Log, h: int) -> bool:
    """Return whether a combination of terms of a long history may have become infrequent since its last check."""
    ids, kept, drop_as_rarest, checked = log.ids, log.kept, log.drop_as_rarest, log.checked[h]
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if kept[i] and drop_as_rarest[ids[i]] > checked:
            return True
    return False


@jit
def _delete_in_long(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, now: int, drops: Drops, s: Scratch
) -> tuple[int, int]:
    """Delete infrequent terms and pairs in a long history; return how many terms are deleted, and the work done."""
    ids, kept, k, previous = log.ids, log.kept, rule.k, log.checked[h]
    current, where, is_deleted, rarest, common = s.current, s.where, s.is_deleted, s.rarest, s.common
    first, second, node_of = s.pairs.first, s.pairs.second, s.pairs.node
    n = n_deleted = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if kept[i]:
            t = ids[i]
            current[n], where[n], is_deleted[n] = t, i, support1[t] < k
            rarest[n], common[n] = drops.as_rarest[t] > previous, drops.as_other[t] > previous
            n_deleted += is_deleted[n]
            n += 1
    work = 20 + list_pairs(tree, k, current, n, is_deleted, rarest, s.position_of, s.pairs)
    n_deleted += _delete_infrequent_listed(rule, support1, n, s)
    log.checked[h] = now
    if not n_deleted:
        return 0, work
    for i in range(n):
        if is_deleted[i]:
            kept[where[i]] = False
            support1[current[i]] -= 1
            if support1[current[i]] == k - 1:
                _note_drop(drops, now, current[i], -1, previous < 0)
    if previous >= 0 or n > LISTED:
        _update_pairs(tree, k, drops, now, current, n, is_deleted, previous < 0)
    else:
        for pair in range(s.pairs.size[0]):
            i, j = first[pair], second[pair]
            if is_deleted[i] or is_deleted[j]:
                _lower_pair(tree.support2, node_of[pair], k, drops, now, current[j], current[i], previous < 0)
    return n_deleted, work + n * n


@jit
def delete_pairs(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    first: int,
    now: int,
    budget: int,
    scratch: Scratch,
    short: ShortHistories,
    drops: Drops,
) -> tuple[int, int, int]:
    """Delete infrequent terms and pairs in the histories from `first` on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    indptr, ids, kept, checked, is_unchecked = log.indptr, log.ids, log.kept, log.checked, drops.is_unchecked
    first_pair, size, place, node = short.first, short.size, short.place, short.node
    utility, k, support2, current, indices = rule.utility, rule.k, tree.support2, scratch.current, scratch.indices
    is_plain = rule.target == UTILITY and not rule.has_random_ties
    value, lowered = np.empty(SHORT), np.empty(SHORT * SHORT, np.int64)
    n_deleted = work = 0
    h = first - 1
    while h + 1 < len(checked) and work < budget:
        h += 1
        n, begin, pair, is_first, deleted = size[h], indptr[h], first_pair[h], checked[h] < 0, 0
        work += 1
        if pair < 0 and _needs_check(log, h):
            now += 1
            n_now, more_work = _delete_in_long(log, tree, rule, support1, h, now, drops, scratch)
            n_deleted += n_now
            work += more_work + indptr[h + 1] - begin
        if pair < 0 or not is_unchecked[h]:
            continue
        for i in range(n):
            current[i] = ids[begin + place[begin + i]]
        if is_first or _has_infrequent(support1, support2, k, node, pair, current, n):
            if is_plain:
                deleted = _choose_by_utility(utility, k, support1, support2, node, pair, current, n, value)
            else:
                deleted = _choose_by_rule(rule, support1, support2, node, pair, current, n, indices)
        now += 1
        checked[h], is_unchecked[h] = now, is_first
        work += 100
        if deleted:
            size[h] = _delete_in_short(
                deleted,
                kept,
                begin,
                place,
                node,
                pair,
                current,
                n,
                support1,
                support2,
                drops,
                now,
                k,
                is_first,
                lowered,
            )
            n_deleted += n - size[h]
    return h + 1, now, n_deleted
