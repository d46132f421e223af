"""Top-down local generalisation: which nodes of a tree hold each history's terms, and how expanding one divides them.

Nodes are numbered from the root down, all below a node right behind it. Of the 2^fan-out ways in which a history may
hold children of a node only those that occur are looked at: each is a number, the end of a way through a trie.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.semantics import with_room


class Holdings(NamedTuple):
    """Histories × inner nodes that are above any of their terms, in compressed sparse rows."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    nodes: NDArray[np.int64]  # ascending within a history
    children: NDArray[np.int64]  # which children of the node the history holds: a number in the trie
    gains: NDArray[np.int64]  # by how many terms there is less doubt if the node is expanded, summed over terms
    before: NDArray[np.int64]  # trie: the number without the last child, 0 for none
    last: NDArray[np.int64]  # trie: that child


class Trie(NamedTuple):
    """Which number a number and a further child lead to, by open addressing; its arrays are replaced as they grow."""

    keys: NDArray[np.int64]  # number · 2^32 + child, −1 where free
    numbers: NDArray[np.int64]


@jit
def find(trie: Trie, key: int) -> int:
    """Return where a key is, or would be put."""
    mask = len(trie.keys) - 1
    place = (key ^ (key >> 29) ^ (key >> 13)) & mask
    while trie.keys[place] != -1 and trie.keys[place] != key:
        place = (place + 1) & mask
    return place


@jit
def larger(trie: Trie) -> Trie:
    """Return the trie with twice the room."""
    size = 2 * len(trie.keys)
    grown = Trie(np.full(size, -1, np.int64), np.zeros(size, np.int64))
    for i in range(len(trie.keys)):
        if trie.keys[i] != -1:
            place = find(grown, trie.keys[i])
            grown.keys[place], grown.numbers[place] = trie.keys[i], trie.numbers[i]
    return grown


@jit
def holdings(
    indptr: NDArray[np.int64],
    leaves: NDArray[np.int32],  # the nodes of the terms of each history, ascending
    parent: NDArray[np.int32],
    n_leaves: NDArray[np.int64],
    doubt: NDArray[np.int64],
) -> Holdings:
    """Return, for every history and inner node above its terms, the children it holds and what expanding it gains."""
    n_histories, n_nodes = len(indptr) - 1, len(parent)
    count, gain, state = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    here = np.zeros(n_nodes, np.int64)
    out = np.zeros(n_histories + 1, np.int64)
    nodes, children, gains = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    trie = Trie(np.full(1024, -1, np.int64), np.zeros(1024, np.int64))
    before, last = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    n_numbers = 1
    for h in range(n_histories):
        n_here = 0
        for i in range(indptr[h], indptr[h + 1]):
            node = leaves[i]
            while node >= 0:
                if count[node] == 0:
                    here[n_here] = node
                    n_here += 1
                count[node] += 1
                node = parent[node]
        ascending = np.sort(here[:n_here])
        for node in ascending:
            above = parent[node]
            gain[node] += count[node] * doubt[node]
            if above < 0:
                continue
            gain[above] -= count[node] * doubt[node]
            key = state[above] << 32 | node
            place = find(trie, key)
            if trie.keys[place] == -1:
                trie.keys[place], trie.numbers[place] = key, n_numbers
                before, last = with_room(before, n_numbers + 1), with_room(last, n_numbers + 1)
                before[n_numbers], last[n_numbers] = state[above], node
                state[above] = n_numbers
                n_numbers += 1
                if 2 * n_numbers > len(trie.keys):
                    trie = larger(trie)
            else:
                state[above] = trie.numbers[place]
        end = out[h]
        nodes, children = with_room(nodes, end + n_here), with_room(children, end + n_here)
        gains = with_room(gains, end + n_here)
        for node in ascending:
            if n_leaves[node] > 1:
                nodes[end], children[end], gains[end] = node, state[node], gain[node]
                end += 1
            count[node], gain[node], state[node] = 0, 0, 0
        out[h + 1] = end
    n_pairs = out[n_histories]
    return Holdings(
        out,
        nodes[:n_pairs].copy(),
        children[:n_pairs].copy(),
        gains[:n_pairs].copy(),
        before[:n_numbers].copy(),
        last[:n_numbers].copy(),
    )


@jit
def look_up(held: Holdings, members: NDArray[np.int64], node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which children of a node members hold, and what expanding it gains for each; all have it."""
    children, gains = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
    for i in range(len(members)):
        low, high = held.indptr[members[i]], held.indptr[members[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if held.nodes[middle] < node:
                low = middle + 1
            else:
                high = middle
        children[i], gains[i] = held.children[low], held.gains[low]
    return children, gains


@jit
def count_owners(owner: NDArray[np.int32], members: NDArray[np.int64]) -> int:
    """Count the people behind members, who stand in the order of the log."""
    total, last = 0, -1
    for member in members:
        if owner[member] != last:
            last = owner[member]
            total += 1
    return total


@jit
def gain_of(held: Holdings, owner: NDArray[np.int32], members: NDArray[np.int64], node: int, k: int) -> int:
    """Return what expanding a node gains for those of its parts that k people share; −1 if there is none."""
    children, gains = look_up(held, members, node)
    order = np.argsort(children, kind="mergesort")
    total, begin = -1, 0
    while begin < len(order):
        end, part, people, last = begin, 0, 0, -1
        while end < len(order) and children[order[end]] == children[order[begin]]:
            i = order[end]
            part += gains[i]
            if owner[members[i]] != last:
                last = owner[members[i]]
                people += 1
            end += 1
        if people >= k:
            total = max(total, 0) + part
        begin = end
    return total


@jit
def gains_of(
    held: Holdings, owner: NDArray[np.int32], members: NDArray[np.int64], nodes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return what expanding each of some nodes gains."""
    gains = np.zeros(len(nodes), np.int64)
    for i in range(len(nodes)):
        gains[i] = gain_of(held, owner, members, nodes[i], k)
    return gains


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
    """Return, for every node of a cut, the occurrences that all members have below it, and the most steps up to it."""
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
