"""Finding the vocabulary farthest from one that begins a cluster.

Whatever terms are matched, the distance is at most what that matching costs: none at all gives one bound, a quick one,
in which each term goes to the first bag with room among the few that are nearest to it, gives a better one.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import Bags, Centre, best_savings, distance, unmatched
from queryveil.kernels.matching_distances import APART

_CHOICES = 4
_NO_LIMIT = 1 << 60


@jit
def farthest(centre: Centre, bags: Bags, alive: NDArray[np.int64], largest: NDArray[np.int64]) -> np.int64:
    """Return which of the vocabularies is farthest from a centre, the first of equals.

    `largest` are their places among those alive, the largest vocabulary first: a small one cannot be far.
    """
    savings, _ = best_savings(centre)
    no_prices = np.zeros(len(centre.units), np.int64)
    bounds = np.full(len(alive), _NO_LIMIT, np.int64)
    waiting = largest
    if not centre.is_maximum:
        best, _, _ = distance(centre, bags, alive[largest[0]], savings, no_prices, -_NO_LIMIT, _NO_LIMIT)
        waiting = _far_enough(centre, bags, alive, largest, best, bounds)
    best, found = -1, np.int64(-1)
    for a in waiting:
        if bounds[a] < best or (bounds[a] == best and a > found):
            continue
        away, is_done, _ = distance(centre, bags, alive[a], savings, no_prices, best, _NO_LIMIT)
        if is_done and (away > best or (away == best and a < found)):
            best, found = away, a
    return found


@jit
def _far_enough(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    largest: NDArray[np.int64],
    least: int,
    bounds: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the places of vocabularies that may be so far, by falling bounds, which are set."""
    choices = nearest_bags(centre)
    left, touched = centre.units.copy(), np.empty(len(centre.units), np.int64)
    n_large = 0
    for a in largest:
        t = alive[a]
        if centre.price[0] * centre.size + centre.price[1] * bags.sizes[t] < least:
            break
        bounds[a] = unmatched(centre, bags, t) - quick(centre, bags, t, choices, left, touched)
        n_large += 1
    places = largest[:n_large]
    places = places[bounds[places] >= least]
    return places[np.argsort(-bounds[places], kind="mergesort")]


@jit
def nearest_bags(centre: Centre) -> NDArray[np.int32]:
    """Return, for every word, the few bags with which it saves most, the best first; −1 where there are no more."""
    n_words, n_bags = centre.sums.shape
    choices = np.full((n_words, _CHOICES), -1, np.int32)
    weight = min(centre.price[2], APART)
    for w in range(n_words):
        row, chosen, last = centre.sums[w], choices[w], weight  # a bag must be nearer than the last one chosen
        for b in range(n_bags):
            if row[b] >= last:
                continue
            c = _CHOICES - 1
            while c > 0 and (chosen[c - 1] < 0 or row[chosen[c - 1]] > row[b]):
                chosen[c] = chosen[c - 1]
                c -= 1
            chosen[c] = b
            last = row[chosen[_CHOICES - 1]] if chosen[_CHOICES - 1] >= 0 else last
    return choices


@jit
def quick(
    centre: Centre,
    bags: Bags,
    t: int,
    choices: NDArray[np.int32],
    left: NDArray[np.int64],  # (bags,): as many as there are, here and afterwards
    touched: NDArray[np.int64],
) -> np.int64:
    """Return what a quick matching of a vocabulary saves."""
    saved, n_touched = np.int64(0), 0
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        w, count = bags.word[bags.ids[i]], np.int64(bags.counts[i])
        if w < 0:
            continue
        for c in range(_CHOICES):
            b = choices[w, c]
            if b < 0 or count == 0:
                break
            amount = min(count, left[b])
            if amount:
                if left[b] == centre.units[b]:
                    touched[n_touched] = b
                    n_touched += 1
                saved += amount * (centre.price[2] - np.int64(centre.sums[w, b]))
                left[b] -= amount
                count -= amount
    for i in range(n_touched):
        left[touched[i]] = centre.units[touched[i]]
    return saved
