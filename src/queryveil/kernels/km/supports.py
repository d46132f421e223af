"""The tree of frequent combinations of up to four terms, and those of one history in it.

A combination is stored under its *rarest* term (the largest id), then the next rarer: a tree whose lists stay short,
since a rare term has few partners and a common term few partners that are commoner still.

Only combinations with support ≥ k are stored; all others are infrequent for good, as deletion only lowers supports.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

LISTED = 1024  # terms of the longest history whose frequent pairs are listed: bounds the room
MARKED = 256  # terms of the longest history whose frequent triples are marked: bounds the room
ONE = np.uint64(1)


Postings = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]  # start, history, position


class Tree(NamedTuple):
    """Frequent combinations of two, three and four terms, with their supports.

    Children of node i of one size are `term[start[i]:start[i + 1]]` of the next, ascending; nodes of size one are
    the term ids themselves.
    """

    start2: NDArray[np.int64]
    term2: NDArray[np.int32]
    support2: NDArray[np.int32]
    start3: NDArray[np.int64]
    term3: NDArray[np.int32]
    support3: NDArray[np.int32]
    start4: NDArray[np.int64]
    term4: NDArray[np.int32]
    support4: NDArray[np.int32]


@jit
def postings(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for every term below n_terms, the histories that hold it, ascending."""
    start = np.zeros(n_terms + 1, np.int64)
    for t in ids:
        if t < n_terms:
            start[t + 1] += 1
    for t in range(n_terms):
        start[t + 1] += start[t]
    position = start[:-1].copy()
    history = np.empty(start[n_terms], np.int32)
    for h in range(len(indptr) - 1):
        for i in range(indptr[h], indptr[h + 1]):
            t = ids[i]
            if t < n_terms:
                history[position[t]] = h
                position[t] += 1
    return start, history


@jit
def term_postings(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return, for every term below n_terms, the histories that hold it, ascending, and where in the log."""
    start, history = postings(indptr, ids, n_terms)
    end, position = start[:-1].copy(), np.empty(len(history), np.int64)
    for i in range(len(ids)):
        t = ids[i]
        if t < n_terms:
            position[end[t]] = i
            end[t] += 1
    return start, history, position


@jit
def are_distinct(owner: NDArray[np.int32]) -> bool:
    """Return whether each history has a different owner; histories of one owner must be neighbours."""
    for h in range(1, len(owner)):
        if owner[h] == owner[h - 1]:
            return False
    return True


class TermPairs(NamedTuple):
    """Scratch space for the pairs of one history, allocated once; terms are given by their positions in it."""

    frequent: NDArray[np.uint64]  # (n, words): bit j of row i says that positions i < j are a frequent pair
    rarer: NDArray[np.uint64]  # (words,): bit j says that position j is still there and looked at as the rarer term
    first: NDArray[np.int32]  # the listed pairs: positions first < second, and their node in the tree
    second: NDArray[np.int32]
    node: NDArray[np.int64]
    size: NDArray[np.int64]  # (1,): pairs listed


@jit
def lowest(bits: np.uint64) -> int:
    """Return the place of the lowest bit that is set: how many bits are below it, which is one instruction."""
    below, n = (bits & (~bits + ONE)) - ONE, 0
    while below:
        below &= below - ONE
        n += 1
    return n


@jit
def find_node(term: NDArray[np.int32], low: int, high: int, t: int) -> int:
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
def advance(indices: NDArray[np.int64], size: int, n: int, last: int) -> bool:
    """Move to the next combination in lexicographic order that differs at index `last` or before; False at the end."""
    i = last
    while i >= 0:
        if indices[i] + (size - i) < n:
            indices[i] += 1
            for j in range(i + 1, size):
                indices[j] = indices[j - 1] + 1
            return True
        i -= 1
    return False


@jit
def children(
    start: NDArray[np.int64],
    term: NDArray[np.int32],
    parent: int,
    current: NDArray[np.int32],
    n: int,
    position_of: NDArray[np.int32],
    positions: NDArray[np.int32],
    nodes: NDArray[np.int64],
) -> int:
    """Write the positions and nodes of those of the first n current terms that are children of a parent.

    Either the children are looked up among the terms or the terms among the children, whichever are fewer.
    """
    low, high = start[parent], start[parent + 1]
    found = 0
    if high - low <= 20 * n:
        for node in range(low, high):
            position = position_of[term[node]]
            if position >= 0:
                positions[found], nodes[found] = position, node
                found += 1
        return found
    for position in range(n):
        node = find_node(term, low, high, current[position])
        if node >= 0:
            positions[found], nodes[found] = position, node
            found += 1
    return found


@jit
def list_pairs(
    tree: Tree,
    k: int,
    current: NDArray[np.int32],
    n: int,
    is_deleted: NDArray[np.bool_],
    rarest: NDArray[np.bool_],
    position_of: NDArray[np.int32],
    pairs: TermPairs,
) -> int:
    """List the pairs of one history that are in the tree and mark the frequent ones; return the work done.

    Only some terms are looked at as the rarer one.
    """
    start, term, support, frequent, rarer = tree.start2, tree.term2, tree.support2, pairs.frequent, pairs.rarer
    first, second, node_of = pairs.first, pairs.second, pairs.node
    words, is_listed = (n + 63) >> 6, n <= LISTED
    for i in range(n * words):
        frequent[i] = np.uint64(0)
    for word in range(words):
        rarer[word] = np.uint64(0)
    found = work = 0
    for j in range(n):
        position_of[current[j]] = j
        if not rarest[j]:
            continue
        word, bit = j >> 6, ONE << np.uint64(j & 63)
        if not is_deleted[j]:
            rarer[word] |= bit
        low, high = start[current[j]], start[current[j] + 1]
        # Either the children are looked up among the terms or the terms among the children, whichever costs less.
        is_short = high - low <= 20 * j
        work += high - low if is_short else 20 * j
        for x in range(low, high) if is_short else range(j):
            i = position_of[term[x]] if is_short else x
            node = x if is_short else find_node(term, low, high, current[x])
            if i >= 0 and node >= 0:
                if support[node] >= k:
                    frequent[i * words + word] |= bit
                if is_listed:
                    first[found], second[found], node_of[found] = i, j, node
                    found += 1
    for j in range(n):
        position_of[current[j]] = -1
    pairs.size[0] = found
    return work


def make_term_pairs(longest: int) -> TermPairs:
    """Return scratch space for histories of up to `longest` terms."""
    listed = min(longest, LISTED)
    room = listed * (listed - 1) // 2 + 1
    words = (longest + 63) >> 6
    frequent, rarer = np.zeros(longest * words, np.uint64), np.zeros(words, np.uint64)
    first, second, node = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    return TermPairs(frequent, rarer, first, second, node, size=np.zeros(1, np.int64))
