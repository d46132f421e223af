"""Distances between words, and between a vocabulary and the centre of a cluster (Liu and Wang 2010).

The centre of a cluster is a set of bags with one term of each member. A vocabulary is matched with the bags; a pair
costs the sum of the distances between the term and those of the bag, and every unmatched bag and term its price.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import NOT_NEGATIVE, jit
from queryveil.kernels.clustering.matching import Sides, assign, finish, make_sides
from queryveil.kernels.order import maximum_of
from queryveil.kernels.semantics import Ancestry

FAR = 255  # a distance in one byte: more than the limit
NO_LIMIT = 1 << 60
HEIGHT_BITS = 8  # of a word and its height in one number
_HEIGHT = (1 << HEIGHT_BITS) - 1
_BLOCK = 2_048  # words at a time, so that their results stay in the processor's cache


class ClusteringRule(NamedTuple):
    """The parameters that decide which terms are matched."""

    k: int
    eps: int
    omega: int
    is_maximum: bool
    is_farthest: bool  # the next cluster begins farthest from where the last one did, else first in the log


# sums of distances; the largest number of the type if one of them is FAR
Sums = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]


class DistanceCache(NamedTuple):
    """Rows of distances from one word to all words, computed when they are needed."""

    ancestry: Ancestry  # of the words
    below_indptr: NDArray[np.int64]  # (nodes + 1,): node → the words below it, the nearest first
    below: NDArray[np.uint32]  # words, each with its height in the last byte
    rows: NDArray[np.uint8]  # (slots, words)
    slot: NDArray[np.int64]  # (words,): −1 if the row is not cached
    filled: NDArray[np.int64]  # (1,): number of cached rows
    sums: Sums  # (0,): of the type of all sums, see `sums_of_type`


class Bags(NamedTuple):
    """The vocabularies: histories × terms, each term with its word in the network."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    sizes: NDArray[np.int64]  # (histories,): occurrences
    owner: NDArray[np.int32]
    word: NDArray[np.int32]  # (terms,): −1 if the network does not know the term
    words: NDArray[np.int32]  # (pairs,): the word of each pair's term
    known: NDArray[np.int64]  # (histories,): occurrences of terms that the network knows
    holder_indptr: NDArray[np.int64]  # (terms + 1,): unknown term → the histories that hold it
    holders: NDArray[np.int32]
    held: NDArray[np.int32]  # how often


class Cluster(NamedTuple):
    """The members in the order they joined, and the bags of their terms, bags of known terms first."""

    members: NDArray[np.int64]
    terms: NDArray[np.int32]  # (bags, members): one term of each member
    units: NDArray[np.int64]  # (bags,): how many equal bags there are
    n_known: int


class Centre(NamedTuple):
    """What a vocabulary is matched with: bags of one term of each member."""

    sums: Sums  # (bags, words): the sum of the distances of a word from all terms of the bag
    units: NDArray[np.int64]  # (bags,): how many equal bags there are
    own: NDArray[np.int32]  # (terms,): bags of a term that the network does not know; they hold nothing else
    size: int  # bags, counted with multiplicity, those of unknown terms included
    price: NDArray[np.int64]  # the cost of an unmatched bag, of an unmatched term, and of both
    is_maximum: bool  # as many pairs as possible are matched, and only they count


class Columns(NamedTuple):
    """The terms of a vocabulary that a centre may be matched with."""

    position: NDArray[np.int64]  # (columns,): position among all pairs
    word: NDArray[np.int64]  # (columns,): column of `Centre.sums`
    room: NDArray[np.int64]  # (columns,): occurrences


def sums_of_type(n_members: int, eps: int) -> Sums:
    """Return no sums, of the smallest type that holds those of a cluster of so many members."""
    most = n_members * eps
    if most < np.iinfo(np.uint8).max:
        return np.empty(0, np.uint8)
    return np.empty(0, np.uint16) if most < np.iinfo(np.uint16).max else np.empty(0, np.uint32)


Costs = NDArray[np.int32] | NDArray[np.int64]  # (bags, columns)


@jit
def apart(sums: Sums) -> int:
    """Return the sum of distances one of which is FAR."""
    return np.iinfo(sums.dtype).max


@jit
def words_below(ancestry: Ancestry, n_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the words below each node, the nearest first, each with its height: the transpose of the ancestors."""
    nodes, heights = ancestry.nodes, ancestry.heights
    indptr = np.zeros(n_nodes + 1, np.int64)
    for node in nodes:
        indptr[node + 1] += 1
    for node in range(n_nodes):
        indptr[node + 1] += indptr[node]
    fill = indptr[:-1].copy()
    words = np.empty(len(nodes), np.uint32)
    for height in range(maximum_of(heights) + 1):
        for word in range(len(ancestry.middle)):
            for i in range(ancestry.indptr[word], ancestry.indptr[word + 1]):
                if heights[i] == height:
                    words[fill[nodes[i]]] = (word << HEIGHT_BITS) + height
                    fill[nodes[i]] += 1
    return indptr, words


@jit
def slots_of(cache: DistanceCache, words: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the cache slots of the words' distance rows, computing the missing ones.

    If the cache is full it is emptied first, so slots are valid until the next call; it must have room for the words.
    """
    slots = np.empty(len(words), np.int64)
    i = 0
    while i < len(words):
        word = words[i]
        if cache.slot[word] < 0:
            if cache.filled[0] == len(cache.rows):
                cache.filled[0], i = 0, 0
                for each in range(len(cache.slot)):
                    cache.slot[each] = -1
                continue
            cache.slot[word] = cache.filled[0]
            _fill(cache, word, cache.rows[cache.filled[0]])
            cache.filled[0] += 1
        slots[i] = cache.slot[word]
        i += 1
    return slots


@jit
def _fill(cache: DistanceCache, word: int, row: NDArray[np.uint8]) -> None:
    """Set the distance of one word to every other: as nouns if both can be, else by their other senses."""
    ancestry, limit = cache.ancestry, cache.ancestry.limit
    for other in range(len(row)):
        row[other] = FAR
    begin, middle, end = ancestry.indptr[word], ancestry.middle[word], ancestry.indptr[word + 1]
    for i in range(begin, end):
        node, height = ancestry.nodes[i], ancestry.heights[i]
        is_noun = i < middle or middle == begin  # every word below a noun can be one
        for j in range(cache.below_indptr[node] & NOT_NEGATIVE, cache.below_indptr[node + 1]):
            packed = cache.below[j]
            steps, other = height + np.int64(packed & np.uint32(_HEIGHT)), packed >> np.uint32(HEIGHT_BITS)
            if steps > limit:
                break
            if is_noun or ancestry.middle[other] == ancestry.indptr[other]:
                row[other] = min(row[other], np.uint8(steps))


@jit
def make_centre(cluster: Cluster, sums: Sums, bags: Bags, rule: ClusteringRule) -> Centre:
    """Return the centre of a cluster, given the sums of distances of its known bags.

    By the maximum model one more pair must save more than all others together can lose.
    """
    own = np.zeros(len(bags.word), np.int32)
    for b in range(cluster.n_known, len(cluster.units)):
        own[cluster.terms[b, 0]] = cluster.units[b]
    n_members, size = len(cluster.members), 0
    for units in cluster.units:
        size += units
    price = np.zeros(3, np.int64)
    if rule.is_maximum:
        price[2] = n_members * rule.eps * (size + 1) + 1
    else:
        price[0], price[1], price[2] = n_members * rule.omega, rule.omega, (n_members + 1) * rule.omega
    return Centre(sums, cluster.units[: cluster.n_known], own, size, price, rule.is_maximum)


@jit
def best_savings(centre: Centre, prices: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return, for every word, its saving with the best bag less the price of that, and how many bags are near it.

    Prices of bags are at most 0. One more element, index −1, stands for unknown words, which are near no bag.
    """
    n_bags, n_words = centre.sums.shape
    weight = centre.sums.dtype.type(min(centre.price[2], apart(centre.sums)))
    savings, reach = np.zeros(n_words + 1, np.int32), np.zeros(n_words + 1, np.int32)
    for begin in range(0, n_words, _BLOCK):
        end = min(begin + _BLOCK, n_words)
        saved, near = savings[begin:end], reach[begin:end]
        for b in range(n_bags):
            row, units = centre.sums[b, begin:end], np.int32(centre.units[b])
            most = np.int32(centre.price[2] + prices[b])
            for w in range(len(row)):
                is_near = row[w] < weight
                saved[w] = max(saved[w], np.int32(most - np.int32(row[w])) if is_near else np.int32(0))
                near[w] += units if is_near else np.int32(0)
    return savings, reach


@jit
def unmatched_cost(centre: Centre, bags: Bags, t: int) -> int:
    """Return the distance of a vocabulary from a centre if only terms unknown to the network are matched."""
    total = centre.price[0] * centre.size + centre.price[1] * bags.sizes[t]
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        total -= centre.price[2] * min(centre.own[bags.ids[i]], bags.counts[i])
    return total


@jit
def columns_of(bags: Bags, t: int, reach: NDArray[np.int32]) -> Columns:
    """Return the terms of a vocabulary that are near some bag."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    position, word = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    n_columns = 0
    for i in range(begin, end):
        w = bags.words[i]  # −1, with a reach of 0, if the network does not know it
        position[n_columns], word[n_columns] = i, w
        n_columns += reach[w] > 0  # otherwise it is overwritten
    position = position[:n_columns]
    room = np.empty(n_columns, np.int64)
    for c in range(n_columns):
        room[c] = bags.counts[position[c]]
    return Columns(position, word[:n_columns], room)


@jit
def fill_costs(centre: Centre, columns: Columns, shift: int, costs: Costs) -> None:
    """Set the cost, at most 0, of every pair of a bag and a term, shifted."""
    price, near = costs.dtype.type(centre.price[2]), min(centre.price[2], apart(centre.sums))
    for b in range(len(costs)):
        row = centre.sums[b]
        for c in range(len(columns.word)):
            steps = costs.dtype.type(row[columns.word[c] & NOT_NEGATIVE])
            costs[b, c] = (steps - price) << shift if steps < near else 0


@jit
def sides_of(centre: Centre, columns: Columns) -> Sides:
    """Return the matching problem of bags and terms."""
    costs = np.empty((len(centre.units), len(columns.word)), np.int64)
    fill_costs(centre, columns, 0, costs)
    return make_sides(costs, centre.units, columns.room)


@jit
def distance(centre: Centre, bags: Bags, t: int, columns: Columns, least: int, most: int) -> tuple[int, bool]:
    """Return the distance of a vocabulary from a centre, and True.

    By the perfect model the matching stops, and returns False, once the distance is known to be below `least` or above
    `most`; the returned bound is so too.
    """
    sides = sides_of(centre, columns)
    n_rows, n_columns = sides.cost.shape
    difference = 0
    for room in columns.room:
        difference += room
    for units in centre.units:
        difference -= units
    if difference < 0:  # paths from the smaller side are fewer and shorter
        cost = np.empty((n_columns, n_rows), np.int64)
        for b in range(n_rows):
            for c in range(n_columns):
                cost[c, b] = sides.cost[b, c]
        sides = make_sides(cost, columns.room, centre.units)
    if centre.is_maximum:
        total = finish(sides)
        for used in sides.used:
            total += centre.price[2] * used
        return total, True
    base = unmatched_cost(centre, bags, t)
    total, is_done = assign(sides, least - base, most - base)
    return base + total, is_done


@jit
def distance_to_cluster(
    cluster: Cluster,
    rule: ClusteringRule,
    bags: Bags,
    t: int,
    cache: DistanceCache,
    slots: NDArray[np.int64],  # (known terms of the vocabulary,): the row of each in the cache
    most: int,
) -> int:
    """Return the distance of a vocabulary from a cluster without a centre; exact only up to `most`.

    Only the sums of distances of the vocabulary's own words are computed.
    """
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    position = begin + np.flatnonzero(bags.word[bags.ids[begin:end]] >= 0)
    sums = np.zeros((cluster.n_known, len(position)), cache.sums.dtype)
    for b in range(cluster.n_known):
        for c in range(len(position)):
            for term in cluster.terms[b]:
                away = cache.rows[slots[c], bags.word[term]]
                is_apart = away == FAR or sums[b, c] == apart(sums)
                sums[b, c] = apart(sums) if is_apart else sums[b, c] + away
    columns = Columns(position, np.arange(len(position)), bags.counts[position].astype(np.int64))
    return distance(make_centre(cluster, sums, bags, rule), bags, t, columns, -NO_LIMIT, most)[0]
