"""SSC: clusters of vocabularies near in meaning, one after the other, then whoever is left to the nearest of them.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, Algorithm 1. What differs:
the next cluster begins with the vocabulary farthest from where the last one began (`seed_rule=first` as in the paper),
and a cluster counts people: until it has k, nobody of whom it has a vocabulary may join it with another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.kernels.clustering.centres import NO_LIMIT, Bags, Rule, distance_to
from queryveil.kernels.clustering.growing import Matched, centre_of, grow, grown
from queryveil.kernels.clustering.search import farthest
from queryveil.methods.vocabulary.words import Words

_STAGE = "clustering"


@dataclass(frozen=True, eq=False)
class Cluster:
    """Members in the order they joined, and the bags: one term of each member, in that order."""

    members: tuple[int, ...]
    terms: NDArray[np.int32]  # (bags, members): different bags
    units: NDArray[np.int64]  # (bags,): how many there are of each

    def joined(self, bags: Bags, words: Words, rule: Rule, t: int) -> "Cluster":
        """Return the cluster with one vocabulary more; bags that find no term in it are gone."""
        n_known = int(np.count_nonzero(bags.word[self.terms[:, 0]] >= 0))
        before = Matched(np.array(self.members), self.terms, self.units, n_known)
        return cluster_of(grow(before, centre_of(before, bags, words.table, rule), bags, t)[0])


def cluster_of(matched: Matched) -> Cluster:
    """Return a cluster that the kernels made."""
    return Cluster(tuple(matched.members.tolist()), matched.terms, matched.units)


def clusters_of(bags: Bags, words: Words, rule: Rule, progress: Progress) -> list[Cluster]:
    """Return clusters of at least k people each; empty vocabularies are in none."""
    is_left = bags.sizes > 0
    alive = np.flatnonzero(is_left)
    largest = alive[np.argsort(-bags.sizes[alive], kind="stable")]
    total = len(alive)
    vocabularies = np.bincount(bags.owner[alive], minlength=int(bags.owner.max(initial=0)) + 1)  # left of each person
    clusters: list[Cluster] = []
    seed = int(alive[0]) if total else -1
    while np.count_nonzero(vocabularies) >= rule.k:
        made, centre, prices = grown(bags, words.table, rule, alive, seed)
        clusters.append(cluster_of(made))
        is_left[made.members] = False
        vocabularies[bags.owner[made.members]] -= 1  # no two are one person's
        alive, largest = alive[is_left[alive]], largest[is_left[largest]]
        progress(_STAGE, total - len(alive), total)
        if len(alive):
            seed = int(farthest(centre, bags, largest, prices)) if rule.is_farthest else int(alive[0])
    return _with_leftovers(clusters, bags, words, rule, alive, progress)


def _with_leftovers(
    clusters: list[Cluster], bags: Bags, words: Words, rule: Rule, left: NDArray[np.int64], progress: Progress
) -> list[Cluster]:
    """Put each vocabulary that is left into the cluster nearest to it, which changes that cluster's centre."""
    for done, t in enumerate(left.tolist()):
        progress(_STAGE, len(bags.sizes) - len(left) + done, len(bags.sizes))
        place = _nearest(clusters, bags, words, rule, t)
        clusters[place] = clusters[place].joined(bags, words, rule, t)
    return clusters


def _nearest(clusters: list[Cluster], bags: Bags, words: Words, rule: Rule, t: int) -> int:
    """Return the place of the cluster nearest to a vocabulary, the first of equals."""
    word = bags.word[bags.ids[bags.indptr[t] : bags.indptr[t + 1]]]
    slots = words.slots(word[word >= 0])
    best, found = NO_LIMIT, 0
    for place, cluster in enumerate(clusters):
        away = distance_to(cluster.terms, cluster.units, rule, bags, t, words.table.rows, slots, best)
        if away < best:
            best, found = away, place
    return found
