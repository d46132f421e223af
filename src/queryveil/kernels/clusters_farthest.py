"""Finding the vocabulary farthest from one that begins a cluster.

Whatever terms are matched, the distance is at most what that matching costs. A quick one gives every vocabulary such a
bound: each term goes to the first bag with room among the few that are nearest to it.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import Bags, Centre, best_savings, distance, unmatched

_CHOICES = 4
_NO_LIMIT = 1 << 60


@jit
def farthest(centre: Centre, bags: Bags, alive: NDArray[np.int64]) -> np.int64:
    """Return which of the vocabularies is farthest from a centre, the first of equals."""
    savings, _ = best_savings(centre)
    bounds = np.full(len(alive), _NO_LIMIT, np.int64)
    if not centre.is_maximum:
        choices = nearest_bags(centre)
        left, touched = centre.units.copy(), np.empty(len(centre.units), np.int64)
        for a in range(len(alive)):
            bounds[a] = unmatched(centre, bags, alive[a]) - quick(centre, bags, alive[a], choices, left, touched)
    best, found = -1, np.int64(-1)
    for a in np.argsort(-bounds, kind="mergesort"):
        if bounds[a] < best or (bounds[a] == best and a > found):
            break
        away, is_done, _ = distance(centre, bags, alive[a], savings, best, _NO_LIMIT)
        if is_done and (away > best or (away == best and a < found)):
            best, found = away, a
    return found


@jit
def nearest_bags(centre: Centre) -> NDArray[np.int32]:
    """Return, for every word, the few bags with which it saves most, the best first; −1 where there are no more."""
    n_words = centre.sums.shape[1]
    choices = np.full((n_words, _CHOICES), -1, np.int32)
    for b in range(len(centre.units)):
        for w in range(n_words):
            steps = centre.sums[b, w]
            if steps >= centre.price[2]:
                continue
            c = _CHOICES
            while c > 0 and (choices[w, c - 1] < 0 or centre.sums[choices[w, c - 1], w] > steps):
                c -= 1
            for d in range(_CHOICES - 1, c, -1):
                choices[w, d] = choices[w, d - 1]
            if c < _CHOICES:
                choices[w, c] = b
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
                saved += amount * (centre.price[2] - np.int64(centre.sums[b, w]))
                left[b] -= amount
                count -= amount
    for i in range(n_touched):
        left[touched[i]] = centre.units[touched[i]]
    return saved
