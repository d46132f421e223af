"""SSC: clusters of vocabularies near in meaning, one after the other, then whoever is left to the nearest of them.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, Algorithm 1. What differs:
the next cluster begins with the vocabulary farthest from where the last one began (`seed_rule=first` as in the paper),
and a cluster counts people: until it has k, nobody of whom it has a vocabulary may join it with another.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.clusters import Bags, nearest
from queryveil.kernels.clusters_farthest import farthest
from queryveil.kernels.clusters_leftovers import distance_to
from queryveil.methods.vocabulary.cluster import Cluster, Rule, begin, grow, restored
from queryveil.methods.vocabulary.words import Words
from queryveil.types import Progress

_STAGE = "clustering"
_NO_LIMIT = 1 << 60


def clusters_of(bags: Bags, words: Words, rule: Rule, progress: Progress) -> list[Cluster]:
    """Return clusters of at least k people each; empty vocabularies are in none."""
    alive = np.flatnonzero(bags.sizes > 0)
    total = len(alive)
    vocabularies = np.bincount(bags.owner[alive], minlength=int(bags.owner.max(initial=0)) + 1)  # left of each person
    clusters: list[Cluster] = []
    place = 0
    while np.count_nonzero(vocabularies) >= rule.k:
        seed = growing = begin(bags, words, rule, int(alive[place]))
        alive = _without(alive, place, vocabularies, bags.owner)
        while len(growing.cluster.members) < rule.k:
            is_barred = np.zeros(len(vocabularies), np.bool_)
            is_barred[bags.owner[list(growing.cluster.members)]] = True
            place = int(nearest(growing.centre, bags, alive, is_barred))
            growing = grow(growing, bags, words, rule, int(alive[place]))
            alive = _without(alive, place, vocabularies, bags.owner)
        clusters.append(growing.cluster)
        progress(_STAGE, total - len(alive), total)
        place = 0
        if rule.is_farthest and len(alive):
            largest = np.argsort(-bags.sizes[alive], kind="stable")
            place = int(farthest(seed.centre, bags, alive, largest))
    return _with_leftovers(clusters, bags, words, rule, alive, progress)


def _without(
    alive: NDArray[np.int64], place: int, vocabularies: NDArray[np.int64], owner: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the vocabularies that are left without one of them, which is counted off."""
    vocabularies[owner[alive[place]]] -= 1
    return np.delete(alive, place)


def _with_leftovers(
    clusters: list[Cluster], bags: Bags, words: Words, rule: Rule, left: NDArray[np.int64], progress: Progress
) -> list[Cluster]:
    """Put each vocabulary that is left into the cluster nearest to it, which changes that cluster's centre."""
    for done, t in enumerate(left.tolist()):
        progress(_STAGE, len(bags.sizes) - len(left) + done, len(bags.sizes))
        place = _nearest(clusters, bags, words, rule, t)
        clusters[place] = grow(restored(clusters[place], bags, words, rule), bags, words, rule, t).cluster
    return clusters


def _nearest(clusters: list[Cluster], bags: Bags, words: Words, rule: Rule, t: int) -> int:
    """Return the place of the cluster nearest to a vocabulary, the first of equals."""
    word = bags.word[bags.ids[bags.indptr[t] : bags.indptr[t + 1]]]
    slots = words.slots(word[word >= 0])
    best, found = _NO_LIMIT, 0
    for place, cluster in enumerate(clusters):
        price = rule.price(len(cluster.members), int(cluster.units.sum()))
        away = distance_to(cluster.terms, cluster.units, price, rule.is_maximum, bags, t, words.table, slots, best)
        if away < best:
            best, found = away, place
    return found
