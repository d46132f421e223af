"""How far a vocabulary is from a finished cluster, whose distances from all words are no longer there."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import Bags
from queryveil.kernels.matching import assign, make_sides
from queryveil.kernels.matching_distances import FAR

_NO_LIMIT = 1 << 60


@jit
def distance_to(
    terms: NDArray[np.int32],  # (bags, members)
    units: NDArray[np.int64],  # (bags,)
    price: NDArray[np.int64],
    is_maximum: bool,
    bags: Bags,
    t: int,
    table: NDArray[np.uint8],  # (…, words): distances
    slots: NDArray[np.int64],  # (known terms of the vocabulary,): the row of each in the table
    most: int,
) -> int:
    """Return how far it is; where that is more than `most`, something that is more too."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    columns = begin + np.flatnonzero(bags.word[bags.ids[begin:end]] >= 0)
    cost = np.zeros((len(units), len(columns)), np.int64)
    total = price[1] * bags.sizes[t]
    for b in range(len(units)):
        total += price[0] * units[b]
        if bags.word[terms[b, 0]] < 0:
            i = begin + np.searchsorted(bags.ids[begin:end], terms[b, 0])
            if i < end and bags.ids[i] == terms[b, 0]:
                total -= 0 if is_maximum else price[2] * min(units[b], np.int64(bags.counts[i]))
            continue
        for c in range(len(columns)):
            steps = np.int64(0)
            for term in terms[b]:
                away = table[slots[c], bags.word[term]]
                steps = price[2] if away == FAR or steps == price[2] else min(price[2], steps + away)
            cost[b, c] = steps - price[2]
    sides = make_sides(cost, units, bags.counts[columns].astype(np.int64))
    if is_maximum:
        saved, _ = assign(sides, -_NO_LIMIT, _NO_LIMIT)
        return saved + price[2] * sides.used.sum()
    saved, _ = assign(sides, -_NO_LIMIT, most - total)
    return total + saved
