"""Finding the vocabulary nearest to a centre, or farthest from it, without matching them all.

A bound for every vocabulary comes first, from what each of its terms can save at best; matchings are then made in the
order of the bounds, given up as soon as they cannot win, until no bound is left that could.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.matching import Sides, ascend, assign, make_sides
from queryveil.kernels.matching_distances import APART

_NO_LIMIT = 1 << 60
_MORE = 4  # times as many matchings before prices are looked at again


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

    sums: NDArray[np.uint16]  # (words, bags): the distances of a word from all terms of the bag, added up
    units: NDArray[np.int64]  # (bags,): how many alike there are
    own: NDArray[np.int32]  # (terms,): bags of a term that the network does not know; they hold nothing else
    size: int  # bags, alike ones and those of unknown terms counted
    price: NDArray[np.int64]  # what a bag, a term and both together cost unmatched
    is_maximum: bool  # as many as can be are matched, and only they count


@jit
def best_savings(centre: Centre) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every word, what it saves with the best bag, and how many bags it may be matched with."""
    n_words, n_bags = centre.sums.shape
    savings, reach = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    weight = min(centre.price[2], APART)
    for w in range(n_words):
        lowest = weight
        for b in range(n_bags):
            lowest = min(lowest, centre.sums[w, b])
            reach[w] += centre.units[b] if centre.sums[w, b] < weight else 0
        savings[w] = centre.price[2] - lowest if lowest < weight else 0
    return savings, reach


@jit
def unmatched(centre: Centre, bags: Bags, t: int) -> int:
    """Return how far a vocabulary is from a centre if only what the network does not know is matched."""
    total = centre.price[0] * centre.size + centre.price[1] * bags.sizes[t]
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        if centre.own[bags.ids[i]] > 0:
            total -= centre.price[2] * min(centre.own[bags.ids[i]], bags.counts[i])
    return total


@jit
def sides_of(centre: Centre, bags: Bags, t: int, savings: NDArray[np.int64]) -> tuple[Sides, NDArray[np.int64]]:
    """Return bags and terms that may be matched, and where each of these terms stands among all pairs."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    columns = np.empty(end - begin, np.int64)
    n_columns = 0
    for i in range(begin, end):
        w = bags.word[bags.ids[i]]
        if w >= 0 and savings[w] > 0:
            columns[n_columns] = i
            n_columns += 1
    columns = columns[:n_columns]
    room, words = np.empty(n_columns, np.int64), np.empty(n_columns, np.int32)
    for c in range(n_columns):
        room[c], words[c] = bags.counts[columns[c]], bags.word[bags.ids[columns[c]]]
    n_rows, n_pairs = len(centre.units), 0
    edges = np.zeros(n_rows + 1, np.int64)
    column, cost = np.empty(n_rows * n_columns + 1, np.int32), np.empty(n_rows * n_columns + 1, np.int64)
    least = min(centre.price[2], APART)
    near = np.empty((n_rows, n_columns), np.uint16)
    for c in range(n_columns):
        near[:, c] = centre.sums[words[c]]
    for b in range(n_rows):
        for c in range(n_columns):
            column[n_pairs], cost[n_pairs] = c, np.int64(near[b, c]) - centre.price[2]
            n_pairs += near[b, c] < least  # else it is written over
        edges[b + 1] = n_pairs
    return make_sides(edges, column[:n_pairs], cost[:n_pairs], centre.units, room), columns


@jit
def distance(
    centre: Centre,
    bags: Bags,
    t: int,
    savings: NDArray[np.int64],
    prices: NDArray[np.int64],
    least: int,
    most: int,
) -> tuple[int, bool, NDArray[np.int64]]:
    """Return how far a vocabulary is from a centre, and prices of the bags; `prices` are some to begin with.

    It is given up, and said so by False, once it is seen to be below `least` or above `most`.
    """
    sides, _ = sides_of(centre, bags, t, savings)
    base = unmatched(centre, bags, t)
    if centre.is_maximum:
        total, _ = assign(sides, -_NO_LIMIT, _NO_LIMIT)
        return total + centre.price[2] * sides.used.sum(), True, sides.u
    if most < _NO_LIMIT:
        u = prices.copy()
        bound = base + ascend(sides, u, most - base)
        if bound > most:
            return bound, False, u
    total, is_done = assign(sides, least - base, most - base)
    return base + total, is_done, sides.u


@jit
def gains(centre: Centre, bags: Bags, savings: NDArray[np.int64], reach: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return, for every term, what an occurrence of it saves at best, and how many occurrences can save."""
    gain = np.empty((len(bags.word), 2), np.int32)  # side by side, since they are looked up together
    for term in range(len(bags.word)):
        w = bags.word[term]
        if w >= 0:
            gain[term, 0], gain[term, 1] = savings[w], reach[w]
        else:
            gain[term, 0], gain[term, 1] = centre.price[2], centre.own[term]
    return gain


@jit
def raise_bounds(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    places: NDArray[np.int64],  # of those to look at among the ones alive
    savings: NDArray[np.int64],
    reach: NDArray[np.int64],
    paid: int,  # what the bags' prices come to
    bounds: NDArray[np.int64],  # (alive,): how far each is at least
) -> None:
    """Raise the bounds of vocabularies to what their terms' best savings say."""
    gain = gains(centre, bags, savings, reach)
    for a in places:
        t = alive[a]
        total = centre.price[0] * centre.size + centre.price[1] * bags.sizes[t] + paid
        for i in range(bags.indptr[t], bags.indptr[t + 1]):
            term = bags.ids[i]
            total -= np.int64(gain[term, 0]) * min(bags.counts[i], gain[term, 1])  # no branch: it would be a guess
        bounds[a] = max(bounds[a], total)


@jit
def priced_savings(centre: Centre, prices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for every word, what it saves with the best bag once that is paid for; any prices up to 0 will do."""
    n_words, n_bags = centre.sums.shape
    savings = np.zeros(n_words, np.int64)
    most = (centre.price[2] + prices).astype(np.int32)
    for w in range(n_words):
        best = np.int32(0)
        for b in range(n_bags):
            best = max(best, np.int32(most[b] - np.int32(centre.sums[w, b])))
        savings[w] = best
    return savings


@jit
def nearest(centre: Centre, bags: Bags, alive: NDArray[np.int64], is_barred: NDArray[np.bool_]) -> np.int64:
    """Return which of the vocabularies is nearest to a centre, the first of equals; people may be barred.

    One of them at least is not barred. After some matchings the mean of their prices makes the bounds better.
    """
    savings, reach = best_savings(centre)
    bounds = np.zeros(len(alive), np.int64)
    for a in range(len(alive)):
        if is_barred[bags.owner[alive[a]]]:
            bounds[a] = _NO_LIMIT
    waiting = np.flatnonzero(bounds == 0)
    if not centre.is_maximum:
        raise_bounds(centre, bags, alive, waiting, savings, reach, 0, bounds)
    best, found = _NO_LIMIT, np.int64(-1)
    prices, n_priced, n_more = np.zeros(len(centre.units), np.int64), 1, 1
    waiting = waiting[np.argmin(bounds[waiting]) :][:1]  # the one that looks nearest, then all that may be nearer
    while len(waiting):
        for place in waiting[:n_more]:
            if bounds[place] > best or (bounds[place] == best and place > found):
                continue
            away, is_done, u = distance(centre, bags, alive[place], savings, prices // n_priced, -_NO_LIMIT, best)
            prices += u
            n_priced += 1
            if is_done and (away < best or (away == best and place < found)):
                best, found = away, place
        bounds[waiting[:n_more]] = _NO_LIMIT
        waiting = np.flatnonzero(bounds <= best)
        n_more *= _MORE
        if len(waiting) > n_more and not centre.is_maximum:
            mean = prices // n_priced
            paid = (mean * centre.units).sum()
            raise_bounds(centre, bags, alive, waiting, priced_savings(centre, mean), reach, paid, bounds)
        waiting = waiting[bounds[waiting] <= best]
        waiting = waiting[np.argsort(bounds[waiting], kind="mergesort")]
    return found
