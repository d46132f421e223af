"""Selecting and sorting numbers by keys: NumPy's general functions take several seconds to compile."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

Integers = NDArray[np.int64] | NDArray[np.int32]


@jit
def maximum_of(values: Integers) -> int:
    """Return the largest of numbers that are not negative, 0 if there are none."""
    largest = 0
    for value in values:
        if value > largest:
            largest = value
    return largest


@jit
def at_most(positions: NDArray[np.int64], keys: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the positions whose key is at most the limit, in their order."""
    kept, n_kept = np.empty(len(positions), np.int64), 0
    for position in positions:
        kept[n_kept] = position
        n_kept += keys[position] <= limit
    return kept[:n_kept]


@jit
def sort_by(positions: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions by ascending key, equal ones in their order: a merge sort from below."""
    n, width = len(positions), 1
    one, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        one[i] = positions[i]
    while width < n:
        for begin in range(0, n, 2 * width):
            left, middle, end = begin, min(begin + width, n), min(begin + 2 * width, n)
            right = middle
            for place in range(begin, end):
                is_left = right >= end or (left < middle and keys[one[left]] <= keys[one[right]])
                other[place] = one[left if is_left else right]
                left += is_left
                right += not is_left
        one, other = other, one
        width *= 2
    return one


@jit
def lowest(positions: NDArray[np.int64], keys: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the `n` positions with the lowest keys, the lowest first, equal ones in their order."""
    if len(positions) > n:  # sorting them all would take longer
        positions = at_most(positions, keys, _of_rank(positions, keys, n))
    return sort_by(positions, keys)[:n]


@jit
def _of_rank(positions: NDArray[np.int64], keys: NDArray[np.int64], rank: int) -> int:
    """Return the key that would be at a rank from 0 if the keys were sorted: Hoare's selection."""
    values = np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        values[i] = keys[positions[i]]
    first, last = 0, len(values) - 1
    while first < last:
        pivot, i, j = values[(first + last) // 2], first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            break
    return values[rank]


@jit
def sort_range(values: Integers, begin: int, end: int) -> None:
    """Sort the values from `begin` to before `end` in place: Shell's sort, good for up to some thousands."""
    gap = 1
    while 3 * gap < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            value, j = values[i], i
            while j >= begin + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
