"""The frequent and the infrequent pairs of one history, found in the tree of all frequent combinations.

The frequent triples of one history, found in the tree of all frequent combinations.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import Tree

LISTED = 1024  # terms of the longest history whose frequent pairs are listed: bounds the room
ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its 64 windows of 6 bits are all different
_PLACES = np.argsort(np.array([(0x03F79D71B4CB0A89 << place & (1 << 64) - 1) >> 58 for place in range(64)]))


class Pairs(NamedTuple):
    """Room for the pairs of one history, made once; terms are given by their places in it."""

    good: NDArray[np.uint64]  # (n, words): bit j of row i says that places i < j are a frequent pair
    rarer: NDArray[np.uint64]  # (words,): bit j says that place j is still there and looked at as the rarer term
    first: NDArray[np.int32]  # the listed pairs: places first < second, and their node in the tree
    second: NDArray[np.int32]
    node: NDArray[np.int64]
    size: NDArray[np.int64]  # (1,): pairs listed


@jit
def lowest(bits: np.uint64) -> int:
    """Return the place of the lowest bit that is set."""
    return int(_PLACES[((bits & (~bits + ONE)) * _DE_BRUIJN) >> np.uint64(58)])


@jit
def find(term: NDArray[np.int32], low: int, high: int, t: int) -> int:
    """Return the node of term t among those from `low` to `high` − 1, or -1."""
    n = high - low
    if n == 0:
        return -1
    while n > 1:  # without a branch to mispredict
        half = n >> 1
        low += half if term[low + half] <= t else 0
        n -= half
    return low if term[low] == t else -1


@jit
def children(
    start: NDArray[np.int64], term: NDArray[np.int32], parent: int, current: NDArray[np.int32], n: int,
    place_of: NDArray[np.int32], places: NDArray[np.int32], nodes: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the places and nodes of those of the first n current terms that are children of a parent.

    Either the children are looked up among the terms or the terms among the children, whichever are fewer.
    """
    low, high = start[parent], start[parent + 1]
    found = 0
    if high - low <= 20 * n:
        for node in range(low, high):
            place = place_of[term[node]]
            if place >= 0:
                places[found], nodes[found] = place, node
                found += 1
        return found
    for place in range(n):
        node = find(term, low, high, current[place])
        if node >= 0:
            places[found], nodes[found] = place, node
            found += 1
    return found


@jit
def find_pairs(
    tree: Tree, k: int, current: NDArray[np.int32], n: int, gone: NDArray[np.bool_], rarest: NDArray[np.bool_],
    place_of: NDArray[np.int32], pairs: Pairs,
) -> int:  # fmt: skip
    """List the pairs that are in the tree and mark the frequent ones, only with some terms as the rarer one.

    Return the work done.
    """
    start, term, support = tree.start2, tree.term2, tree.support2
    good, rarer, first, second, node_of = pairs.good, pairs.rarer, pairs.first, pairs.second, pairs.node
    words = (n + 63) >> 6
    is_listed = n <= LISTED
    good[: n * words] = np.uint64(0)
    rarer[:words] = np.uint64(0)
    found = work = 0
    for j in range(n):
        place_of[current[j]] = j
        if not rarest[j]:
            continue
        word, bit = j >> 6, ONE << np.uint64(j & 63)
        if not gone[j]:
            rarer[word] |= bit
        low, high = start[current[j]], start[current[j] + 1]
        # Either the children are looked up among the terms or the terms among the children, whichever costs less.
        if high - low <= 20 * j:
            work += high - low
            for node in range(low, high):
                i = place_of[term[node]]
                if i >= 0:
                    if support[node] >= k:
                        good[i * words + word] |= bit
                    if is_listed:
                        first[found], second[found], node_of[found] = i, j, node
                        found += 1
        else:
            work += 20 * j
            for i in range(j):
                node = find(term, low, high, current[i])
                if node >= 0:
                    if support[node] >= k:
                        good[i * words + word] |= bit
                    if is_listed:
                        first[found], second[found], node_of[found] = i, j, node
                        found += 1
    for j in range(n):
        place_of[current[j]] = -1
    pairs.size[0] = found
    return work


def make_pairs(longest: int) -> Pairs:
    """Return room for histories of up to `longest` terms."""
    listed = min(longest, LISTED)
    room = listed * (listed - 1) // 2 + 1
    return Pairs(
        good=np.zeros(longest * ((longest + 63) >> 6), np.uint64),
        rarer=np.zeros((longest + 63) >> 6, np.uint64),
        first=np.empty(room, np.int32),
        second=np.empty(room, np.int32),
        node=np.empty(room, np.int64),
        size=np.zeros(1, np.int64),
    )


MARKED = 256  # terms of the longest history whose frequent triples are marked: bounds the room


@jit
def mark_triples(
    tree: Tree, k: int, left: NDArray[np.int32], n_left: int, at: NDArray[np.int64], rarest: NDArray[np.bool_],
    common: NDArray[np.bool_], place_of: NDArray[np.int32], places: NDArray[np.int32], nodes: NDArray[np.int64],
    good: NDArray[np.uint64],  # (n_left, n_left, words): bit c of row (a, b) is for the places a < b < c
) -> int:  # fmt: skip
    """Mark the frequent triples of terms left over, only with some terms as the rarest; return the work done."""
    start2, term2, support2 = tree.start2, tree.term2, tree.support2
    start3, term3, support3 = tree.start3, tree.term3, tree.support3
    places2, nodes2, places3, nodes3 = places[0], nodes[0], places[1], nodes[1]
    words = (n_left + 63) >> 6
    good[: n_left * n_left * words] = np.uint64(0)
    work = n_left * n_left * words
    for c in range(n_left):
        place_of[left[c]] = c
    for c in range(n_left):
        if not rarest[at[c]]:
            continue
        word, bit = c >> 6, ONE << np.uint64(c & 63)
        n2 = children(start2, term2, left[c], left, c, place_of, places2, nodes2)
        for i in range(n2):
            b, node = places2[i], nodes2[i]
            if support2[node] < k or not common[at[b]]:
                continue
            n3 = children(start3, term3, node, left, b, place_of, places3, nodes3)
            work += b
            for j in range(n3):
                if support3[nodes3[j]] >= k:
                    good[(places3[j] * n_left + b) * words + word] |= bit
    for c in range(n_left):
        place_of[left[c]] = -1
    return work


def make_marks(longest: int, m: int) -> NDArray[np.uint64]:
    """Return room for the triples of histories of up to `longest` terms; none is needed for smaller combinations."""
    marked = min(longest, MARKED) if m > 2 else 0
    return np.empty(marked * marked * ((marked + 63) >> 6), np.uint64)
