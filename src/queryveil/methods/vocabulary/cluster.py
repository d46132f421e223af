"""One cluster: its members, and the bags of matched terms that are its centre."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.clusters import Bags, Centre
from queryveil.kernels.clusters_joining import first_sums, join, next_sums
from queryveil.methods.vocabulary.words import Words


@dataclass(frozen=True)
class Rule:
    """What decides which terms are matched."""

    k: int
    eps: int
    omega: int
    is_maximum: bool
    is_farthest: bool  # the next cluster begins farthest from where the last one did, else first in the log

    def price(self, members: int, largest: int) -> NDArray[np.int64]:
        """Return what a bag of so many terms, a term, and both together cost unmatched.

        By the maximum model a pair more must save more than all others together can lose.
        """
        if self.is_maximum:
            return np.array([0, 0, members * self.eps * (largest + 1) + 1])
        return np.array([members * self.omega, self.omega, (members + 1) * self.omega])


@dataclass(frozen=True, eq=False)
class Cluster:
    """Members in the order they joined, and the bags: one term of each member, in that order."""

    members: tuple[int, ...]
    terms: NDArray[np.int32]  # (bags, members): different bags
    units: NDArray[np.int64]  # (bags,): how many there are of each


@dataclass(frozen=True, eq=False)
class Growing:
    """A cluster that others may join, with its distances from all words."""

    cluster: Cluster
    centre: Centre


def begin(bags: Bags, words: Words, rule: Rule, t: int) -> Growing:
    """Return a cluster of one vocabulary."""
    row = slice(int(bags.indptr[t]), int(bags.indptr[t + 1]))
    cluster = Cluster((t,), bags.ids[row].reshape(-1, 1), bags.counts[row].astype(np.int64))
    word = bags.word[cluster.terms[:, 0]]
    return Growing(cluster, _centre(cluster, first_sums(words.table, words.slots(word[word >= 0])), bags, rule))


def restored(cluster: Cluster, bags: Bags, words: Words, rule: Rule) -> Growing:
    """Return a finished cluster as one that others may join."""
    word = bags.word[cluster.terms]
    word = word[word[:, 0] >= 0]
    sums = first_sums(words.table, words.slots(word[:, 0]))
    for member in range(1, len(cluster.members)):
        sums = next_sums(sums, np.arange(sums.shape[1]), words.table, words.slots(word[:, member]))
    return Growing(cluster, _centre(cluster, sums, bags, rule))


def grow(growing: Growing, bags: Bags, words: Words, rule: Rule, t: int) -> Growing:
    """Return the cluster with one vocabulary more; bags that find no term in it are gone."""
    old, centre = growing.cluster, growing.centre
    is_known = bags.word[old.terms[:, 0]] >= 0
    rows, joined, amounts = join(centre, old.terms[is_known], bags, t)
    sums = next_sums(centre.sums, rows, words.table, words.slots(bags.word[joined]))
    known = np.column_stack((old.terms[is_known][rows], joined))
    unknown, n_unknown = _alike(old, ~is_known, bags, t)
    terms = np.concatenate((known, np.repeat(unknown[:, None], len(old.members) + 1, axis=1)))
    cluster = Cluster((*old.members, t), terms.astype(np.int32), np.concatenate((amounts, n_unknown)))
    return Growing(cluster, _centre(cluster, sums, bags, rule))


def _alike(
    cluster: Cluster, is_unknown: NDArray[np.bool_], bags: Bags, t: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the terms that the network does not know and that a cluster and a vocabulary share, and how often."""
    row = slice(int(bags.indptr[t]), int(bags.indptr[t + 1]))
    shared, one, other = np.intersect1d(
        cluster.terms[is_unknown, 0], bags.ids[row], assume_unique=True, return_indices=True
    )
    return shared, np.minimum(cluster.units[is_unknown][one], bags.counts[row][other])


def _centre(cluster: Cluster, sums: NDArray[np.uint16], bags: Bags, rule: Rule) -> Centre:
    own = np.zeros(len(bags.word), np.int32)
    is_known = bags.word[cluster.terms[:, 0]] >= 0
    own[cluster.terms[~is_known, 0]] = cluster.units[~is_known]
    size = int(cluster.units.sum())
    price = rule.price(len(cluster.members), size)
    return Centre(sums, cluster.units[is_known], own, size, price, rule.is_maximum)
