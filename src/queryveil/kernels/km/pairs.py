"""Algorithm 1 for m = 2 where everybody has one history, by far the most common case; `deletion` has the others.

It does what `deletion` does in one function whose arrays are all local, which is twice as fast on short histories.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.deletion import select_deletion
from queryveil.kernels.km.supports import LISTED, ONE, Tree, find_node, list_pairs, lowest
from queryveil.kernels.km.updates import UTILITY, Log, Rule, Scratch


@jit
def _delete_infrequent(
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
) -> tuple[int, int, int]:
    """Delete infrequent terms and pairs in the histories from one on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
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
        n_now += _delete_infrequent(
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
