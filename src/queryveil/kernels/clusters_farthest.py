"""Finding the vocabulary farthest from one that begins a cluster.

Whatever terms are matched, the distance is at most what that matching costs: none at all gives one bound, a quick one,
in which each term goes to the first bag with room among the few that are best for it, gives a better one.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import NO_LIMIT, Bags, Centre, best_savings, distance, unmatched
from queryveil.kernels.matching_distances import APART
from queryveil.kernels.matching_prices import PARTS

_CHOICES = 6
_NO_CHOICE = (1 << 32) - 1
_BITS = 16  # of the number of a bag, behind what it costs
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
    for b in range(min(len(centre.sums), 1 << _BITS)):
        row, dear = centre.sums[b], np.uint32(min(-prices[b] >> PARTS, _DEAREST))
        for w in range(n_words):
            cost = np.uint32(((np.uint32(row[w]) + dear) << np.uint32(_BITS)) + np.uint32(b))
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
            b = np.int64(choice) & ((1 << _BITS) - 1)
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
