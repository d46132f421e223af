"""Vocabularies and the centre of a cluster: how far one is from the other.

How far one word is from all others, up to a limit: a row at a time, by way of the ancestors they share.

How far a vocabulary is from a finished cluster, whose distances from all words are no longer there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.matching import Sides, assign, make_sides

FAR = 255  # of a distance in one byte: more than the limit
APART = 65_535  # of a sum of distances in two: one of them was
HEIGHT_BITS = 8  # of a word and its height in one number
_HEIGHT = (1 << HEIGHT_BITS) - 1


class Ancestors(NamedTuple):
    """The ancestors of words, nouns first, as `semantics.distances.Ancestry` has them."""

    indptr: NDArray[np.int64]
    middle: NDArray[np.int64]  # (words,): where, in its row, the ancestors begin that are not nouns
    nodes: NDArray[np.int32]
    heights: NDArray[np.int32]


class Descendants(NamedTuple):
    """The words below each node, the nearest first."""

    indptr: NDArray[np.int64]  # (nodes + 1,)
    words: NDArray[np.uint32]  # each with its height, the last byte


class Table(NamedTuple):
    """How far words are from each other: rows that are filled when they are needed."""

    ancestors: Ancestors
    below: Descendants
    limit: int
    rows: NDArray[np.uint8]  # (slots, words)
    slot: NDArray[np.int64]  # (words,): −1 where the row is not there
    filled: NDArray[np.int64]  # (1,): rows that are


@jit
def descendants(ancestors: Ancestors, n_nodes: int) -> Descendants:
    """Turn ancestors of words into words below nodes."""
    nodes, heights = ancestors.nodes, ancestors.heights
    indptr = np.zeros(n_nodes + 1, np.int64)
    for node in nodes:
        indptr[node + 1] += 1
    indptr = np.cumsum(indptr)
    fill = indptr[:-1].copy()
    words = np.empty(len(nodes), np.uint32)
    highest = 0
    for height in heights:
        highest = max(highest, height)
    for height in range(highest + 1):
        for word in range(len(ancestors.middle)):
            for i in range(ancestors.indptr[word], ancestors.indptr[word + 1]):
                if heights[i] == height:
                    words[fill[nodes[i]]] = (word << HEIGHT_BITS) + height
                    fill[nodes[i]] += 1
    return Descendants(indptr, words)


@jit
def slots_of(table: Table, words: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where the rows of words stand in the table, until it is asked for others; those not there are filled in.

    Where there is no room left the table begins anew with these words, for which there must be room.
    """
    slots = np.empty(len(words), np.int64)
    i = 0
    while i < len(words):
        word = words[i]
        if table.slot[word] < 0:
            if table.filled[0] == len(table.rows):
                table.slot[:], table.filled[0], i = -1, 0, 0
                continue
            table.slot[word] = table.filled[0]
            _fill(table, word, table.rows[table.filled[0]])
            table.filled[0] += 1
        slots[i] = table.slot[word]
        i += 1
    return slots


@jit
def _fill(table: Table, word: int, row: NDArray[np.uint8]) -> None:
    """Set the distance of one word to every other: as nouns where both can be, else by what else they can be."""
    ancestors, below = table.ancestors, table.below
    row[:] = FAR
    begin, middle, end = ancestors.indptr[word], ancestors.middle[word], ancestors.indptr[word + 1]
    for i in range(begin, end):
        node, height = ancestors.nodes[i], ancestors.heights[i]
        words = below.words[below.indptr[node] : below.indptr[node + 1]]
        if i < middle or middle == begin:  # whatever is below a noun can be one
            for packed in words:
                steps = height + np.int64(packed & np.uint32(_HEIGHT))
                if steps > table.limit:
                    break
                other = packed >> np.uint32(HEIGHT_BITS)
                row[other] = min(row[other], np.uint8(steps))
        else:
            for packed in words:
                steps, other = height + np.int64(packed & np.uint32(_HEIGHT)), packed >> np.uint32(HEIGHT_BITS)
                if steps <= table.limit and ancestors.middle[other] == ancestors.indptr[other]:
                    row[other] = min(row[other], np.uint8(steps))


NO_LIMIT = 1 << 60
_BLOCK = 2_048  # words at a time, so that what is found of them stays at hand


class Rule(NamedTuple):
    """What decides which terms are matched."""

    k: int
    eps: int
    omega: int
    is_maximum: bool
    is_farthest: bool  # the next cluster begins farthest from where the last one did, else first in the log


class Bags(NamedTuple):
    """The vocabularies: histories × terms, each term with its word in the network."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    sizes: NDArray[np.int64]  # (histories,): occurrences
    owner: NDArray[np.int32]
    word: NDArray[np.int32]  # (terms,): −1 where the network does not know it


class Centre(NamedTuple):
    """What a vocabulary is matched with: bags of one term of each member."""

    sums: NDArray[np.uint16]  # (bags, words): the distances of a word from all terms of the bag, added up
    units: NDArray[np.int64]  # (bags,): how many alike there are
    own: NDArray[np.int32]  # (terms,): bags of a term that the network does not know; they hold nothing else
    size: int  # bags, alike ones and those of unknown terms counted
    price: NDArray[np.int64]  # what a bag, a term and both together cost unmatched
    is_maximum: bool  # as many as can be are matched, and only they count


class Columns(NamedTuple):
    """The terms of a vocabulary that a centre may be matched with."""

    place: NDArray[np.int64]  # (columns,): where each stands among all pairs
    word: NDArray[np.int64]  # (columns,)
    room: NDArray[np.int64]  # (columns,): occurrences


@jit
def price_of(rule: Rule, members: int, size: int) -> NDArray[np.int64]:
    """Return what a bag of so many terms, a term, and both together cost unmatched; there are `size` bags.

    By the maximum model a pair more must save more than all others together can lose.
    """
    if rule.is_maximum:
        return np.array([0, 0, members * rule.eps * (size + 1) + 1])
    return np.array([members * rule.omega, rule.omega, (members + 1) * rule.omega])


@jit
def best_savings(centre: Centre, prices: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return, for every word, what it saves with the best bag once that is paid for, and how many bags are near it.

    Prices are what the bags cost, as numbers up to 0. Behind the words there is one more, −1, that no bag is near.
    """
    n_bags, n_words = centre.sums.shape
    weight = np.uint16(min(centre.price[2], APART))
    savings, reach = np.zeros(n_words + 1, np.int32), np.zeros(n_words + 1, np.int32)
    for begin in range(0, n_words, _BLOCK):
        end = min(begin + _BLOCK, n_words)
        saved, near = savings[begin:end], reach[begin:end]
        for b in range(n_bags):
            row, units = centre.sums[b, begin:end], np.int32(centre.units[b])
            most = np.int32(centre.price[2] + prices[b])
            for w in range(len(row)):
                saved[w] = max(saved[w], np.int32(most - np.int32(row[w])))
                near[w] += units if row[w] < weight else np.int32(0)
    return savings, reach


@jit
def unmatched(centre: Centre, bags: Bags, t: int) -> int:
    """Return how far a vocabulary is from a centre if only what the network does not know is matched."""
    total = centre.price[0] * centre.size + centre.price[1] * bags.sizes[t]
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        total -= centre.price[2] * min(centre.own[bags.ids[i]], bags.counts[i])
    return total


@jit
def columns_of(bags: Bags, t: int, reach: NDArray[np.int32]) -> Columns:
    """Return the terms of a vocabulary that some bags are near."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    place, word = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    n_columns = 0
    for i in range(begin, end):
        w = bags.word[bags.ids[i]]  # −1, for which nothing is near, if the network does not know it
        place[n_columns], word[n_columns] = i, w
        n_columns += reach[w] > 0  # else it is written over
    place = place[:n_columns]
    room = np.empty(n_columns, np.int64)
    for c in range(n_columns):
        room[c] = bags.counts[place[c]]
    return Columns(place, word[:n_columns], room)


@jit
def sides_of(centre: Centre, columns: Columns) -> Sides:
    """Return bags and terms to match."""
    n_rows, n_columns = len(centre.units), len(columns.word)
    cost = np.empty((n_rows, n_columns), np.int64)
    for b in range(n_rows):
        near = centre.sums[b]
        for c in range(n_columns):
            steps = np.int64(near[columns.word[c]])
            cost[b, c] = min(0, steps - centre.price[2]) if steps < APART else 0
    return make_sides(cost, centre.units, columns.room)


@jit
def distance(centre: Centre, bags: Bags, t: int, reach: NDArray[np.int32], least: int, most: int) -> tuple[int, bool]:
    """Return how far a vocabulary is from a centre, and True.

    By the perfect model it is given up, and said so by False, once it is seen to be below `least` or above `most`.
    """
    sides = sides_of(centre, columns_of(bags, t, reach))
    if centre.is_maximum:
        total, _ = assign(sides, -NO_LIMIT, NO_LIMIT)
        return total + centre.price[2] * sides.used.sum(), True
    base = unmatched(centre, bags, t)
    total, is_done = assign(sides, least - base, most - base)
    return base + total, is_done


@jit
def distance_to(
    terms: NDArray[np.int32],  # (bags, members)
    units: NDArray[np.int64],  # (bags,)
    rule: Rule,
    bags: Bags,
    t: int,
    table: NDArray[np.uint8],  # (…, words): distances
    slots: NDArray[np.int64],  # (known terms of the vocabulary,): the row of each in the table
    most: int,
) -> int:
    """Return how far it is; where that is more than `most`, something that is more too."""
    price = price_of(rule, terms.shape[1], units.sum())
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    columns = begin + np.flatnonzero(bags.word[bags.ids[begin:end]] >= 0)
    cost = np.zeros((len(units), len(columns)), np.int64)
    total = price[1] * bags.sizes[t]
    for b in range(len(units)):
        total += price[0] * units[b]
        if bags.word[terms[b, 0]] < 0:
            total -= 0 if rule.is_maximum else price[2] * min(units[b], _count(bags, t, terms[b, 0]))
        else:
            for c in range(len(columns)):
                cost[b, c] = _steps(terms[b], bags.word, table[slots[c]], price[2]) - price[2]
    room = bags.counts[columns].astype(np.int64)
    sides = make_sides(cost, units, room)
    if rule.is_maximum:
        saved, _ = assign(sides, -NO_LIMIT, NO_LIMIT)
        return saved + price[2] * sides.used.sum()
    saved, _ = assign(sides, -NO_LIMIT, most - total)
    return total + saved


@jit
def _count(bags: Bags, t: int, term: int) -> int:
    """Return how often a vocabulary holds a term."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    i = begin + np.searchsorted(bags.ids[begin:end], term)
    return bags.counts[i] if i < end and bags.ids[i] == term else 0


@jit
def _steps(bag: NDArray[np.int32], word: NDArray[np.int32], row: NDArray[np.uint8], most: int) -> int:
    """Return the distances of a word, whose row this is, from the terms of a bag, added up; `most` if that is more."""
    steps = 0
    for term in bag:
        away = row[word[term]]
        steps = most if away == FAR else steps + away
        if steps >= most:
            return most
    return steps
