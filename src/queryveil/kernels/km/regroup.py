"""Regroup the terms of histories into pieces, so that many pairs of terms that k people publish are together.

What a pair is worth to a history depends on how many histories have it together already. One term after the other moves
to the piece where its pairs are worth most, or to a new one, and the supports of pairs follow at once.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import find_node


@jit
def regroup(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    piece: NDArray[np.int32],  # (pairs,): the piece of each term, below the length of its history; updated
    order: NDArray[np.int64],  # of histories
    turn: int,
    budget: int,
    start2: NDArray[np.int64],
    term2: NDArray[np.int32],
    support: NDArray[np.int32],  # (nodes,): the histories with each pair in a piece; updated
    value: NDArray[np.float64],  # what the n-th history of a pair is worth, the last value for more; 0: not in the tree
    node: NDArray[np.int64],  # from here on scratch space: (longest,)
    gain: NDArray[np.float64],
    size: NDArray[np.int64],
) -> int:
    """Move terms of the histories of the order, from `turn` on, within a budget of work; return the next turn."""
    work, last = 0, len(value) - 1
    while turn < len(order) and work < budget:
        low = indptr[order[turn]]
        n = indptr[order[turn] + 1] - low
        turn += 1
        work += 10 + n * n
        for j in range(n):
            own = piece[low + j]
            for number in range(n):
                gain[number], size[number] = 0.0, 0
            for i in range(n):
                if i == j:
                    continue
                rarer, other = ids[low + max(i, j)], ids[low + min(i, j)]
                node[i] = find_node(term2, start2[rarer], start2[rarer + 1], other)
                number = piece[low + i]
                size[number] += 1
                if node[i] < 0:
                    gain[number] += value[0]
                else:
                    gain[number] += value[min(support[node[i]] + (number != own), last)]
            best = _best_piece(gain, size, n, own)
            if best == own:
                continue
            piece[low + j] = best
            for i in range(n):
                if i != j and node[i] >= 0:
                    support[node[i]] += int(piece[low + i] == best) - int(piece[low + i] == own)
    return turn


@jit
def _best_piece(gain: NDArray[np.float64], size: NDArray[np.int64], n: int, own: int) -> int:
    """Return the piece where a term gains most, the own one among equals; a new one if it would lose in all."""
    best = own
    for number in range(n):
        if size[number] and gain[number] > gain[best]:
            best = number
    if gain[best] >= 0:
        return best
    number = 0
    while size[number]:
        number += 1
    return number
