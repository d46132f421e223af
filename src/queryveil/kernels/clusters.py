"""Vocabularies and the centre of a cluster: how far one is from the other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.matching import Sides, assign, make_sides
from queryveil.kernels.matching_distances import APART

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
