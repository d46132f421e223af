"""Terms that the same people search for: each term's strongest neighbours, and what is near over several steps."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def neighbours(
    indptr: NDArray[np.int64],  # person → terms
    ids: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],  # term → people
    holders: NDArray[np.int32],
    n_people: int,
    least: int,  # people who must have both terms
    first: int,
    last: int,
    shared: NDArray[np.int64],  # (terms,): all 0, before and after
    found: NDArray[np.int32],  # (terms, most): out: neighbours, the strongest first, −1 behind them
    strengths: NDArray[np.float64],  # (terms, most): out
) -> None:
    """Find, for terms from `first` to before `last`, the terms with the highest normalised mutual information.

    It is ln(n(t, u) · N / (n(t) · n(u))) / ln(N / n(t, u)), n counting people out of N; only what is above 0 is a
    neighbour. Ties: the term with the smaller id.
    """
    touched = np.empty(len(shared), np.int64)
    most = found.shape[1]
    for t in range(first, last):
        n_touched = 0
        for h in range(holder_indptr[t], holder_indptr[t + 1]):
            person = holders[h]
            for i in range(indptr[person], indptr[person + 1]):
                if shared[ids[i]] == 0:
                    touched[n_touched] = ids[i]
                    n_touched += 1
                shared[ids[i]] += 1
        n_found = 0
        n_holders = holder_indptr[t + 1] - holder_indptr[t]
        for u in touched[:n_touched]:
            both = shared[u]
            shared[u] = 0
            n_others = holder_indptr[u + 1] - holder_indptr[u]
            if u == t or both < least or both * n_people <= n_holders * n_others:
                continue
            strength = np.log(both * n_people / (n_holders * n_others)) / np.log(n_people / both)
            place = min(n_found, most)
            while place > 0 and (
                strength > strengths[t, place - 1] or (strength == strengths[t, place - 1] and u < found[t, place - 1])
            ):
                if place < most:
                    found[t, place], strengths[t, place] = found[t, place - 1], strengths[t, place - 1]
                place -= 1
            if place < most:
                found[t, place], strengths[t, place] = u, strength
                n_found = min(n_found + 1, most)


@jit
def nearest(
    starts: NDArray[np.int32],
    edge_indptr: NDArray[np.int64],
    edges: NDArray[np.int32],
    strengths: NDArray[np.float64],
    steps: int,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return, for each start, itself and the `most` nodes strongest tied to it by at most so many edges.

    A tie over several edges is as strong as the product of theirs, by the best way. Ties: the smaller node.
    """
    n_nodes = len(edge_indptr) - 1
    tie, before, queue = np.zeros(n_nodes), np.zeros(n_nodes), np.empty(n_nodes, np.int64)
    indptr = np.zeros(len(starts) + 1, np.int64)
    nodes, ties = np.empty(len(starts) * (most + 1), np.int32), np.empty(len(starts) * (most + 1))
    for s in range(len(starts)):
        tie[starts[s]], queue[0], n_known = 1.0, starts[s], 1
        for _ in range(steps):
            n_before = n_known
            for node in queue[:n_before]:
                before[node] = tie[node]
            for node in queue[:n_before]:
                for e in range(edge_indptr[node], edge_indptr[node + 1]):
                    if tie[edges[e]] == 0.0:
                        queue[n_known] = edges[e]
                        n_known += 1
                    tie[edges[e]] = max(tie[edges[e]], before[node] * strengths[e])
        begin = indptr[s]
        end = begin
        for node in queue[:n_known]:
            place = min(end, begin + most + 1)
            while place > begin and (
                tie[node] > ties[place - 1] or (tie[node] == ties[place - 1] and node < nodes[place - 1])
            ):
                if place <= begin + most:
                    nodes[place], ties[place] = nodes[place - 1], ties[place - 1]
                place -= 1
            if place <= begin + most:
                nodes[place], ties[place] = node, tie[node]
                end = min(end + 1, begin + most + 1)
        for node in queue[:n_known]:
            tie[node] = 0.0
        indptr[s + 1] = end
    return indptr, nodes[: indptr[len(starts)]].copy(), ties[: indptr[len(starts)]].copy()
