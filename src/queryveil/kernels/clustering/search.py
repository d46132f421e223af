"""Finding the vocabulary nearest to a centre without matching them all.

A bound for every vocabulary comes first, from what each of its terms can save at best; those that look nearest get a
better one each, by prices of the bags; matchings are made in the order of these bounds, given up as soon as they
cannot win, until no bound is left that could.

How low the cost of a matching may get at best, by prices of the bags: quick, and for every vocabulary anew.

Finding the vocabulary farthest from one that begins a cluster.

Whatever terms are matched, the distance is at most what that matching costs: none at all gives one bound, a quick one,
in which each term goes to the first bag with room among the few that are best for it, gives a better one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.centres import (
    APART,
    NO_LIMIT,
    Bags,
    Centre,
    best_savings,
    columns_of,
    distance,
    unmatched,
)

PARTS = 4  # bits: a price is so many times a sixteenth
# by how much prices change, round after round, for every occurrence too many or too few, up to so many
_STEPS = (24, 24, 20, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2)
_MOST = 8
_NO_BOUND = -(1 << 62)
_OFFER_BITS = 30  # of a saving and the number of its bag, in one number
_LANES = 32  # numbers that a processor's loop takes at once


class Cells(NamedTuple):
    """How far words are from the bags of a centre, the bags side by side; a word is put in when it is needed."""

    rows: NDArray[np.int32]  # (words, bags and some that save nothing)
    is_in: NDArray[np.bool_]  # (words,)


@jit
def no_cells(n_words: int, n_bags: int) -> Cells:
    """Return cells into which no word is put yet."""
    return Cells(np.empty((n_words, -(-n_bags // _LANES) * _LANES), np.int32), np.zeros(n_words, np.bool_))


@jit
def ascend(
    cells: Cells,
    sums: NDArray[np.uint16],  # (bags, words): distances
    words: NDArray[np.int64],  # (columns,)
    units: NDArray[np.int64],  # (bags,)
    room: NDArray[np.int64],  # (columns,)
    weight: int,  # what a pair saves that is not apart at all
    prices: NDArray[np.int64],  # (bags,): at most 0, in parts
    most: int,
) -> int:
    """Return a cost that the lowest is not below, from prices of the bags, which are made better as long as it helps.

    A bag that more columns want than it has occurrences gets dearer, one that fewer want cheaper. It ends once the cost
    is seen to be above `most`. The saving and the bag of a column are found as one number, many bags at once.
    """
    n_bags, shift = len(units), 0
    while 1 << shift < n_bags:
        shift += 1
    if weight >= min(1 << (_OFFER_BITS - shift - PARTS), APART):
        return _NO_BOUND
    _put_in(cells, sums, words, weight, shift + PARTS)
    offers, spare = np.zeros(cells.rows.shape[1], np.int32), np.empty(n_bags, np.int64)
    mask, best = (1 << shift) - 1, _NO_BOUND
    for step in _STEPS:
        total = 0
        for b in range(n_bags):
            total += prices[b] * units[b]
            offers[b] = (((weight << PARTS) + prices[b]) << shift) + b
            spare[b] = units[b]
        for c in range(len(words)):
            highest = _highest(offers, cells.rows[words[c]])
            saving = np.int64(highest >> shift)
            total -= saving * room[c]
            spare[highest & mask] -= room[c] if saving > 0 else 0
        best = max(best, -(-total >> PARTS))  # costs are whole numbers
        if best > most:
            break
        for b in range(n_bags):
            prices[b] = min(0, prices[b] + step * max(-_MOST, min(_MOST, spare[b])))
    return best


@jit
def _put_in(cells: Cells, sums: NDArray[np.uint16], words: NDArray[np.int64], weight: int, shift: int) -> None:
    """Put the distances of words into the cells, as far as they matter, shifted."""
    for word in words:
        if not cells.is_in[word]:
            row = cells.rows[word]
            for b in range(len(sums)):
                row[b] = np.int32(min(sums[b, word], np.uint16(weight))) << shift
            row[len(sums) :] = weight << shift
            cells.is_in[word] = True


@jit
def _highest(offers: NDArray[np.int32], row: NDArray[np.int32]) -> np.int32:
    """Return the most that a bag saves a word, with the bag's number behind it."""
    highest = np.int32(0)
    for b in range(len(offers)):
        highest = max(highest, np.int32(offers[b] - row[b]))
    return highest


_FIRST = 4  # vocabularies with bounds of their own before prices are looked at for all
_MORE = 3  # times as many before the next time
_SHARE = 3  # bits: what each adds to the mean of prices is the eighth part
_REACH_BITS = 16  # of how many occurrences of a term can save, behind what one saves
_MANY = (1 << _REACH_BITS) - 1


@jit
def nearest(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    is_barred: NDArray[np.bool_],
    prices: NDArray[np.int64],  # (bags,): some to begin with, at most 0, in parts; better ones afterwards
) -> int:
    """Return which of the vocabularies is nearest to a centre, the first of equals; people may be barred.

    One of them at least is not barred.
    """
    bounds = np.zeros(len(alive), np.int64)  # how far each is at least
    for a in range(len(alive)):
        if is_barred[bags.owner[alive[a]]]:
            bounds[a] = NO_LIMIT
    waiting = np.flatnonzero(bounds == 0)
    reach = _raise_bounds(centre, bags, alive, waiting, prices, bounds)
    cells = no_cells(centre.sums.shape[1], len(centre.units))
    best, found, n_more = NO_LIMIT, np.int64(-1), _FIRST
    while len(waiting):
        some = _lowest(waiting, bounds, n_more)
        for place in some:
            if bounds[place] <= best and not centre.is_maximum:
                bound = _least(centre, cells, bags, alive[place], reach, prices, best)
                bounds[place] = max(bounds[place], bound)
        for place in some[np.argsort(bounds[some], kind="mergesort")]:
            if bounds[place] < best or (bounds[place] == best and place < found):
                away, is_done = distance(centre, bags, alive[place], reach, -NO_LIMIT, best)
                if is_done and (away < best or (away == best and place < found)):
                    best, found = away, place
            bounds[place] = NO_LIMIT
        waiting = np.flatnonzero(bounds <= best)
        n_more *= _MORE
        if len(waiting) > n_more:
            _raise_bounds(centre, bags, alive, waiting, prices, bounds)
            waiting = waiting[bounds[waiting] <= best]
    return int(alive[found])


@jit
def _lowest(places: NDArray[np.int64], bounds: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the places of the lowest bounds, so many, the lowest first; far more need not be sorted for that."""
    if len(places) > n:
        places = places[bounds[places] <= np.partition(bounds[places], n)[n]]
    return places[np.argsort(bounds[places], kind="mergesort")][:n]


@jit
def _least(
    centre: Centre,
    cells: Cells,
    bags: Bags,
    t: int,
    reach: NDArray[np.int32],
    prices: NDArray[np.int64],
    most: int,
) -> int:
    """Return how far a vocabulary is at least; it need not be exact above `most`. Prices move towards its own."""
    columns = columns_of(bags, t, reach)
    base = unmatched(centre, bags, t)
    own = prices.copy()
    weight = centre.price[2]
    bound = ascend(cells, centre.sums, columns.word, centre.units, columns.room, weight, own, most - base)
    for b in range(len(prices)):
        prices[b] += (own[b] - prices[b]) >> _SHARE
    return base + bound


@jit
def _raise_bounds(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    places: NDArray[np.int64],  # of those to look at among the ones alive
    prices: NDArray[np.int64],
    bounds: NDArray[np.int64],  # (alive,)
) -> NDArray[np.int32]:
    """Raise the bounds of vocabularies to what their terms' best savings say; return how many bags each word is near.

    By the maximum model there are no bounds, nor where savings or bags are so many that they do not fit two bytes.
    """
    whole = prices >> PARTS
    savings, reach = best_savings(centre, whole)
    if centre.is_maximum or max(centre.price[2], centre.size) > _MANY:
        return reach
    gain = _gains(centre, bags, savings, reach)
    paid = (whole * centre.units).sum()
    for a in places:
        t = alive[a]
        total = centre.price[0] * centre.size + centre.price[1] * bags.sizes[t] + paid
        for i in range(bags.indptr[t], bags.indptr[t + 1]):
            most = np.int64(gain[bags.ids[i]])
            total -= (most >> _REACH_BITS) * min(bags.counts[i], most & _MANY)  # no branch: it would be a guess
        bounds[a] = max(bounds[a], total)
    return reach


@jit
def _gains(centre: Centre, bags: Bags, savings: NDArray[np.int32], reach: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return, for every term, what an occurrence of it saves at best and how many can save, as one number."""
    gain = np.empty(len(bags.word), np.uint32)
    for term in range(len(bags.word)):
        word, own = bags.word[term], centre.own[term]
        saving, most = savings[word], reach[word]
        known, unknown = (saving << _REACH_BITS) + most, (centre.price[2] << _REACH_BITS) + own
        gain[term] = known if word >= 0 else unknown
    return gain


_CHOICES = 6
_NO_CHOICE = (1 << 32) - 1
_BAG_BITS = 16  # of the number of a bag, behind what it costs
_DEAREST = 1 << 12


@jit
def farthest(centre: Centre, bags: Bags, largest: NDArray[np.int64], prices: NDArray[np.int64]) -> np.int64:
    """Return which of the vocabularies is farthest from the centre of one member, the first of equals.

    They come the largest first: a small one cannot be far. Any prices of the bags, up to 0 and in parts, will do.
    """
    _, reach = best_savings(centre, np.zeros(len(centre.units), np.int64))
    bounds = np.full(len(largest), NO_LIMIT, np.int64)
    waiting = np.arange(1, len(largest))
    best, _ = distance(centre, bags, largest[0], reach, -NO_LIMIT, NO_LIMIT)
    found = largest[0]
    if not centre.is_maximum:
        waiting = _far_enough(centre, bags, largest, prices, best, bounds)
    for a in waiting:
        t = largest[a]
        if bounds[a] > best or (bounds[a] == best and t < found):
            away, is_done = distance(centre, bags, t, reach, best, NO_LIMIT)
            if is_done and (away > best or (away == best and t < found)):
                best, found = away, t
    return found


@jit
def _far_enough(
    centre: Centre,
    bags: Bags,
    largest: NDArray[np.int64],
    prices: NDArray[np.int64],
    least: int,
    bounds: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the places of vocabularies, but for the first, that may be so far, by falling bounds, which are set."""
    choices = best_bags(centre, prices)
    left, touched = centre.units.copy(), np.empty(len(centre.units), np.int64)
    n_large = 1
    for t in largest[1:]:
        if centre.price[0] * centre.size + centre.price[1] * bags.sizes[t] < least:
            break
        bounds[n_large] = unmatched(centre, bags, t) - quick(centre, bags, t, choices, left, touched)
        n_large += 1
    places = 1 + np.flatnonzero(bounds[1:n_large] >= least)
    return places[np.argsort(-bounds[places], kind="mergesort")]


@jit
def best_bags(centre: Centre, prices: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return, for every word, the few bags that are best for it at their prices, the best first.

    Cost and bag are one number, and a better one pushes the others down: no branch, many words at once. A matching need
    not know of more bags than such a number can hold.
    """
    n_words = centre.sums.shape[1]
    choices = np.full((_CHOICES, n_words), _NO_CHOICE, np.uint32)
    weight = np.uint16(min(centre.price[2], APART))
    new = np.empty(n_words, np.uint32)
    for b in range(min(len(centre.sums), 1 << _BAG_BITS)):
        row, dear = centre.sums[b], np.uint32(min(-prices[b] >> PARTS, _DEAREST))
        for w in range(n_words):
            cost = np.uint32(((np.uint32(row[w]) + dear) << np.uint32(_BAG_BITS)) + np.uint32(b))
            new[w] = cost if row[w] < weight else np.uint32(_NO_CHOICE)
        for chosen in choices:
            for w in range(n_words):
                down = max(chosen[w], new[w])
                chosen[w] = min(chosen[w], new[w])
                new[w] = down
    return choices.T.copy()


@jit
def quick(
    centre: Centre,
    bags: Bags,
    t: int,
    choices: NDArray[np.uint32],
    left: NDArray[np.int64],  # (bags,): as many as there are, here and afterwards
    touched: NDArray[np.int64],
) -> np.int64:
    """Return what a quick matching of a vocabulary saves."""
    saved, n_touched = np.int64(0), 0
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        w, count = bags.word[bags.ids[i]], np.int64(bags.counts[i])
        if w < 0:
            continue
        for choice in choices[w]:
            if choice == _NO_CHOICE or count == 0:
                break
            b = np.int64(choice) & ((1 << _BAG_BITS) - 1)
            amount = min(count, left[b])
            if amount:
                if left[b] == centre.units[b]:
                    touched[n_touched] = b
                    n_touched += 1
                saved += amount * (centre.price[2] - np.int64(centre.sums[b, w]))
                left[b] -= amount
                count -= amount
    for i in range(n_touched):
        left[touched[i]] = centre.units[touched[i]]
    return saved
