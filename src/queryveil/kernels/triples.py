"""The frequent triples of one history, found in the tree of all frequent combinations."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.pairs import ONE, children
from queryveil.kernels.supports import Tree

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
