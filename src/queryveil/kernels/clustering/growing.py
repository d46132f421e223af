"""A cluster from the vocabulary that begins it until it has k people, with the centres in between.

Taking a vocabulary into a cluster: the canonical matching.

Of several matchings of the least cost the canonical one has the smallest sum of tie numbers (docs/decisions/0018).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.centres import (
    APART,
    FAR,
    Bags,
    Centre,
    Rule,
    Table,
    columns_of,
    price_of,
    sides_of,
    slots_of,
)
from queryveil.kernels.clustering.matching import NONE, assign
from queryveil.kernels.clustering.search import nearest


class Matched(NamedTuple):
    """Who is in a cluster, in the order they joined, and the bags of their terms, those the network knows first."""

    members: NDArray[np.int64]
    terms: NDArray[np.int32]  # (bags, members): one term of each member
    units: NDArray[np.int64]  # (bags,): how many alike there are
    n_known: int


@jit
def grown(
    bags: Bags, table: Table, rule: Rule, alive: NDArray[np.int64], seed: int
) -> tuple[Matched, Centre, NDArray[np.int64]]:
    """Return a cluster of k people, its first centre, and prices of the bags of that one.

    What is known of prices is handed on from centre to centre: bags that were wanted are wanted again.
    """
    cluster = begin(bags, seed)
    first = centre = centre_of(cluster, bags, table, rule)
    first_prices = prices = np.zeros(len(first.units), np.int64)
    is_barred = np.zeros(bags.owner.max() + 1, np.bool_)
    for size in range(1, rule.k):
        is_barred[bags.owner[cluster.members[size - 1]]] = True
        t = nearest(centre, bags, alive, is_barred, prices)
        cluster, rows = grow(cluster, centre, bags, t)
        if size + 1 < rule.k:
            slots = slots_of(table, bags.word[cluster.terms[: cluster.n_known, size]])
            centre = _centre(cluster, _next_sums(centre.sums, rows, table.rows, slots), bags, rule)
            prices = prices[rows] * (size + 2) // (size + 1)
    return cluster, first, first_prices


@jit
def begin(bags: Bags, t: int) -> Matched:
    """Return a cluster of one vocabulary."""
    ids, counts = bags.ids[bags.indptr[t] : bags.indptr[t + 1]], bags.counts[bags.indptr[t] : bags.indptr[t + 1]]
    is_known = bags.word[ids] >= 0
    order = np.concatenate((np.flatnonzero(is_known), np.flatnonzero(~is_known)))
    terms = ids[order].reshape((len(ids), 1))
    return Matched(np.array([t]), terms, counts[order].astype(np.int64), is_known.sum())


@jit
def grow(cluster: Matched, centre: Centre, bags: Bags, t: int) -> tuple[Matched, NDArray[np.int64]]:
    """Return the cluster with one vocabulary more, and which bag each of its known bags was.

    Bags that find no term are gone; a term that the network does not know finds itself alone.
    """
    rows, joined, amounts = join(centre, cluster.terms[: cluster.n_known], bags, t)
    own = np.empty(bags.indptr[t + 1] - bags.indptr[t], np.int64)  # places of unknown terms that both have
    n_own = 0
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        own[n_own] = i
        n_own += centre.own[bags.ids[i]] > 0
    n_members, n_known = len(cluster.members), len(rows)
    terms = np.empty((n_known + n_own, n_members + 1), np.int32)
    units = np.empty(n_known + n_own, np.int64)
    for b in range(n_known):
        terms[b, :n_members], terms[b, n_members] = cluster.terms[rows[b]], joined[b]
        units[b] = amounts[b]
    for b in range(n_own):
        term = bags.ids[own[b]]
        terms[n_known + b], units[n_known + b] = term, min(centre.own[term], bags.counts[own[b]])
    return Matched(np.append(cluster.members, t), terms, units, n_known), rows


@jit
def centre_of(cluster: Matched, bags: Bags, table: Table, rule: Rule) -> Centre:
    """Return the centre of a cluster."""
    words = bags.word[cluster.terms[: cluster.n_known].ravel()].reshape((cluster.n_known, len(cluster.members)))
    sums = np.zeros((cluster.n_known, table.rows.shape[1]), np.uint16)
    for member in range(len(cluster.members)):
        sums = _next_sums(sums, np.arange(len(sums)), table.rows, slots_of(table, words[:, member]))
    return _centre(cluster, sums, bags, rule)


@jit
def _centre(cluster: Matched, sums: NDArray[np.uint16], bags: Bags, rule: Rule) -> Centre:
    own = np.zeros(len(bags.word), np.int32)
    for b in range(cluster.n_known, len(cluster.units)):
        own[cluster.terms[b, 0]] = cluster.units[b]
    size = cluster.units.sum()
    price = price_of(rule, len(cluster.members), size)
    return Centre(sums, cluster.units[: cluster.n_known], own, size, price, rule.is_maximum)


@jit
def _next_sums(
    sums: NDArray[np.uint16], rows: NDArray[np.int64], table: NDArray[np.uint8], slots: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """Return the sums of bags that took one word more each; `rows` tells which bags they were."""
    n_words = table.shape[1]
    after = np.empty((len(rows), n_words), np.uint16)
    for b in range(len(rows)):
        row, before = table[slots[b]], sums[rows[b]]
        for w in range(n_words):
            is_apart = (row[w] == FAR) | (before[w] == APART)  # `or` would be a branch, one word at a time
            after[b, w] = np.uint16(APART) if is_apart else np.uint16(before[w] + np.uint16(row[w]))
    return after


TIE_BITS = 24
_NO_LIMIT = 1 << 62


@jit
def mix(x: np.uint64) -> np.uint64:
    """Return the number that splitmix64 draws for a state."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def tie_number(bag: np.uint64, term: int) -> np.int64:
    """Return the tie number of a bag, given as the sum of its terms' numbers, and a term that joins it."""
    return np.int64(mix(bag + np.uint64(3) * mix(np.uint64(term + 1))) >> np.uint64(64 - TIE_BITS))


@jit
def numbers_of(terms: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return, for every bag, the sum of its terms' numbers, whatever their order."""
    numbers = np.zeros(len(terms), np.uint64)
    for b in range(len(terms)):
        for term in terms[b]:
            numbers[b] += mix(np.uint64(term + 1))
    return numbers


@jit
def join(
    centre: Centre, terms: NDArray[np.int32], bags: Bags, t: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return which bag takes which term of a vocabulary, and how often; `terms` are those of the bags."""
    reach = np.ones(centre.sums.shape[1] + 1, np.int32)  # all words, be they near no bag
    reach[-1] = 0
    found = columns_of(bags, t, reach)
    sides, columns = sides_of(centre, found), found.place
    scale = np.int64(1) << TIE_BITS
    while scale >> TIE_BITS <= min(bags.sizes[t], centre.size):
        scale *= 2
    numbers = numbers_of(terms)
    for b in range(len(numbers)):
        for c in range(len(columns)):
            if sides.cost[b, c] < 0:
                sides.cost[b, c] = sides.cost[b, c] * scale + tie_number(numbers[b], bags.ids[columns[c]])
    assign(sides, -_NO_LIMIT, _NO_LIMIT)
    rows, joined = np.empty(len(sides.taken), np.int64), np.empty(len(sides.taken), np.int32)
    amounts = np.zeros(len(sides.taken), np.int64)
    n_pairs = 0
    for c in range(len(columns)):
        begin = n_pairs
        for row in np.sort(sides.taken[sides.place[c] : sides.place[c + 1]]):
            if row == NONE:
                continue
            if n_pairs == begin or rows[n_pairs - 1] != row:
                rows[n_pairs], joined[n_pairs] = row, bags.ids[columns[c]]
                n_pairs += 1
            amounts[n_pairs - 1] += 1
    return rows[:n_pairs], joined[:n_pairs], amounts[:n_pairs]
