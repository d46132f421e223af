"""Matching published terms with the original terms they stand for, and the information that is lost."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.matching import finish, make_sides
from queryveil.kernels.semantics import Ancestry, term_distance


class LogTerms(NamedTuple):
    """The terms of the log: the tree of which they are the leaves, the names above them, and their ancestors."""

    parent: NDArray[np.int32]  # (nodes,): the tree, in preorder
    end: NDArray[np.int32]  # (nodes,)
    doubt: NDArray[np.int64]  # (nodes,)
    leaf: NDArray[np.int32]  # (terms,): its node in the tree
    name_indptr: NDArray[np.int64]  # (terms + 1,)
    names: NDArray[np.int64]  # numbers of the names above it in the tree, ascending, then of those by other senses
    name_middle: NDArray[np.int64]  # (terms,): where the latter begin
    ancestry: Ancestry  # of the terms, then of the published ones


class PublishedEntries(NamedTuple):
    """What is published: a term as typed, or the name of a common ancestor of several."""

    term: NDArray[np.int64]  # (entries,): the same term of the log, −1 if it has none
    name: NDArray[np.int64]  # (entries,): the number of its name if it is generalised, else −1
    word: NDArray[np.int64]  # (entries,): its row in the ancestry


class PublishedClusters(NamedTuple):
    """Members of each published vocabulary, and its entries."""

    member_indptr: NDArray[np.int64]
    members: NDArray[np.int64]  # histories of the log
    entry_indptr: NDArray[np.int64]
    entries: NDArray[np.int32]
    counts: NDArray[np.int64]


@jit
def steps_to(terms: LogTerms, entries: PublishedEntries, term: int, entry: int) -> int:
    """Return the distance of a term from a published one that may stand for it, −1 if that one cannot.

    A term as typed stands for those within the limit, a generalised one for those below it: 0 in the tree, 1 by other
    senses.
    """
    name = entries.name[entry]
    if name >= 0:
        for i in range(terms.name_indptr[term], terms.name_indptr[term + 1]):
            if terms.names[i] == name:
                return 0 if i < terms.name_middle[term] else 1
        return -1
    return 0 if entries.term[entry] == term else term_distance(terms.ancestry, term, entries.word[entry])


@jit
def match_terms(
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    wanted: NDArray[np.int32],
    room: NDArray[np.int64],
    terms: LogTerms,
    entries: PublishedEntries,
    as_bags: bool,
) -> NDArray[np.int64]:
    """Return how many occurrences of each term each published entry stands for: a minimum-weight matching.

    As sets every term counts once, and an entry stands for all terms that are nearest to it.
    """
    cost = np.zeros((len(ids), len(wanted)), np.int64)
    alone = 2 * (terms.ancestry.limit + 2)  # the cost of two unmatched ones: more than any distance
    for i in range(len(ids)):
        for j in range(len(wanted)):
            steps = steps_to(terms, entries, ids[i], wanted[j])
            if steps >= 0:
                cost[i, j] = steps - alone
    amount = np.zeros((len(ids), len(wanted)), np.int64)
    if not as_bags:
        for i in range(len(ids)):
            if len(wanted) and cost[i].min() < 0:
                amount[i, np.argmin(cost[i])] = 1
        return amount
    sides = make_sides(cost, counts.astype(np.int64), room)
    finish(sides)
    for j in range(len(wanted)):
        for t in range(sides.position[j], sides.position[j] + sides.used[j]):
            amount[sides.taken[t], j] += 1
    return amount


@jit
def loss_of_clusters(
    indptr: NDArray[np.int64],  # the log
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    clusters: PublishedClusters,
    terms: LogTerms,
    entries: PublishedEntries,
    as_bags: bool,
    first: int,
    last: int,
) -> tuple[float, int]:
    """Return the loss of all occurrences that published entries of some clusters stand for, and how many these are.

    All terms that an entry stands for in a cluster become as uncertain as their lowest common node of the tree.
    """
    total, n_kept, most = 0.0, 0, max(terms.doubt[0], 1)
    for c in range(first, last):
        begin, stop = clusters.entry_indptr[c], clusters.entry_indptr[c + 1]
        wanted, room = clusters.entries[begin:stop], clusters.counts[begin:stop]
        lowest, highest = np.full(len(wanted), len(terms.parent), np.int64), np.full(len(wanted), -1, np.int64)
        kept = np.zeros(len(wanted), np.int64)
        for member in clusters.members[clusters.member_indptr[c] : clusters.member_indptr[c + 1]]:
            row, row_end = indptr[member], indptr[member + 1]
            amount = match_terms(ids[row:row_end], counts[row:row_end], wanted, room, terms, entries, as_bags)
            for i in range(row_end - row):
                node = terms.leaf[ids[row + i]]
                for j in np.flatnonzero(amount[i]):
                    lowest[j], highest[j] = min(lowest[j], node), max(highest[j], node)
                    kept[j] += amount[i, j]
        for j in np.flatnonzero(kept):
            node = lowest[j]
            while terms.end[node] <= highest[j]:
                node = terms.parent[node]
            total += kept[j] * (terms.doubt[node] / most)
            n_kept += kept[j]
    return total, n_kept
