"""How low the cost of a matching may get at best, by prices of the bags: quick, and for every vocabulary anew."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.matching_distances import APART

PARTS = 4  # bits: a price is so many times a sixteenth
# by how much prices change, round after round, for every occurrence too many or too few, up to so many
_STEPS = (24, 24, 20, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2)
_MOST = 8
_NO_BOUND = -(1 << 62)
_BITS = 30  # of a saving and the number of its bag, in one number


@jit
def ascend(
    near: NDArray[np.uint16],  # (bags, columns): distances
    units: NDArray[np.int64],  # (bags,)
    room: NDArray[np.int64],  # (columns,)
    weight: int,  # what a pair saves that is not apart at all
    prices: NDArray[np.int64],  # (bags,): at most 0, in parts
    most: int,
) -> int:
    """Return a cost that the lowest is not below, from prices of the bags, which are made better as long as it helps.

    A bag that more columns want than it has occurrences gets dearer, one that fewer want cheaper. It ends once the cost
    is seen to be above `most`. The saving and the bag of a column are found as one number, a bag at a time for all
    columns.
    """
    n_bags, n_columns = near.shape
    shift = 0
    while 1 << shift < n_bags:
        shift += 1
    if weight >= min(1 << (_BITS - shift - PARTS), APART):
        return _NO_BOUND
    cells = np.empty((n_bags, n_columns), np.int32)
    for b in range(n_bags):
        for c in range(n_columns):
            cells[b, c] = np.int32(min(near[b, c], np.uint16(weight))) << (shift + PARTS)
    highest, demand = np.empty(n_columns, np.int32), np.empty(n_bags, np.int64)
    mask = (1 << shift) - 1
    best = _NO_BOUND
    for step in _STEPS:
        highest[:], demand[:] = 0, 0
        total = 0
        for b in range(n_bags):
            total += prices[b] * units[b]
            offer, row = np.int32((((weight << PARTS) + prices[b]) << shift) + b), cells[b]
            for c in range(n_columns):
                highest[c] = max(highest[c], np.int32(offer - row[c]))
        for c in range(n_columns):
            saving = np.int64(highest[c] >> shift)
            total -= saving * room[c]
            if saving > 0:
                demand[highest[c] & mask] += room[c]
        best = max(best, -(-total >> PARTS))  # costs are whole numbers
        if best > most:
            break
        for b in range(n_bags):
            prices[b] = min(0, prices[b] + step * max(-_MOST, min(_MOST, units[b] - demand[b])))
    return best
