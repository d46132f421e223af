"""Finding the vocabulary nearest to a centre without matching them all.

A bound for every vocabulary comes first, from what each of its terms can save at best; those that look nearest get a
better one each, by prices of the bags; matchings are made in the order of these bounds, given up as soon as they
cannot win, until no bound is left that could.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import NO_LIMIT, Bags, Centre, best_savings, columns_of, distance, unmatched
from queryveil.kernels.matching_prices import PARTS, Cells, ascend, no_cells

_FIRST = 4  # vocabularies with bounds of their own before prices are looked at for all
_MORE = 3  # times as many before the next time
_SHARE = 3  # bits: what each adds to the mean of prices is the eighth part
_BITS = 16  # of how many occurrences of a term can save, behind what one saves
_MANY = (1 << _BITS) - 1


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
            total -= (most >> _BITS) * min(bags.counts[i], most & _MANY)  # no branch: it would be a guess
        bounds[a] = max(bounds[a], total)
    return reach


@jit
def _gains(centre: Centre, bags: Bags, savings: NDArray[np.int32], reach: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return, for every term, what an occurrence of it saves at best and how many can save, as one number."""
    gain = np.empty(len(bags.word), np.uint32)
    for term in range(len(bags.word)):
        word, own = bags.word[term], centre.own[term]
        saving, most = savings[word], reach[word]
        known, unknown = (saving << _BITS) + most, (centre.price[2] << _BITS) + own
        gain[term] = known if word >= 0 else unknown
    return gain
