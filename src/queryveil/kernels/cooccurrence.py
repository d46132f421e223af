"""Terms that the same people search for: each term's neighbours, and the nodes related over several steps."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def _insert(ids: NDArray[np.int32], strengths: NDArray[np.float64], n: int, new: int, strength: float) -> int:
    """Insert an id by falling strength, then rising id, into the first `n` of a list; return how many there are now.

    A full list loses its last.
    """
    position = n
    while position > 0:
        above = strengths[position - 1]
        if strength < above or (strength == above and new > ids[position - 1]):
            break
        if position < len(ids):
            ids[position], strengths[position] = ids[position - 1], above
        position -= 1
    if position < len(ids):
        ids[position], strengths[position] = new, strength
        return min(n + 1, len(ids))
    return n


@jit
def find_neighbours(
    indptr: NDArray[np.int64],  # person → terms
    ids: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],  # term → people
    holders: NDArray[np.int32],
    n_people: int,
    least: int,  # people who must have both terms
    first: int,
    last: int,
    shared: NDArray[np.int64],  # (terms,): all 0, before and after
    found: NDArray[np.int32],  # (terms, most): output: neighbours, the strongest first, padded with −1
    strengths: NDArray[np.float64],  # (terms, most): output
) -> None:
    """Find, for terms from `first` to before `last`, the terms with the highest normalised mutual information.

    It is ln(n(t, u) · N / (n(t) · n(u))) / ln(N / n(t, u)), n counting people out of N; only terms with more than 0
    are neighbours. Ties: the term with the smaller id.
    """
    touched = np.empty(len(shared), np.int64)
    for t in range(first, last):
        n_touched = n_found = 0
        for person in holders[holder_indptr[t] : holder_indptr[t + 1]]:
            for i in range(indptr[person], indptr[person + 1]):
                if shared[ids[i]] == 0:
                    touched[n_touched] = ids[i]
                    n_touched += 1
                shared[ids[i]] += 1
        n_holders = holder_indptr[t + 1] - holder_indptr[t]
        for u in touched[:n_touched]:
            both = shared[u]
            shared[u] = 0
            n_others = holder_indptr[u + 1] - holder_indptr[u]
            if u != t and both >= least and both * n_people > n_holders * n_others:
                strength = np.log(both * n_people / (n_holders * n_others)) / np.log(n_people / both)
                n_found = _insert(found[t], strengths[t], n_found, u, strength)


@jit
def strongest_related(
    starts: NDArray[np.int32],
    edge_indptr: NDArray[np.int64],
    edges: NDArray[np.int32],
    strengths: NDArray[np.float64],
    steps: int,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return, for each start, itself and the `most` nodes most strongly related to it over at most `steps` edges.

    The strength over several edges is the product of theirs, along the best path. Ties: the smaller node.
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
        room, n_found = slice(indptr[s], indptr[s] + most + 1), 0
        for node in queue[:n_known]:
            n_found = _insert(nodes[room], ties[room], n_found, node, tie[node])
            tie[node] = 0.0
        indptr[s + 1] = indptr[s] + n_found
    return indptr, nodes[: indptr[len(starts)]].copy(), ties[: indptr[len(starts)]].copy()
