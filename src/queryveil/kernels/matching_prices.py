"""How low the cost of a matching may get at best, by prices of the bags: quick, and for every vocabulary anew."""

from typing import NamedTuple

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
    if weight >= min(1 << (_BITS - shift - PARTS), APART):
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
