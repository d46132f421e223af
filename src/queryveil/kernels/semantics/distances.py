"""How far apart terms are in a hierarchy: every term's ancestors with their heights, and merging those of two terms."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.semantics.senses import with_room


@jit
def ancestors(
    start_indptr: NDArray[np.int64],  # term → the nodes it may mean
    starts: NDArray[np.int32],
    edge_indptr: NDArray[np.int64],
    edges: NDArray[np.int32],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes at most `most` edges above any of a term's, ascending, each with the fewest edges to it."""
    n_terms = len(start_indptr) - 1
    height = np.full(len(edge_indptr) - 1, -1, np.int64)
    indptr = np.zeros(n_terms + 1, np.int64)
    nodes, heights = np.zeros(16 * n_terms, np.int64), np.zeros(16 * n_terms, np.int64)
    queue = np.zeros(64, np.int64)
    for t in range(n_terms):
        end = 0
        for s in range(start_indptr[t], start_indptr[t + 1]):
            if height[starts[s]] < 0:
                queue = with_room(queue, end + 1)
                height[starts[s]], queue[end] = 0, starts[s]
                end += 1
        done = 0
        while done < end:
            here = queue[done]
            done += 1
            if height[here] == most:
                break  # nodes come by rising height
            for e in range(edge_indptr[here], edge_indptr[here + 1]):
                if height[edges[e]] < 0:
                    queue = with_room(queue, end + 1)
                    height[edges[e]], queue[end] = height[here] + 1, edges[e]
                    end += 1
        begin = indptr[t]
        indptr[t + 1] = begin + end
        nodes, heights = with_room(nodes, begin + end), with_room(heights, begin + end)
        nodes[begin : begin + end] = np.sort(queue[:end])
        for i in range(begin, begin + end):
            heights[i] = height[nodes[i]]
            height[nodes[i]] = -1
    return indptr, nodes[: indptr[n_terms]].copy(), heights[: indptr[n_terms]].copy()


@jit
def meeting(
    nodes: NDArray[np.int32],
    heights: NDArray[np.int32],
    one: int,  # where the ancestors of one term begin and end
    one_end: int,
    other: int,
    other_end: int,
) -> tuple[int, int]:
    """Return the edges between two terms through the common ancestor with the fewest, and that node; −1 if none.

    Ties: the lower one, seen from the term that is farther below; then the smaller node.
    """
    fewest, flattest, node = -1, 0, -1
    while one < one_end and other < other_end:
        if nodes[one] < nodes[other]:
            one += 1
        elif nodes[one] > nodes[other]:
            other += 1
        else:
            steps = heights[one] + heights[other]
            tallest = max(heights[one], heights[other])
            if fewest < 0 or steps < fewest or (steps == fewest and tallest < flattest):
                fewest, flattest, node = steps, tallest, nodes[one]
            one += 1
            other += 1
    return fewest, node


@jit
def meetings(
    indptr: NDArray[np.int64],
    middle: NDArray[np.int64],  # (terms,): where the ancestors that are not nouns begin
    nodes: NDArray[np.int32],
    heights: NDArray[np.int32],
    ones: NDArray[np.int32],
    others: NDArray[np.int32],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distance of many pairs of terms and the node they meet in; −1 where they do not within `most` edges.

    Terms that both can be nouns are compared as nouns, others by what else they can be.
    """
    distance, node = np.full(len(ones), -1, np.int64), np.full(len(ones), -1, np.int32)
    for p in range(len(ones)):
        a, b = ones[p], others[p]
        if middle[a] > indptr[a] and middle[b] > indptr[b]:
            fewest, where = meeting(nodes, heights, indptr[a], middle[a], indptr[b], middle[b])
        else:
            fewest, where = meeting(nodes, heights, middle[a], indptr[a + 1], middle[b], indptr[b + 1])
        if 0 <= fewest <= most:
            distance[p], node[p] = fewest, where
    return distance, node
