"""A cluster from the vocabulary that begins it until it has k people, with the centres in between."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import Bags, Centre, Rule, price_of
from queryveil.kernels.clusters_joining import join
from queryveil.kernels.clusters_nearest import nearest
from queryveil.kernels.matching_distances import APART, FAR, Table, slots_of


class Matched(NamedTuple):
    """Who is in a cluster, in the order they joined, and the bags of their terms, those the network knows first."""

    members: NDArray[np.int64]
    terms: NDArray[np.int32]  # (bags, members): one term of each member
    units: NDArray[np.int64]  # (bags,): how many alike there are
    n_known: int


@jit
def grown(
    bags: Bags, table: Table, rule: Rule, alive: NDArray[np.int64], seed: int
) -> tuple[Matched, Centre, NDArray[np.int64]]:
    """Return a cluster of k people, its first centre, and prices of the bags of that one.

    What is known of prices is handed on from centre to centre: bags that were wanted are wanted again.
    """
    cluster = begin(bags, seed)
    first = centre = centre_of(cluster, bags, table, rule)
    first_prices = prices = np.zeros(len(first.units), np.int64)
    is_barred = np.zeros(bags.owner.max() + 1, np.bool_)
    for size in range(1, rule.k):
        is_barred[bags.owner[cluster.members[size - 1]]] = True
        t = nearest(centre, bags, alive, is_barred, prices)
        cluster, rows = grow(cluster, centre, bags, t)
        if size + 1 < rule.k:
            slots = slots_of(table, bags.word[cluster.terms[: cluster.n_known, size]])
            centre = _centre(cluster, _next_sums(centre.sums, rows, table.rows, slots), bags, rule)
            prices = prices[rows] * (size + 2) // (size + 1)
    return cluster, first, first_prices


@jit
def begin(bags: Bags, t: int) -> Matched:
    """Return a cluster of one vocabulary."""
    ids, counts = bags.ids[bags.indptr[t] : bags.indptr[t + 1]], bags.counts[bags.indptr[t] : bags.indptr[t + 1]]
    is_known = bags.word[ids] >= 0
    order = np.concatenate((np.flatnonzero(is_known), np.flatnonzero(~is_known)))
    terms = ids[order].reshape((len(ids), 1))
    return Matched(np.array([t]), terms, counts[order].astype(np.int64), is_known.sum())


@jit
def grow(cluster: Matched, centre: Centre, bags: Bags, t: int) -> tuple[Matched, NDArray[np.int64]]:
    """Return the cluster with one vocabulary more, and which bag each of its known bags was.

    Bags that find no term are gone; a term that the network does not know finds itself alone.
    """
    rows, joined, amounts = join(centre, cluster.terms[: cluster.n_known], bags, t)
    own = np.empty(bags.indptr[t + 1] - bags.indptr[t], np.int64)  # places of unknown terms that both have
    n_own = 0
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        own[n_own] = i
        n_own += centre.own[bags.ids[i]] > 0
    n_members, n_known = len(cluster.members), len(rows)
    terms = np.empty((n_known + n_own, n_members + 1), np.int32)
    units = np.empty(n_known + n_own, np.int64)
    for b in range(n_known):
        terms[b, :n_members], terms[b, n_members] = cluster.terms[rows[b]], joined[b]
        units[b] = amounts[b]
    for b in range(n_own):
        term = bags.ids[own[b]]
        terms[n_known + b], units[n_known + b] = term, min(centre.own[term], bags.counts[own[b]])
    return Matched(np.append(cluster.members, t), terms, units, n_known), rows


@jit
def centre_of(cluster: Matched, bags: Bags, table: Table, rule: Rule) -> Centre:
    """Return the centre of a cluster."""
    words = bags.word[cluster.terms[: cluster.n_known].ravel()].reshape((cluster.n_known, len(cluster.members)))
    sums = np.zeros((cluster.n_known, table.rows.shape[1]), np.uint16)
    for member in range(len(cluster.members)):
        sums = _next_sums(sums, np.arange(len(sums)), table.rows, slots_of(table, words[:, member]))
    return _centre(cluster, sums, bags, rule)


@jit
def _centre(cluster: Matched, sums: NDArray[np.uint16], bags: Bags, rule: Rule) -> Centre:
    own = np.zeros(len(bags.word), np.int32)
    for b in range(cluster.n_known, len(cluster.units)):
        own[cluster.terms[b, 0]] = cluster.units[b]
    size = cluster.units.sum()
    price = price_of(rule, len(cluster.members), size)
    return Centre(sums, cluster.units[: cluster.n_known], own, size, price, rule.is_maximum)


@jit
def _next_sums(
    sums: NDArray[np.uint16], rows: NDArray[np.int64], table: NDArray[np.uint8], slots: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """Return the sums of bags that took one word more each; `rows` tells which bags they were."""
    n_words = table.shape[1]
    after = np.empty((len(rows), n_words), np.uint16)
    for b in range(len(rows)):
        row, before = table[slots[b]], sums[rows[b]]
        for w in range(n_words):
            is_apart = (row[w] == FAR) | (before[w] == APART)  # `or` would be a branch, one word at a time
            after[b, w] = np.uint16(APART) if is_apart else np.uint16(before[w] + np.uint16(row[w]))
    return after
