"""Growing a cluster from one vocabulary until it has k people, with the centres in between.

Of several matchings of the lowest cost the canonical one has the smallest sum of tie numbers (docs/decisions/0018).
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.centres import (
    FAR,
    Bags,
    Centre,
    Cluster,
    ClusteringRule,
    DistanceCache,
    Sums,
    apart,
    columns_of,
    make_centre,
    sides_of,
    slots_of,
)
from queryveil.kernels.clustering.matching import NONE, finish
from queryveil.kernels.clustering.search import nearest
from queryveil.kernels.order import maximum_of

TIE_BITS = 24


@jit
def grow_cluster(
    bags: Bags, cache: DistanceCache, rule: ClusteringRule, alive: NDArray[np.int64], seed: int
) -> tuple[Cluster, Centre, NDArray[np.int64]]:
    """Return a cluster of k people, its first centre, and prices of the bags of that centre.

    Each centre's search begins with the prices of the one before: bags that were wanted are wanted again.
    """
    cluster = begin(bags, seed)
    first = centre = centre_of(cluster, bags, cache, rule)
    first_prices = prices = np.zeros(len(first.units), np.int64)
    is_barred = np.zeros(maximum_of(bags.owner) + 1, np.bool_)
    for size in range(1, rule.k):
        is_barred[bags.owner[cluster.members[size - 1]]] = True
        t = nearest(centre, bags, alive, is_barred, prices)
        cluster, rows = add_member(cluster, centre, bags, t)
        if size + 1 < rule.k:
            slots = slots_of(cache, bags.word[cluster.terms[: cluster.n_known, size]])
            centre = make_centre(cluster, _next_sums(centre.sums, rows, cache.rows, slots), bags, rule)
            prices = _rescale(prices, rows, size + 1)
    return cluster, first, first_prices


@jit
def _rescale(prices: NDArray[np.int64], rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the prices of bags, of some of those before, that have one more term each."""
    after = np.empty(len(rows), np.int64)
    for b in range(len(rows)):
        after[b] = prices[rows[b]] * (size + 1) // size
    return after


@jit
def begin(bags: Bags, t: int) -> Cluster:
    """Return a cluster of one vocabulary."""
    n = bags.indptr[t + 1] - bags.indptr[t]
    members, terms, units = np.empty(1, np.int64), np.empty((n, 1), np.int32), np.empty(n, np.int64)
    members[0], n_known, n_done = t, 0, 0
    for is_known in (True, False):
        for i in range(bags.indptr[t], bags.indptr[t + 1]):
            if (bags.word[bags.ids[i]] >= 0) == is_known:
                terms[n_done, 0], units[n_done] = bags.ids[i], bags.counts[i]
                n_known, n_done = n_known + is_known, n_done + 1
    return Cluster(members, terms, units, n_known)


@jit
def add_member(cluster: Cluster, centre: Centre, bags: Bags, t: int) -> tuple[Cluster, NDArray[np.int64]]:
    """Return the cluster with one more vocabulary, and the old bag of each of its known bags.

    Bags without a matching term are dropped; a term that the network does not know matches only itself.
    """
    rows, joined, amounts = _join(centre, cluster.terms[: cluster.n_known], bags, t)
    ids, counts = bags.ids[bags.indptr[t] : bags.indptr[t + 1]], bags.counts[bags.indptr[t] : bags.indptr[t + 1]]
    n_members, n_known, n_unknown = len(cluster.members), len(rows), 0
    for term in ids:
        n_unknown += centre.own[term] > 0
    members, units = np.empty(n_members + 1, np.int64), np.empty(n_known + n_unknown, np.int64)
    terms = np.empty((len(units), n_members + 1), np.int32)
    for member in range(n_members):
        members[member] = cluster.members[member]
    members[n_members] = t
    for b in range(n_known):
        for member in range(n_members):
            terms[b, member] = cluster.terms[rows[b], member]
        terms[b, n_members], units[b] = joined[b], amounts[b]
    b = n_known
    for i in range(len(ids)):
        if centre.own[ids[i]] > 0:
            for member in range(n_members + 1):
                terms[b, member] = ids[i]
            units[b] = min(centre.own[ids[i]], counts[i])
            b += 1
    return Cluster(members, terms, units, n_known), rows


@jit
def centre_of(cluster: Cluster, bags: Bags, cache: DistanceCache, rule: ClusteringRule) -> Centre:
    """Return the centre of a cluster."""
    sums = np.zeros((cluster.n_known, cache.rows.shape[1]), cache.sums.dtype)
    for member in range(len(cluster.members)):
        slots = slots_of(cache, bags.word[cluster.terms[: cluster.n_known, member]])
        sums = _next_sums(sums, np.arange(len(sums)), cache.rows, slots)
    return make_centre(cluster, sums, bags, rule)


@jit
def _next_sums(sums: Sums, rows: NDArray[np.int64], table: NDArray[np.uint8], slots: NDArray[np.int64]) -> Sums:
    """Return the sums of bags that took one more word each; `rows` are their numbers before."""
    n_words, most = table.shape[1], sums.dtype.type(apart(sums))
    after = np.empty((len(rows), n_words), sums.dtype)
    for b in range(len(rows)):
        row, before = table[slots[b]], sums[rows[b]]
        for w in range(n_words):
            is_apart = (row[w] == FAR) | (before[w] == most)  # `or` would be a branch and prevent vectorising
            after[b, w] = most if is_apart else before[w] + row[w]
    return after


@jit
def mix(x: np.uint64) -> np.uint64:
    """Return the number that splitmix64 draws for a state."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def tie_numbers(price: int, n_pairs: int) -> tuple[int, int]:
    """Return how many bits a tie number has, and the factor by which a cost outweighs those of all pairs.

    The cost of all pairs, each at most the price, is then less than 2^61; very large problems get shorter tie numbers,
    or none.
    """
    scale_bits, cost_bits = 0, 0
    while 1 << scale_bits <= n_pairs:
        scale_bits += 1
    while 1 << cost_bits <= price:
        cost_bits += 1
    tie_bits = max(0, min(TIE_BITS, 61 - cost_bits - 2 * scale_bits))
    return tie_bits, 1 << (tie_bits + scale_bits if tie_bits else 0)


@jit
def _join(
    centre: Centre, terms: NDArray[np.int32], bags: Bags, t: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the canonical matching: bag, term of the vocabulary and number of each pair; `terms` are the bags'."""
    reach = np.zeros(centre.sums.shape[1] + 1, np.int32)
    for word in range(len(reach) - 1):
        reach[word] = 1  # even where it is near no bag
    columns = columns_of(bags, t, reach)
    sides = sides_of(centre, columns)
    tie_bits, scale = tie_numbers(centre.price[2], min(bags.sizes[t], centre.size))
    for b in range(len(terms)):
        bag = np.uint64(0)  # the sum of its terms' numbers, which does not depend on their order
        for term in terms[b]:
            bag += mix(np.uint64(term + 1))
        for c in range(len(columns.position)):
            if sides.cost[b, c] < 0:
                drawn = mix(bag + np.uint64(3) * mix(np.uint64(bags.ids[columns.position[c]] + 1)))
                sides.cost[b, c] = sides.cost[b, c] * scale + np.int64(
                    drawn >> np.uint64(1) >> np.uint64(63 - tie_bits)
                )
    finish(sides)
    rows, joined = np.empty(len(sides.taken), np.int64), np.empty(len(sides.taken), np.int32)
    amounts = np.zeros(len(sides.taken), np.int64)
    n_pairs = 0
    n_of = np.zeros(len(terms), np.int64)  # how many occurrences of a term each bag took
    for c in range(len(columns.position)):
        for row in sides.taken[sides.position[c] : sides.position[c + 1]]:
            if row != NONE:
                n_of[row] += 1
        for row in range(len(n_of)):
            if n_of[row] > 0:
                rows[n_pairs], joined[n_pairs] = row, bags.ids[columns.position[c]]
                amounts[n_pairs], n_of[row] = n_of[row], 0
                n_pairs += 1
    return rows[:n_pairs], joined[:n_pairs], amounts[:n_pairs]
