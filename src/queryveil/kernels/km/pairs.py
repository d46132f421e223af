"""Algorithm 1 for m = 2 where everybody has one history, by far the most common case; `deletion` has the others.

Which pairs of short histories are in the tree is found beforehand, for all histories that hold a term together, so
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
PAIRS = 10_000_000  # most pairs of these histories in the tree: bounds the room
RUN = 1_000_000  # pairs of histories that are looked at together


class ShortHistories(NamedTuple):
    """The kept terms of short histories and those of their pairs that are in the tree, in no order."""

    size: NDArray[np.int64]  # (histories,): terms that had enough people before the first pass; -1 for long histories
    kept: NDArray[np.int64]  # (histories,): bit i says that the i-th of these is kept
    first: NDArray[np.int64]  # (histories,): where the pairs begin; -1 for histories that are not here
    n_pairs: NDArray[np.int64]  # (histories,)
    node: NDArray[np.uint32]  # of each pair in the tree
    places: NDArray[np.uint16]  # of its terms in the history, i < j: 32 · i + j


class Drops(NamedTuple):
    """What is noted when a term or a pair becomes infrequent: the time, and which histories to check again."""

    as_rarest: NDArray[np.int64]  # (terms,): for long histories, as in `Log`
    as_other: NDArray[np.int64]
    is_unchecked: NDArray[np.bool_]  # (histories,): which ones to check; all long ones
    start: NDArray[np.int64]  # with history: the postings of terms
    history: NDArray[np.int32]


@jit
def find_pairs(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], tree: Tree, terms: Postings, max_pairs: int
) -> ShortHistories:
    """Find the pairs of short histories in the tree, for as many of these as there is room for.

    A run of histories at a time gets room for all its pairs, of which those in the tree are moved together.
    """
    n_histories, n_terms, room = len(indptr) - 1, len(terms[0]) - 1, 0
    size, kept = np.zeros(n_histories, np.int64), np.zeros(n_histories, np.int64)
    for h in range(n_histories):
        end = indptr[h + 1]
        while end > indptr[h] and ids[end - 1] >= n_terms:
            end -= 1
        n = end - indptr[h]
        if n <= SHORT:
            size[h], kept[h] = n, (1 << n) - 1
            room += n * (n - 1) >> 1
        else:
            size[h] = -1
    room = min(room, max_pairs)
    first, n_pairs = np.full(n_histories, -1, np.int64), np.zeros(n_histories, np.int64)
    short = ShortHistories(size, kept, first, n_pairs, np.empty(room, np.uint32), np.empty(room, np.uint16))
    unread, node_with = terms[0][:-1].copy(), np.full(n_terms, np.uint32(len(tree.term2)), np.uint32)
    end = filled = 0
    while end < n_histories:
        begin, to, limit = end, filled, min(filled + RUN, room)
        while end < n_histories and to + (max(size[end], 0) * (size[end] - 1) >> 1) <= limit:
            first[end] = to if size[end] >= 0 else -1
            to += max(size[end], 0) * (size[end] - 1) >> 1
            end += 1
        if begin == end:
            break
        _find_pairs_of_run(indptr, ids, tree, terms, short, end, unread, node_with)
        filled = _move_together(short, begin, end, filled)
    return short


@jit
def _find_pairs_of_run(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    tree: Tree,
    terms: Postings,
    short: ShortHistories,
    end: int,
    unread: NDArray[np.int64],  # (terms,): the first posting of each that no run has had yet
    node_with: NDArray[np.uint32],  # (terms,): all infrequent between terms
) -> None:
    """Find the pairs of the short histories before `end` that had no turn yet."""
    start, history, position = terms
    start2, term2, infrequent = tree.start2, tree.term2, np.uint32(len(tree.term2))
    first, n_pairs, node, places = short.first, short.n_pairs, short.node, short.places
    for t in range(len(unread)):
        q = unread[t]
        if start2[t] == start2[t + 1] or q == start[t + 1] or history[q] >= end:
            continue
        for i in range(start2[t], start2[t + 1]):
            node_with[term2[i]] = i
        while q < start[t + 1] and history[q] < end:
            holder = np.uint32(history[q])
            begin, to = indptr[holder] & NOT_NEGATIVE, first[holder]
            q += 1
            if to < 0:
                continue
            to, j = (to + n_pairs[holder]) & NOT_NEGATIVE, position[q - 1] - begin
            n_before = to
            for i in range(j):
                found = node_with[np.uint32(ids[begin + i])]
                node[to], places[to] = found, i << 5 | j
                to += found < infrequent
            n_pairs[holder] += to - n_before
        unread[t] = q
        for i in range(start2[t], start2[t + 1]):
            node_with[term2[i]] = infrequent


@jit
def _move_together(short: ShortHistories, begin: int, end: int, filled: int) -> int:
    """Move the pairs of a run of histories to where those before it end; return where these end."""
    first, n_pairs, node, places = short.first, short.n_pairs, short.node, short.places
    for h in range(begin, end):
        if first[h] >= 0:
            for p in range(n_pairs[h]):
                node[filled + p], places[filled + p] = node[first[h] + p], places[first[h] + p]
            first[h], filled = filled, filled + n_pairs[h]
    return filled


@jit
def _has_infrequent(support2: NDArray[np.int32], k: int, node: NDArray[np.uint32], first: int, n_pairs: int) -> bool:
    """Return whether a short history has a pair that became infrequent."""
    fewest, first = np.int32(k), first & NOT_NEGATIVE
    for p in range(n_pairs):
        fewest = min(fewest, support2[node[first + p]])
    return bool(fewest < k)


@jit
def _choose(
    rule: Rule,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    short: ShortHistories,
    h: int,
    ids: NDArray[np.int32],  # of the history
    current: NDArray[np.int32],
    frequent: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> int:
    """Return the terms of a short history to delete, as bits: infrequent ones, and one of each infrequent pair."""
    k, utility, node, places, first = rule.k, rule.utility, short.node, short.places, short.first[h] & NOT_NEGATIVE
    n, kept, deleted, previous = short.size[h], short.kept[h], 0, np.inf
    is_plain = is_falling = rule.target == UTILITY and not rule.has_random_ties
    for i in range(n):
        t = np.uint32(ids[i])
        current[i], frequent[i] = t, 0
        deleted |= int(support1[t] < k) << i
        if is_plain:
            is_falling &= previous >= utility[t]
            previous = utility[t]
    for p in range(short.n_pairs[h]):  # without branches, as nothing foretells which pairs are infrequent
        at = places[first + p]
        frequent[at >> 5] |= int(support2[node[first + p]] >= k) << (at & 31)
    deleted &= kept
    for i in range(n):
        bits = kept & ~deleted & ~frequent[i] & (-2 << i) & -((kept & ~deleted) >> i & 1)
        if is_falling:  # the rarer term of every pair goes
            deleted |= bits
            continue
        while bits:
            j = lowest(np.uint64(bits))
            bits &= bits - 1
            indices[0], indices[1] = i, j
            worse = select_deletion(rule, support1, current, indices, 2)
            deleted |= 1 << worse
            bits = 0 if worse == i else bits
    return deleted


@jit
def _delete_in_short(
    deleted: int,
    k: int,
    support1: NDArray[np.int32],
    support2: NDArray[np.int32],
    short: ShortHistories,
    h: int,
    is_kept: NDArray[np.bool_],  # of the terms of the history
    current: NDArray[np.int32],
    drops: Drops,
    now: int,
    is_first: bool,
    dropped: NDArray[np.uint16],
) -> int:
    """Delete terms of a short history, lower the supports of them and their pairs; return how many were deleted."""
    node, places, first, kept = short.node, short.places, short.first[h] & NOT_NEGATIVE, short.kept[h] & ~deleted
    n_kept = n_dropped = n_deleted = 0
    for p in range(short.n_pairs[h]):  # without branches, as nothing foretells which terms are deleted
        x, at = node[first + p], places[first + p]
        is_deleted = (deleted >> (at >> 5) | deleted >> (at & 31)) & 1
        node[first + n_kept], places[first + n_kept], dropped[n_dropped] = x, at, at
        n_kept += 1 - is_deleted
        support = support2[x] - is_deleted
        support2[x] = support
        n_dropped += is_deleted & (support == k - 1)
    short.kept[h], short.n_pairs[h] = kept, n_kept
    for p in range(n_dropped):
        _note_drop(drops, now, current[dropped[p] & 31], current[dropped[p] >> 5], is_first)
    for i in range(short.size[h]):
        is_deleted = deleted >> i & 1
        n_deleted += is_deleted
        is_kept[i] = kept >> i & 1
        support1[current[i]] -= is_deleted
        if is_deleted & (support1[current[i]] == k - 1):
            _note_drop(drops, now, current[i], -1, is_first)
    return n_deleted


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
    if not _needs_check(log, h):
        return 0, 0
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
    indptr, ids, checked, is_unchecked, current = log.indptr, log.ids, log.checked, drops.is_unchecked, scratch.current
    k, support2, frequent, dropped = rule.k, tree.support2, np.empty(SHORT, np.int64), np.empty(SHORT**2, np.uint16)
    n_deleted = work = 0
    h = first - 1
    while h + 1 < len(checked) and work < budget:
        h, work = h + 1, work + 1
        if not is_unchecked[h]:
            continue
        is_first, begin, end, n_pairs, now = checked[h] < 0, indptr[h], indptr[h + 1], short.n_pairs[h], now + 1
        if short.first[h] < 0:
            n_now, more_work = _delete_in_long(log, tree, rule, support1, h, now, drops, scratch)
            n_deleted, work = n_deleted + n_now, work + more_work + end - begin
            continue
        checked[h], is_unchecked[h] = now, is_first
        work += 50
        if is_first or n_pairs == 0 or _has_infrequent(support2, k, short.node, short.first[h], n_pairs):
            work += 50
            terms, is_kept = ids[begin:end], log.kept[begin:end]
            deleted = _choose(rule, support1, support2, short, h, terms, current, frequent, scratch.indices)
            if deleted:
                n_deleted += _delete_in_short(
                    deleted, k, support1, support2, short, h, is_kept, current, drops, now, is_first, dropped
                )
    return h + 1, now, n_deleted
