"""Algorithm 1 of Burghardt et al. 2010: deleting terms from histories until no combination is infrequent.

Two observations make it fast without changing a single deletion of the reference order:

* Deleting a term from a history changes only supports of combinations that hold it, and this history skips those
  from then on. So all supports may be updated once, when the history is done (not for target `fis`, whose choice
  looks at supports: there it happens at once).
* A history that was clean stays clean until one of its combinations falls below k. Every term carries the time of the
  last fall of a combination of which it was the rarest term, and of one of which it was not; a history needs to look
  again only at combinations whose terms all carry such a time after its own last check.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import LISTED, MARKED, ONE, Tree, advance, children, find, find_pairs, lowest
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, Scratch, update, update_pairs


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
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    h: int,
    n: int,
    s: Scratch,
    place: int,
    general: int | None,
) -> None:
    """Delete one term; for target `fis` the supports of what is still there are updated at once."""
    log.alive[s.where[place]] = False
    if general is not None and rule.target == FIS:
        n_rest = 0
        for i in range(n):
            if i == place or not s.gone[i]:
                s.rest[n_rest], s.rest_gone[n_rest] = s.current[i], i == place
                n_rest += 1
        update(log, tree, rule, support1, h, s.rest, n_rest, s.rest_gone, -1, False, s)
    s.gone[place] = True


@jit
def _clean_terms(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, general: int | None
) -> int:
    """Delete single terms that are infrequent; return how many went."""
    current, k = s.current, rule.k
    n_gone = 0
    for i in range(n):
        if support1[current[i]] < k:
            _delete(log, tree, rule, support1, h, n, s, i, general)
            n_gone += 1
    return n_gone


@jit
def _clean_pairs(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, general: int | None
) -> int:
    """Delete a term of every infrequent pair, pairs in lexicographic order; return how many went.

    Every infrequent pair that is come upon costs a term; the others are stepped over a word of bits at a time.
    """
    alive, utility = log.alive, rule.utility
    current, where, gone, common, positions = s.current, s.where, s.gone, s.common, s.positions
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
                    positions[0], positions[1] = i, j
                    victim = _victim(rule, support1, current, positions, 2)
                    _delete(log, tree, rule, support1, h, n, s, victim, general)
                if victim == j:
                    rarer[word] ^= ONE << np.uint64(j & 63)
                n_gone += 1
    return n_gone


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
def _mark_triples(tree: Tree, k: int, n_left: int, s: Scratch) -> int:
    """Mark the frequent triples of terms left over, only with some terms as the rarest; return the work done."""
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    left, at, rarest, common, place_of, good = s.left, s.at, s.rarest, s.common, s.place_of, s.triples
    places2, nodes2, places3, nodes3 = s.places[0], s.nodes[0], s.places[1], s.nodes[1]
    words = (n_left + 63) >> 6
    good[: n_left * n_left * words] = np.uint64(0)
    work = n_left * n_left * words
    for c in range(n_left):
        place_of[left[c]] = c
    for c in range(n_left):
        if not rarest[at[c]]:
            continue
        word, bit = c >> 6, ONE << np.uint64(c & 63)
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
    """Delete a term of every triple that was not marked, in lexicographic order; return how many went."""
    at, gone, rarest, common, positions = s.at, s.gone, s.rarest, s.common, s.positions
    good, rarer, words = s.triples, s.pairs.rarer, (n_left + 63) >> 6
    rarer[:words] = np.uint64(0)
    for c in range(n_left):
        if rarest[at[c]]:
            rarer[c >> 6] |= ONE << np.uint64(c & 63)
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
                    positions[0], positions[1], positions[2] = a, b, c
                    victim = _victim(rule, support1, s.left, positions, 3)
                    _delete(log, tree, rule, support1, h, n, s, at[victim], 1)
                    rarer[victim >> 6] &= ~(ONE << np.uint64(victim & 63))
                    n_gone += 1
    return n_gone


@jit
def _is_frequent(tree: Tree, k: int, pair_nodes: NDArray[np.int64], s: Scratch, size: int) -> bool:
    """Say whether the chosen combination of three or four terms has support ≥ k."""
    node = pair_nodes[s.positions[size - 2], s.positions[size - 1]]
    if node < 0:
        return False
    node = find(tree.term3, tree.start3[node], tree.start3[node + 1], s.left[s.positions[size - 3]])
    if size == 3 or node < 0:
        return node >= 0 and tree.support3[node] >= k
    node = find(tree.term4, tree.start4[node], tree.start4[node + 1], s.left[s.positions[0]])
    return node >= 0 and tree.support4[node] >= k


@jit
def _first_unfit(s: Scratch, size: int) -> int:
    """Return the first place of the chosen combination whose term is gone or need not be looked at, or -1."""
    for i in range(size):
        place = s.at[s.positions[i]]
        if s.gone[place] or not (s.rarest[place] if i == size - 1 else s.common[place]):
            return i
    return -1


@jit
def _clean_larger(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, n: int, s: Scratch, size: int
) -> tuple[int, int]:
    """Delete a term of every infrequent combination of three or four; return how many went and the work done."""
    n_left = _leave_over(n, s)
    if n_left < size:
        return 0, 0
    if size == 3 and n_left <= MARKED:
        work = _mark_triples(tree, rule.k, n_left, s)
        return _clean_triples(log, tree, rule, support1, h, n, n_left, s), work
    pair_nodes = np.empty((n_left, n_left), np.int64)
    for j in range(n_left):
        for i in range(j):
            pair_nodes[i, j] = find(tree.term2, tree.start2[s.left[j]], tree.start2[s.left[j] + 1], s.left[i])
    for i in range(size):
        s.positions[i] = i
    n_gone, work = 0, n_left * n_left
    more = True
    while more:
        work += 1
        skip = _first_unfit(s, size)
        if skip >= 0:
            more = advance(s.positions, size, n_left, skip)
        elif _is_frequent(tree, rule.k, pair_nodes, s, size):
            more = advance(s.positions, size, n_left, size - 1)
        else:
            victim = _victim(rule, support1, s.left, s.positions, size)
            _delete(log, tree, rule, support1, h, n, s, s.at[victim], 1)
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
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], h: int, now: int, s: Scratch, general: int | None
) -> tuple[int, int]:
    """Delete terms of one history until all its combinations are frequent; return how many went and the work done."""
    is_first_time = log.checked[h] < 0
    n = _look_at(log, h, now, s)
    n_gone = _clean_terms(log, tree, rule, support1, h, n, s, general)
    work = n
    if rule.m > 1:
        work += find_pairs(tree, rule.k, s.current, n, s.gone, s.rarest, s.place_of, s.pairs)
        n_gone += _clean_pairs(log, tree, rule, support1, h, n, s, general)
    is_listed = is_first_time and rule.m > 1 and n <= LISTED
    person = log.owner[h]
    if rule.m == 2 and rule.target != FIS and log.first[person + 1] - log.first[person] == 1:
        if n_gone:
            update_pairs(log, tree, rule, support1, h, n, s, is_listed)
    elif general is not None:
        for size in range(3, rule.m + 1):
            more, looked_at = _clean_larger(log, tree, rule, support1, h, n, s, size)
            n_gone += more
            work += looked_at
        if n_gone and rule.target != FIS:
            update(log, tree, rule, support1, h, s.current, n, s.gone, -1, is_listed, s)
    return n_gone, work + (n * n if n_gone else 0)


@jit
def _needs_check(log: Log, h: int) -> bool:
    ids, alive, fell, checked = log.ids, log.alive, log.fell, log.checked[h]
    for i in range(log.indptr[h], log.indptr[h + 1]):
        if alive[i] and fell[ids[i]] > checked:
            return True
    return False


@jit
def sweep(
    log: Log,
    tree: Tree,
    rule: Rule,
    support1: NDArray[np.int32],
    first: int,
    now: int,
    budget: int,
    scratch: Scratch,
    general: int | None,
) -> tuple[int, int, int]:
    """Clean the histories from `first` on until the budget of work is used up.

    `general` may be None for pairs of people with one history each, unless the target is `fis`: then what only others
    need is not even compiled, which takes long.
    Return the next history, the time, and the number of deletions.
    """
    n_gone = 0
    work = 0
    h = first
    while h < len(log.checked) and work < budget:
        work += log.indptr[h + 1] - log.indptr[h]
        if _needs_check(log, h):
            now += 1
            gone, done = _clean(log, tree, rule, support1, h, now, scratch, general)
            n_gone += gone
            work += 20 + done
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
