"""Taking a vocabulary into a cluster: the canonical matching.

Of several matchings of the least cost the canonical one has the smallest sum of tie numbers (docs/decisions/0018).
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import Bags, Centre, columns_of, sides_of
from queryveil.kernels.matching import NONE, assign

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
