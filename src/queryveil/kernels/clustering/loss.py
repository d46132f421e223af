"""What published terms stand for in the vocabularies behind them, and how much is lost by that."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.matching import assign, make_sides
from queryveil.kernels.semantics.distances import meeting


class Terms(NamedTuple):
    """The terms of the log: where they stand in the tree, what is above them, and what they may mean."""

    leaf: NDArray[np.int32]  # (terms,): its node in the tree, whose nodes are numbered from the root down
    name_indptr: NDArray[np.int64]  # (terms + 1,)
    names: NDArray[np.int64]  # numbers of the names above it in the tree, ascending, then of those by other senses
    name_middle: NDArray[np.int64]  # (terms,): where the latter begin
    indptr: NDArray[np.int64]  # ancestry of the terms, then of the published ones
    middle: NDArray[np.int64]
    nodes: NDArray[np.int32]
    heights: NDArray[np.int32]


class Entries(NamedTuple):
    """What is published: a term as typed, or the name of what several have in common."""

    term: NDArray[np.int64]  # (entries,): the same term of the log, −1 if it has none
    name: NDArray[np.int64]  # (entries,): the number of its name if it is generalised, else −1
    word: NDArray[np.int64]  # (entries,): its row in the ancestry


class Clusters(NamedTuple):
    """Members of each published vocabulary, and its entries."""

    member_indptr: NDArray[np.int64]
    members: NDArray[np.int64]  # histories of the log
    entry_indptr: NDArray[np.int64]
    entries: NDArray[np.int32]
    counts: NDArray[np.int64]


@jit
def steps_to(terms: Terms, entries: Entries, term: int, entry: int, eps: int) -> int:
    """Return how far a term is from a published one that may stand for it, −1 where that one cannot.

    A term as typed stands for those within eps, a generalised one for those below it: 0 in the tree, 1 by other senses.
    """
    name = entries.name[entry]
    if name >= 0:
        for i in range(terms.name_indptr[term], terms.name_indptr[term + 1]):
            if terms.names[i] == name:
                return 0 if i < terms.name_middle[term] else 1
        return -1
    if entries.term[entry] == term:
        return 0
    one, other = term, entries.word[entry]
    begin, middle, end = terms.indptr[one], terms.middle[one], terms.indptr[one + 1]
    begin_2, middle_2, end_2 = terms.indptr[other], terms.middle[other], terms.indptr[other + 1]
    if middle > begin and middle_2 > begin_2:
        steps, _ = meeting(terms.nodes, terms.heights, begin, middle, begin_2, middle_2)
    else:
        steps, _ = meeting(terms.nodes, terms.heights, middle, end, middle_2, end_2)
    return steps if 0 <= steps <= eps else -1


@jit
def matched(
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    wanted: NDArray[np.int32],
    room: NDArray[np.int64],
    terms: Terms,
    entries: Entries,
    eps: int,
    as_bags: bool,
) -> NDArray[np.int64]:
    """Return how many occurrences of each term each published entry stands for: a minimum-weight matching.

    As sets every term counts once, and an entry stands for all of those that are nearest to it.
    """
    cost = np.zeros((len(ids), len(wanted)), np.int64)
    alone = 2 * (eps + 2)  # what two cost that are not matched: more than any distance
    for i in range(len(ids)):
        for j in range(len(wanted)):
            steps = steps_to(terms, entries, ids[i], wanted[j], eps)
            if steps >= 0:
                cost[i, j] = steps - alone
    amount = np.zeros((len(ids), len(wanted)), np.int64)
    if not as_bags:
        for i in range(len(ids)):
            if len(wanted) and cost[i].min() < 0:
                amount[i, np.argmin(cost[i])] = 1
        return amount
    sides = make_sides(cost, counts.astype(np.int64), room)
    assign(sides, -(1 << 60), 0)
    for j in range(len(wanted)):
        for t in range(sides.place[j], sides.place[j] + sides.used[j]):
            amount[sides.taken[t], j] += 1
    return amount


@jit
def loss_of_clusters(
    indptr: NDArray[np.int64],  # the log
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    clusters: Clusters,
    terms: Terms,
    entries: Entries,
    parent: NDArray[np.int32],  # the tree
    end: NDArray[np.int32],
    doubt: NDArray[np.int64],
    eps: int,
    as_bags: bool,
    first: int,
    last: int,
) -> tuple[float, int]:
    """Return the loss of all occurrences that published entries of some clusters stand for, and how many these are.

    All that an entry stands for in a cluster becomes as doubtful as the lowest node of the tree above it.
    """
    total, n_kept = 0.0, 0
    most = max(doubt[0], 1)
    for c in range(first, last):
        begin, stop = clusters.entry_indptr[c], clusters.entry_indptr[c + 1]
        wanted, room = clusters.entries[begin:stop], clusters.counts[begin:stop]
        lowest = np.full(len(wanted), len(parent), np.int64)
        highest, kept = np.full(len(wanted), -1, np.int64), np.zeros(len(wanted), np.int64)
        for m in range(clusters.member_indptr[c], clusters.member_indptr[c + 1]):
            row, row_end = indptr[clusters.members[m]], indptr[clusters.members[m] + 1]
            amount = matched(ids[row:row_end], counts[row:row_end], wanted, room, terms, entries, eps, as_bags)
            for i in range(row_end - row):
                node = terms.leaf[ids[row + i]]
                for j in range(len(wanted)):
                    if amount[i, j] > 0:
                        lowest[j], highest[j] = min(lowest[j], node), max(highest[j], node)
                        kept[j] += amount[i, j]
        for j in range(len(wanted)):
            if kept[j] > 0:
                node = lowest[j]
                while end[node] <= highest[j]:
                    node = parent[node]
                total += kept[j] * (doubt[node] / most)
                n_kept += kept[j]
    return total, n_kept
