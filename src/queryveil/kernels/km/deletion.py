"""Algorithm 1 of Burghardt et al. 2010: deleting terms from histories until no combination is infrequent.

Two observations make it fast without changing a single deletion of the reference order:

* Deleting a term from a history changes only supports of combinations that contain it, and this history skips those
  from then on. So all supports may be updated once, after the history (for target `fis`, whose choice depends on
  supports, at once).
* A history without infrequent combinations stays so until one of them drops below k. Each term has the time when a
  combination of which it is the rarest term last did, and when one of which it is another term did; a history must
  test again only combinations whose terms all have such a time after its own last check.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import LISTED, MARKED, ONE, Tree, advance, children, find_node, list_pairs, lowest
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, Scratch, update


@jit
def _draw(rule: Rule, n: int) -> int:
    """Return a number below n from splitmix64."""
    rule.random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rule.random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(n))


@jit
def _compare(rule: Rule, support1: NDArray[np.int32], t: int, other: int) -> float:
    """Return a number below 0 if term t is deleted rather than the other, above 0 if not, 0 if they tie."""
    if rule.target == UTILITY:
        return rule.utility[t] - rule.utility[other]
    for size in range(rule.m, 1, -1):
        if rule.degree[size, t] != rule.degree[size, other]:
            return float(rule.degree[size, t] - rule.degree[size, other])
    return float(support1[t] - support1[other])


@jit
def select_deletion(
    rule: Rule, support1: NDArray[np.int32], current: NDArray[np.int32], positions: NDArray[np.int64], n: int
) -> int:
    """Return the position of the term to delete from a combination (positions ascending)."""
    if rule.target == RANDOM:
        return positions[_draw(rule, n)] if n > 1 else positions[0]
    worst, n_tied = positions[0], 1
    for i in range(1, n):
        difference = _compare(rule, support1, current[positions[i]], current[worst])
        n_tied = n_tied + 1 if difference == 0 else 1 if difference < 0 else n_tied
        # Of n tied terms each is chosen with probability 1/n: the last one replaces the others that often.
        if difference < 0 or (difference == 0 and (not rule.has_random_ties or _draw(rule, n_tied) == 0)):
            worst = positions[i]
    return worst


@jit
def _delete(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    h: int,
    n: int,
    s: Scratch,
    position: int,
) -> None:
    """Delete one term; for target `fis` the supports of the remaining terms are updated at once."""
    log.kept[s.where[position]] = False
    if rule.target == FIS:
        n_rest = 0
        for i in range(n):
            if i == position or not s.is_deleted[i]:
                s.rest[n_rest], s.is_rest_deleted[n_rest] = s.current[i], i == position
                n_rest += 1
        update(log, tree, rule, support1, h, s.rest, n_rest, s.is_rest_deleted, -1, False, s)
    s.is_deleted[position] = True


@jit
def _delete_infrequent_terms(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch
) -> int:
    """Delete single terms that are infrequent; return how many."""
    current, k = s.current, rule.k
    n_deleted = 0
    for i in range(n):
        if support1[current[i]] < k:
            _delete(log, tree, rule, support1, h, n, s, i)
            n_deleted += 1
    return n_deleted


@jit
def _delete_infrequent_pairs(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch
) -> int:
    """Delete a term of every infrequent pair, pairs in lexicographic order; return how many.

    Frequent pairs are skipped a word of bits at a time.
    """
    current, is_deleted, common, indices = s.current, s.is_deleted, s.common, s.indices
    frequent, rarer, words = s.pairs.frequent, s.pairs.rarer, (n + 63) >> 6
    n_deleted = 0
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
                indices[0], indices[1] = i, j
                deleted = select_deletion(rule, support1, current, indices, 2)
                _delete(log, tree, rule, support1, h, n, s, deleted)
                if deleted == j:
                    rarer[word] ^= ONE << np.uint64(j & 63)
                n_deleted += 1
    return n_deleted


@jit
def _collect_candidates(n: int, s: Scratch) -> int:
    """Collect the remaining terms that can be part of a larger combination to test; return their number."""
    current, candidates, candidate_at = s.current, s.candidates, s.candidate_at
    is_deleted, rarest, common = s.is_deleted, s.rarest, s.common
    n_candidates = 0
    for i in range(n):
        if not is_deleted[i] and (rarest[i] or common[i]):
            candidates[n_candidates], candidate_at[n_candidates] = current[i], i
            n_candidates += 1
    return n_candidates


@jit
def _mark_triples(tree: Tree, k: int, n_candidates: int, s: Scratch) -> int:
    """Mark the frequent triples of candidates whose rarest term has to be tested; return the work done."""
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    candidates, candidate_at, position_of, frequent = s.candidates, s.candidate_at, s.position_of, s.triples
    rarest, common = s.rarest, s.common
    positions2, nodes2, positions3, nodes3 = s.positions[0], s.nodes[0], s.positions[1], s.nodes[1]
    words = (n_candidates + 63) >> 6
    frequent[: n_candidates * n_candidates * words] = np.uint64(0)
    work = n_candidates * n_candidates * words
    for c in range(n_candidates):
        position_of[candidates[c]] = c
    for c in range(n_candidates):
        if not rarest[candidate_at[c]]:
            continue
        word, bit = c >> 6, ONE << np.uint64(c & 63)
        n2 = children(start2, term2, candidates[c], candidates, c, position_of, positions2, nodes2)
        for i in range(n2):
            b, node = positions2[i], nodes2[i]
            if support2[node] < k or not common[candidate_at[b]]:
                continue
            n3 = children(start3, term3, node, candidates, b, position_of, positions3, nodes3)
            work += b
            for j in range(n3):
                if support3[nodes3[j]] >= k:
                    frequent[(positions3[j] * n_candidates + b) * words + word] |= bit
    for c in range(n_candidates):
        position_of[candidates[c]] = -1
    return work


@jit
def _delete_unmarked_triples(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, n_candidates: int, s: Scratch
) -> int:
    """Delete a term of every triple that was not marked, in lexicographic order; return how many."""
    candidate_at, is_deleted, rarest, common, indices = s.candidate_at, s.is_deleted, s.rarest, s.common, s.indices
    frequent, rarer, words = s.triples, s.pairs.rarer, (n_candidates + 63) >> 6
    rarer[:words] = np.uint64(0)
    for c in range(n_candidates):
        if rarest[candidate_at[c]]:
            rarer[c >> 6] |= ONE << np.uint64(c & 63)
    n_deleted = 0
    for a in range(n_candidates):
        for b in range(a + 1, n_candidates):
            if is_deleted[candidate_at[a]] or not common[candidate_at[a]]:
                break
            above = ~(ONE << np.uint64(b & 63)) & (~np.uint64(0) << np.uint64(b & 63))
            for word in range(b >> 6, words):
                bits = rarer[word] & ~frequent[(a * n_candidates + b) * words + word] & above
                above = ~np.uint64(0)
                if not common[candidate_at[b]]:
                    break
                while bits and not (is_deleted[candidate_at[a]] or is_deleted[candidate_at[b]]):
                    c = (word << 6) + lowest(bits)
                    bits &= bits - ONE
                    indices[0], indices[1], indices[2] = a, b, c
                    deleted = select_deletion(rule, support1, s.candidates, indices, 3)
                    _delete(log, tree, rule, support1, h, n, s, candidate_at[deleted])
                    rarer[deleted >> 6] &= ~(ONE << np.uint64(deleted & 63))
                    n_deleted += 1
    return n_deleted


@jit
def _is_frequent(tree: Tree, k: int, pair_nodes: NDArray[np.int64], s: Scratch, size: int) -> bool:
    """Return whether the chosen combination of three or four terms has support ≥ k."""
    node = pair_nodes[s.indices[size - 2], s.indices[size - 1]]
    if node < 0:
        return False
    node = find_node(tree.term3, tree.start3[node], tree.start3[node + 1], s.candidates[s.indices[size - 3]])
    if size == 3 or node < 0:
        return node >= 0 and tree.support3[node] >= k
    node = find_node(tree.term4, tree.start4[node], tree.start4[node + 1], s.candidates[s.indices[0]])
    return node >= 0 and tree.support4[node] >= k


@jit
def _first_skippable(s: Scratch, size: int) -> int:
    """Return the first place of the chosen combination whose term is deleted or need not be tested, or -1."""
    for i in range(size):
        position = s.candidate_at[s.indices[i]]
        if s.is_deleted[position] or not (s.rarest[position] if i == size - 1 else s.common[position]):
            return i
    return -1


@jit
def _delete_infrequent_larger(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, size: int
) -> tuple[int, int]:
    """Delete a term of every infrequent combination of three or four; return how many and the work done."""
    n_candidates = _collect_candidates(n, s)
    if n_candidates < size:
        return 0, 0
    if size == 3 and n_candidates <= MARKED:
        work = _mark_triples(tree, rule.k, n_candidates, s)
        return _delete_unmarked_triples(log, tree, rule, support1, h, n, n_candidates, s), work
    pair_nodes = np.empty((n_candidates, n_candidates), np.int64)
    for j in range(n_candidates):
        for i in range(j):
            t = s.candidates[j]
            pair_nodes[i, j] = find_node(tree.term2, tree.start2[t], tree.start2[t + 1], s.candidates[i])
    for i in range(size):
        s.indices[i] = i
    n_deleted, work = 0, n_candidates * n_candidates
    has_next = True
    while has_next:
        work += 1
        skip = _first_skippable(s, size)
        if skip >= 0:
            has_next = advance(s.indices, size, n_candidates, skip)
        elif _is_frequent(tree, rule.k, pair_nodes, s, size):
            has_next = advance(s.indices, size, n_candidates, size - 1)
        else:
            deleted = select_deletion(rule, support1, s.candidates, s.indices, size)
            _delete(log, tree, rule, support1, h, n, s, s.candidate_at[deleted])
            n_deleted += 1
    return n_deleted, work


@jit
def _load_history(log: Log, h: int, now: int, s: Scratch) -> int:
    """Load the terms of a history and which of them must be tested; return their number."""
    ids, kept, drop_as_rarest, drop_as_other = log.ids, log.kept, log.drop_as_rarest, log.drop_as_other
    current, where, is_deleted, rarest, common = s.current, s.where, s.is_deleted, s.rarest, s.common
    previous_check = log.checked[h]
    n = 0
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if kept[i]:
            t = ids[i]
            current[n], where[n], is_deleted[n] = t, i, False
            rarest[n], common[n] = drop_as_rarest[t] > previous_check, drop_as_other[t] > previous_check
            n += 1
    log.checked[h] = now
    return n


@jit
def _anonymize_history(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, now: int, s: Scratch
) -> tuple[int, int]:
    """Delete terms of one history until all its combinations are frequent; return how many and the work done."""
    is_first_time = log.checked[h] < 0
    n = _load_history(log, h, now, s)
    n_deleted = _delete_infrequent_terms(log, tree, rule, support1, h, n, s)
    work = n
    if rule.m > 1:
        work += list_pairs(tree, rule.k, s.current, n, s.is_deleted, s.rarest, s.position_of, s.pairs)
        n_deleted += _delete_infrequent_pairs(log, tree, rule, support1, h, n, s)
    is_listed = is_first_time and rule.m > 1 and n <= LISTED
    for size in range(3, rule.m + 1):
        n_more, more_work = _delete_infrequent_larger(log, tree, rule, support1, h, n, s, size)
        n_deleted += n_more
        work += more_work
    if n_deleted and rule.target != FIS:
        update(log, tree, rule, support1, h, s.current, n, s.is_deleted, -1, is_listed, s)
    return n_deleted, work + (n * n if n_deleted else 0)


@jit
def _needs_check(log: Log, h: int) -> bool:
    ids, kept, drop_as_rarest, checked = log.ids, log.kept, log.drop_as_rarest, log.checked[h]
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if kept[i] and drop_as_rarest[ids[i]] > checked:
            return True
    return False


@jit
def delete_in_histories(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    first: int,
    now: int,
    budget: int,
    scratch: Scratch,
) -> tuple[int, int, int]:
    """Delete infrequent combinations in the histories from `first` on until the budget of work is used up.

    Return the next history, the time, and the number of deletions.
    """
    n_deleted = 0
    work = 0
    h = first
    while h < len(log.checked) and work < budget:
        work += log.indptr[h + 1] - log.indptr[h]
        if _needs_check(log, h):
            now += 1
            n_now, work_now = _anonymize_history(log, tree, rule, support1, h, now, scratch)
            n_deleted += n_now
            work += 20 + work_now
        h += 1
    return h, now, n_deleted


@jit
def count_degrees(tree: Tree, m: int, n_terms: int) -> NDArray[np.int64]:
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
