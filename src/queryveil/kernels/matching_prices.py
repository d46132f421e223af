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
_LANES = 32  # numbers that a processor's loop takes at once


@jit
def ascend(
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
    is seen to be above `most`. The saving and the bag of a column are found as one number, a bag at a time for all
    columns.
    """
    shift = 0
    while 1 << shift < len(units):
        shift += 1
    if weight >= min(1 << (_BITS - shift - PARTS), APART):
        return _NO_BOUND
    cells = _cells(sums, words, weight, shift + PARTS)
    highest, spare = np.empty(cells.shape[1], np.int32), np.empty(len(units), np.int64)
    mask, best = (1 << shift) - 1, _NO_BOUND
    for step in _STEPS:
        _offer(cells, prices, weight, shift, highest)
        total = 0
        for b in range(len(units)):
            total += prices[b] * units[b]
            spare[b] = units[b]
        for c in range(len(words)):
            saving = np.int64(highest[c] >> shift)
            total -= saving * room[c]
            spare[highest[c] & mask] -= room[c] if saving > 0 else 0
        best = max(best, -(-total >> PARTS))  # costs are whole numbers
        if best > most:
            break
        for b in range(len(units)):
            prices[b] = min(0, prices[b] + step * max(-_MOST, min(_MOST, spare[b])))
    return best


@jit
def _cells(sums: NDArray[np.uint16], words: NDArray[np.int64], weight: int, shift: int) -> NDArray[np.int32]:
    """Return the distances of columns from bags, as far as they matter, shifted, and columns more that save nothing."""
    n_bags, n_columns = len(sums), len(words)
    cells = np.empty((n_bags, -(-n_columns // _LANES) * _LANES), np.int32)
    for b in range(n_bags):
        row, near = cells[b], sums[b]
        for c in range(n_columns):
            row[c] = np.int32(min(near[words[c]], np.uint16(weight))) << shift
        row[n_columns:] = weight << shift
    return cells


@jit
def _offer(
    cells: NDArray[np.int32], prices: NDArray[np.int64], weight: int, shift: int, highest: NDArray[np.int32]
) -> None:
    """Set, for every column, the most that a bag saves it at these prices, with the bag's number behind it."""
    highest[:] = 0
    for b in range(len(cells)):
        offer, row = np.int32((((weight << PARTS) + prices[b]) << shift) + b), cells[b]
        for c in range(len(highest)):
            highest[c] = max(highest[c], np.int32(offer - row[c]))
