"""SSC: clusters of vocabularies near in meaning, one after the other; leftovers go to the nearest of them.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, Algorithm 1. What differs:
the next cluster begins with the vocabulary farthest from where the last one began (`seed_rule=first` as in the paper),
and a cluster counts people: until it has k, each of its people contributes one vocabulary.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.core.rows import Int32Array, indptr_of, row_numbers, row_sums
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import (
    NO_LIMIT,
    Bags,
    Cluster,
    ClusteringRule,
    DistanceCache,
    distance_to_cluster,
    slots_of,
    sums_of_type,
    words_below,
)
from queryveil.kernels.clustering.growing import add_member, centre_of, grow_cluster
from queryveil.kernels.clustering.search import farthest
from queryveil.semantics.network import Network, ancestry_of

STAGE = "clustering"
_CACHE_BYTES = 600_000_000  # of distance rows; if all rows fit, all are kept


def rule_of(method: ResolvedName) -> ClusteringRule:
    """Return the parameters that decide which terms are matched."""
    eps = method.integer("eps")
    omega = int(method.values.get("omega", max(100, 10 * eps)))
    is_maximum, is_farthest = method.word("model") == "maximum", method.word("seed_rule") == "farthest"
    return ClusteringRule(method.integer("k"), eps, omega, is_maximum, is_farthest)


def prepare(profiles: Profiles, network: Network, limit: int) -> tuple[Bags, DistanceCache]:
    """Return the vocabularies of all histories, and an empty cache of the distances between the words they use.

    The cache has room for the words of every single vocabulary.
    """
    found = network.find_all(profiles.vocabulary)
    numbers = np.unique(found[found >= 0])
    word = np.where(found < 0, -1, np.searchsorted(numbers, found)).astype(np.int32)
    sizes = row_sums(profiles.counts, profiles.indptr)
    words = word[profiles.ids]
    unknown = _unknown(profiles, words < 0)
    bags = Bags(profiles.indptr, profiles.ids, profiles.counts, sizes, profiles.owner, word, words, *unknown)
    n_words, longest = len(numbers), int(np.diff(profiles.indptr).max(initial=0))
    rows = np.empty((min(n_words, max(longest, _CACHE_BYTES // max(1, n_words))), n_words), np.uint8)
    ancestry = ancestry_of(network, numbers, limit=limit)
    below = words_below(ancestry, network.n_nodes)
    return bags, DistanceCache(
        ancestry, *below, rows, np.full(n_words, -1, np.int64), np.zeros(1, np.int64), sums_of_type(2, limit)
    )


def _unknown(profiles: Profiles, is_unknown: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    """Return how many occurrences of every history are known, and the histories of every unknown term."""
    pairs = np.flatnonzero(is_unknown)
    pairs = pairs[np.argsort(profiles.ids[pairs], kind="stable")]
    indptr = indptr_of(np.bincount(profiles.ids[pairs], minlength=len(profiles.vocabulary)))
    holders = row_numbers(profiles.indptr)[pairs].astype(np.int32)
    known = row_sums(np.where(is_unknown, 0, profiles.counts), profiles.indptr)
    return known, indptr, holders, profiles.counts[pairs]


def distance_rows(cache: DistanceCache, words: Int32Array) -> NDArray[np.uint8]:
    """Return the distances of words from all words, computed in as many parts as the cache requires."""
    n_parts = -(-len(words) // max(1, len(cache.rows)))
    return np.concatenate([cache.rows[slots_of(cache, part)] for part in np.array_split(words, max(1, n_parts))])


def cluster_vocabularies(bags: Bags, cache: DistanceCache, rule: ClusteringRule, progress: Progress) -> list[Cluster]:
    """Return clusters of at least k people each; empty vocabularies are in none."""
    is_left = bags.sizes > 0
    alive = np.flatnonzero(is_left)
    largest = alive[np.argsort(-bags.sizes[alive], kind="stable")]
    total = len(alive)
    left_of_person = np.bincount(bags.owner[alive], minlength=int(bags.owner.max(initial=0)) + 1)  # vocabularies
    clusters: list[Cluster] = []
    seed = int(alive[0]) if total else -1
    cache = cache._replace(sums=sums_of_type(rule.k, rule.eps))
    while np.count_nonzero(left_of_person) >= rule.k:
        cluster, centre, prices = grow_cluster(bags, cache, rule, alive, seed)
        clusters.append(cluster)
        is_left[cluster.members] = False
        left_of_person[bags.owner[cluster.members]] -= 1  # all are of different people
        alive, largest = alive[is_left[alive]], largest[is_left[largest]]
        progress(STAGE, total - len(alive), total)
        if len(alive):
            seed = int(farthest(centre, bags, largest, prices)) if rule.is_farthest else int(alive[0])
    most_members = max((len(cluster.members) for cluster in clusters), default=0) + len(alive)
    cache = cache._replace(sums=sums_of_type(most_members, rule.eps))
    for done, t in enumerate(alive.tolist()):
        progress(STAGE, len(bags.sizes) - len(alive) + done, len(bags.sizes))
        position = _nearest(clusters, bags, cache, rule, t)
        centre = centre_of(clusters[position], bags, cache, rule)
        clusters[position], _ = add_member(clusters[position], centre, bags, t)
    return clusters


def _nearest(clusters: list[Cluster], bags: Bags, cache: DistanceCache, rule: ClusteringRule, t: int) -> int:
    """Return the position of the cluster nearest to a vocabulary, the first of equals."""
    word = bags.word[bags.ids[bags.indptr[t] : bags.indptr[t + 1]]]
    slots = slots_of(cache, word[word >= 0])
    best, found = NO_LIMIT, 0
    for position, cluster in enumerate(clusters):
        away = distance_to_cluster(cluster, rule, bags, t, cache, slots, best)
        if away < best:
            best, found = away, position
    return found
