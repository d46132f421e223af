"""Top-down local generalisation: the nodes of a tree above each history's terms, and how expanding one divides them.

Nodes are numbered in preorder. Of the 2^fan-out sets of a node's children that a history may hold only those that occur
are enumerated: each has a number, the end of a path through a trie.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.semantics import with_room


class Holdings(NamedTuple):
    """Histories × inner nodes above any of their terms, as CSR rows."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    nodes: NDArray[np.int64]  # ascending within a history
    children: NDArray[np.int64]  # number of the set of the node's children that the history holds
    gains: NDArray[np.int64]  # the decrease of doubt if the node is expanded, summed over terms
    before: NDArray[np.int64]  # (sets,): the set without its last child, 0 for the empty set
    last: NDArray[np.int64]  # (sets,): that child


class Trie(NamedTuple):
    """Sets of children by number, each a smaller set and a last child; found by open addressing."""

    keys: NDArray[np.int64]  # number · 2^32 + further child, −1 for free slots
    numbers: NDArray[np.int64]  # (keys,): the number of the larger set
    before: NDArray[np.int64]  # (numbers,): the set without the last child, 0 for the empty set
    last: NDArray[np.int64]  # (numbers,): that child
    size: NDArray[np.int64]  # (1,): numbers in use


@jit
def _make_trie(n_slots: int) -> Trie:
    """Return a trie with the empty set only."""
    empty = np.zeros((3, n_slots), np.int64)
    return Trie(np.full(n_slots, -1, np.int64), empty[0], empty[1], empty[2], np.ones(1, np.int64))


@jit
def _find_slot(trie: Trie, key: int) -> int:
    """Return the slot of a key, or the free one where it would be put."""
    mask = len(trie.keys) - 1
    position = (key ^ (key >> 29) ^ (key >> 13)) & mask
    while trie.keys[position] != -1 and trie.keys[position] != key:
        position = (position + 1) & mask
    return position


@jit
def _grow_trie(trie: Trie) -> Trie:
    """Return the trie with twice the room."""
    n = trie.size[0]
    grown = _make_trie(2 * len(trie.keys))
    grown.before[:n], grown.last[:n], grown.size[0] = trie.before[:n], trie.last[:n], n
    for i in range(len(trie.keys)):
        if trie.keys[i] != -1:
            position = _find_slot(grown, trie.keys[i])
            grown.keys[position], grown.numbers[position] = trie.keys[i], trie.numbers[i]
    return grown


@jit
def _add_child(trie: Trie, number: int, child: int) -> tuple[Trie, int]:
    """Return the trie, with more room if it is needed, and the number of a set with one more child."""
    key = number << 32 | child
    position = _find_slot(trie, key)
    if trie.keys[position] != -1:
        return trie, trie.numbers[position]
    n = trie.size[0]
    trie.keys[position], trie.numbers[position] = key, n
    trie.before[n], trie.last[n], trie.size[0] = number, child, n + 1
    return _grow_trie(trie) if 2 * trie.size[0] > len(trie.keys) else trie, n


@jit
def find_holdings(
    indptr: NDArray[np.int64],
    leaves: NDArray[np.int32],  # the nodes of the terms of each history, ascending
    parent: NDArray[np.int32],
    n_leaves: NDArray[np.int64],
    doubt: NDArray[np.int64],
) -> Holdings:
    """Return, for every history and inner node above its terms, the children it holds and what expanding it gains."""
    n_histories, n_nodes = len(indptr) - 1, len(parent)
    count, gain, state = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    here, out = np.zeros(n_nodes, np.int64), np.zeros(n_histories + 1, np.int64)
    nodes, children, gains = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    trie = _make_trie(1024)
    for h in range(n_histories):
        n_here, end = 0, out[h]
        for leaf in leaves[indptr[h] : indptr[h + 1]]:
            node = leaf
            while node >= 0:
                if count[node] == 0:
                    here[n_here] = node
                    n_here += 1
                count[node] += 1
                node = parent[node]
        ascending = np.sort(here[:n_here])
        for node in ascending:
            gain[node] += count[node] * doubt[node]
            if parent[node] >= 0:
                gain[parent[node]] -= count[node] * doubt[node]
                trie, state[parent[node]] = _add_child(trie, state[parent[node]], node)
        nodes, children = with_room(nodes, end + n_here), with_room(children, end + n_here)
        gains = with_room(gains, end + n_here)
        for node in ascending:
            if n_leaves[node] > 1:
                nodes[end], children[end], gains[end] = node, state[node], gain[node]
                end += 1
            count[node], gain[node], state[node] = 0, 0, 0
        out[h + 1] = end
    n, size = out[n_histories], trie.size[0]
    sets = trie.before[:size].copy(), trie.last[:size].copy()
    return Holdings(out, nodes[:n].copy(), children[:n].copy(), gains[:n].copy(), sets[0], sets[1])


@jit
def look_up(held: Holdings, members: NDArray[np.int64], node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which children of a node members hold, and what expanding it gains for each; all members hold it."""
    children, gains = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
    for i in range(len(members)):
        begin, end = held.indptr[members[i]], held.indptr[members[i] + 1]
        position = begin + np.searchsorted(held.nodes[begin:end], node)
        children[i], gains[i] = held.children[position], held.gains[position]
    return children, gains


@jit
def count_owners(owner: NDArray[np.int32], members: NDArray[np.int64]) -> int:
    """Count the people of members, who are in the order of the log."""
    total, last = 0, -1
    for member in members:
        total += owner[member] != last
        last = owner[member]
    return total


@jit
def gains_of(
    held: Holdings, owner: NDArray[np.int32], members: NDArray[np.int64], nodes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return what expanding each of some nodes gains for its parts that k people share; −1 if there is none."""
    totals = np.full(len(nodes), -1, np.int64)
    for n in range(len(nodes)):
        children, gains = look_up(held, members, nodes[n])
        order = np.argsort(children, kind="mergesort")
        begin = 0
        while begin < len(order):
            end = begin
            while end < len(order) and children[order[end]] == children[order[begin]]:
                end += 1
            part = order[begin:end]
            if count_owners(owner, members[part]) >= k:
                totals[n] = max(totals[n], 0) + gains[part].sum()
            begin = end
    return totals


@jit
def shared_counts(
    indptr: NDArray[np.int64],
    leaves: NDArray[np.int32],  # ascending within a history
    counts: NDArray[np.int32],
    depth: NDArray[np.int32],
    end: NDArray[np.int32],
    members: NDArray[np.int64],
    cut: NDArray[np.int64],  # nodes that hold all terms of every member, ascending
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every node of a cut, the occurrences below it that all members have, and the most steps up to it."""
    least, steps = np.full(len(cut), -1, np.int64), np.zeros(len(cut), np.int64)
    for member in members:
        i, stop = indptr[member], indptr[member + 1]
        for c in range(len(cut)):
            total = 0
            while i < stop and leaves[i] < end[cut[c]]:
                total += counts[i]
                steps[c] = max(steps[c], depth[leaves[i]] - depth[cut[c]])
                i += 1
            if least[c] < 0 or total < least[c]:
                least[c] = total
    return least, steps
