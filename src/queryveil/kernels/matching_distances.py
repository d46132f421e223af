"""How far one word is from all others, up to a limit: a row at a time, by way of the ancestors they share."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

FAR = 255  # of a distance in one byte: more than the limit
APART = 65_535  # of a sum of distances in two: one of them was
HEIGHT_BITS = 8  # of a word and its height in one number
_HEIGHT = (1 << HEIGHT_BITS) - 1


class Ancestors(NamedTuple):
    """The ancestors of words, nouns first, as `semantics.distances.Ancestry` has them."""

    indptr: NDArray[np.int64]
    middle: NDArray[np.int64]  # (words,): where, in its row, the ancestors begin that are not nouns
    nodes: NDArray[np.int32]
    heights: NDArray[np.int32]


class Descendants(NamedTuple):
    """The words below each node, the nearest first."""

    indptr: NDArray[np.int64]  # (nodes + 1,)
    words: NDArray[np.uint32]  # each with its height, the last byte


class Table(NamedTuple):
    """How far words are from each other: rows that are filled when they are needed."""

    ancestors: Ancestors
    below: Descendants
    limit: int
    rows: NDArray[np.uint8]  # (slots, words)
    slot: NDArray[np.int64]  # (words,): −1 where the row is not there
    filled: NDArray[np.int64]  # (1,): rows that are


@jit
def descendants(ancestors: Ancestors, n_nodes: int) -> Descendants:
    """Turn ancestors of words into words below nodes."""
    nodes, heights = ancestors.nodes, ancestors.heights
    indptr = np.zeros(n_nodes + 1, np.int64)
    for node in nodes:
        indptr[node + 1] += 1
    indptr = np.cumsum(indptr)
    fill = indptr[:-1].copy()
    words = np.empty(len(nodes), np.uint32)
    highest = 0
    for height in heights:
        highest = max(highest, height)
    for height in range(highest + 1):
        for word in range(len(ancestors.middle)):
            for i in range(ancestors.indptr[word], ancestors.indptr[word + 1]):
                if heights[i] == height:
                    words[fill[nodes[i]]] = (word << HEIGHT_BITS) + height
                    fill[nodes[i]] += 1
    return Descendants(indptr, words)


@jit
def slots_of(table: Table, words: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where the rows of words stand in the table, until it is asked for others; those not there are filled in.

    Where there is no room left the table begins anew with these words, for which there must be room.
    """
    slots = np.empty(len(words), np.int64)
    i = 0
    while i < len(words):
        word = words[i]
        if table.slot[word] < 0:
            if table.filled[0] == len(table.rows):
                table.slot[:], table.filled[0], i = -1, 0, 0
                continue
            table.slot[word] = table.filled[0]
            _fill(table, word, table.rows[table.filled[0]])
            table.filled[0] += 1
        slots[i] = table.slot[word]
        i += 1
    return slots


@jit
def _fill(table: Table, word: int, row: NDArray[np.uint8]) -> None:
    """Set the distance of one word to every other: as nouns where both can be, else by what else they can be."""
    ancestors, below = table.ancestors, table.below
    row[:] = FAR
    begin, middle, end = ancestors.indptr[word], ancestors.middle[word], ancestors.indptr[word + 1]
    for i in range(begin, end):
        node, height = ancestors.nodes[i], ancestors.heights[i]
        words = below.words[below.indptr[node] : below.indptr[node + 1]]
        if i < middle or middle == begin:  # whatever is below a noun can be one
            for packed in words:
                steps = height + np.int64(packed & np.uint32(_HEIGHT))
                if steps > table.limit:
                    break
                other = packed >> np.uint32(HEIGHT_BITS)
                row[other] = min(row[other], np.uint8(steps))
        else:
            for packed in words:
                steps, other = height + np.int64(packed & np.uint32(_HEIGHT)), packed >> np.uint32(HEIGHT_BITS)
                if steps <= table.limit and ancestors.middle[other] == ancestors.indptr[other]:
                    row[other] = min(row[other], np.uint8(steps))
