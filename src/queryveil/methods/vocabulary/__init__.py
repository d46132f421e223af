"""Vocabulary k-anonymity by semantic clustering (SSC): every cluster publishes one typical vocabulary.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010. Section IV-B gives three ways
to name a bag of matched terms: the vote, the bag itself, and local generalisation.

Where we read it differently, and why, is in docs/decisions/0028: its example does not follow from its own rules,
matchings are not unique, and with sessions one person could be all of the k. More than `block` vocabularies are
clustered in blocks (docs/decisions/0041).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.rows import indptr_of, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.histories.vocabularies import PublishedVocabularies
from queryveil.kernels.clustering.centres import FAR, HEIGHT_BITS, Bags, Cluster, DistanceCache
from queryveil.methods.base import MethodTask
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people
from queryveil.methods.vocabulary.blocks import cluster_blocks, cut_by_length
from queryveil.methods.vocabulary.clustering import cluster_vocabularies, distance_rows, prepare, rule_of
from queryveil.semantics.network import Network, lowest_common_ancestor
from queryveil.semantics.published_names import SEPARATOR

PublishedName = tuple[str, int]  # a name and its level


def run(task: MethodTask) -> PublishedVocabularies:
    """Return, for every history, the typical vocabulary of its cluster."""
    profiles, network, method = task.profiles, task.inputs.get(Network), task.method
    network.require_hierarchy()
    rule = rule_of(method)
    if network.relations is not None and method.word("typical") not in ("vote", "bags"):
        raise InputError(
            f"{method}: terms near by other relations need not have a more general term in common; take typical=vote, "
            "or --network wordnet."
        )
    clustered = profiles if method.word("terms") == "all" else without_unmatchable(profiles, network, rule.k)
    refuse_too_few_people(clustered, method)
    bags, cache = prepare(clustered, network, rule.eps)
    blocks = cut_by_length(clustered, rule.k, method.integer("block"))
    if len(blocks) == 1:
        clusters = cluster_vocabularies(bags, cache, rule, task.progress)
    else:
        clusters = cluster_blocks(clustered, network, rule, blocks, task.progress)
    names = BagNames(profiles, bags, cache, network, floor_of(method))
    typical = [names.typical_vocabulary(cluster, method.word("typical")) for cluster in clusters]
    made = _publish_vocabularies(profiles, clusters, typical)
    if len(blocks) > 1:
        in_blocks = f"in {len(blocks):,} blocks of at most {max(map(len, blocks)):,}"
        made = replace(made, summary={**made.summary, "vocabularies clustered": in_blocks})
    return not_empty(made, method)


def without_unmatchable(profiles: Profiles, network: Network, k: int) -> Profiles:
    """Return the profiles without the terms that are in no network and that fewer than k people hold.

    Such a term only matches itself, so no cluster can publish it; it only makes the vocabularies that hold it seem far
    from all others.
    """
    is_matchable = profiles.holder_counts() >= k
    rare = np.flatnonzero(~is_matchable)
    is_matchable[rare] = network.find_all(profiles.vocabulary[term] for term in rare.tolist()) >= 0
    return profiles.select(is_matchable[profiles.ids])


@dataclass(frozen=True, eq=False)
class BagNames:
    """The published name of a bag of matched terms, by any of the paper's three ways."""

    profiles: Profiles
    bags: Bags
    cache: DistanceCache
    network: Network
    floor: int
    _nearby: dict[bytes, int] = field(default_factory=dict)  # memo of `_nearest_common`
    _people: dict[int, int] = field(default_factory=dict)  # memo of `_people_below`

    def typical_vocabulary(self, cluster: Cluster, typical: str) -> Counter[PublishedName]:
        """Return the names that a cluster publishes and how often each; bags without a publishable name are dropped."""
        choose = {"vote": self._by_vote, "bags": self._all_terms, "generalize": self._ancestor}[typical]
        published: Counter[PublishedName] = Counter()
        for bag, units in zip(cluster.terms, cluster.units.tolist(), strict=True):
            name = choose(bag)
            if name is not None:
                published[name] += units
        return published

    @cached_property
    def is_common(self) -> NDArray[np.bool_]:
        """Return which terms may be published."""
        return self.profiles.holder_counts() >= self.floor

    @cached_property
    def common_form(self) -> NDArray[np.int64]:
        """Return, for every word, its form that most people hold, −1 if that may not be published."""
        terms = np.flatnonzero(self.is_common & (self.bags.word >= 0))
        forms = np.full(len(self.cache.slot), -1, np.int64)
        forms[self.bags.word[terms[::-1]]] = terms[::-1]  # ids fall with the number of people: the first form stays
        return forms

    def _by_vote(self, bag: NDArray[np.int32]) -> PublishedName | None:
        """Return the term closest to the others, of equals that of the member who joined first."""
        word, candidates = self.bags.word, bag[self.is_common[bag]]
        is_known = word[bag[0]] >= 0
        term = int(candidates[0]) if len(candidates) else -1
        if is_known and len(candidates):
            away = distance_rows(self.cache, word[candidates])[:, word[bag]].sum(axis=1, dtype=np.int64)
            term = int(candidates[int(np.argmin(away))])
        elif is_known:
            term = self._nearest_common(np.sort(word[bag]))
        return (self.profiles.vocabulary[term], 0) if term >= 0 else None

    def _nearest_common(self, words: NDArray[np.int32]) -> int:
        """Return the publishable term of the log closest to the words of a bag, −1 if none is near them all.

        Ties: the term that most people hold.
        """
        key = words.tobytes()
        if key not in self._nearby:
            rows, forms = distance_rows(self.cache, words), self.common_form
            near = np.flatnonzero((forms >= 0) & (rows != FAR).all(axis=0))
            order = np.lexsort((forms[near], rows[:, near].sum(axis=0, dtype=np.int64)))
            self._nearby[key] = int(forms[near[order[0]]]) if len(near) else -1
        return self._nearby[key]

    def _all_terms(self, bag: NDArray[np.int32]) -> PublishedName | None:
        """Return all distinct publishable terms of the bag as one name."""
        names = sorted({self.profiles.vocabulary[term] for term in bag[self.is_common[bag]]})
        return (SEPARATOR.join(names), int(len(names) > 1)) if names else None

    def _ancestor(self, bag: NDArray[np.int32]) -> PublishedName | None:
        """Return the term that all have in common, or their lowest common ancestor."""
        if (bag == bag[0]).all():
            return (self.profiles.vocabulary[bag[0]], 0) if self.is_common[bag[0]] else None
        found = lowest_common_ancestor(self.cache.ancestry, self.bags.word[bag])
        if found is None or self._people_below(found[0]) < self.floor:
            return None
        return self.network.words_of(found[0])[0], max(1, found[1])  # for synonyms it is a name that they share

    def _people_below(self, node: int) -> int:
        """Count the people who hold a term below a node."""
        if node not in self._people:
            words = self.cache.below[self.cache.below_indptr[node] : self.cache.below_indptr[node + 1]] >> HEIGHT_BITS
            is_below = np.zeros(len(self.cache.slot) + 1, np.bool_)  # the last one is for terms the network lacks
            is_below[words] = True
            history = row_numbers(self.profiles.indptr)[is_below[self.bags.word[self.profiles.ids]]]
            self._people[node] = len(np.unique(self.profiles.owner[history]))
        return self._people[node]


def _publish_vocabularies(
    profiles: Profiles, clusters: Sequence[Cluster], typical: Sequence[Counter[PublishedName]]
) -> PublishedVocabularies:
    """Return the typical vocabulary of its cluster for every history."""
    terms = tuple(sorted({name for vocabulary in typical for name, _ in vocabulary}))
    number = {name: position for position, name in enumerate(terms)}
    rows: list[list[tuple[int, int, int]]] = [[] for _ in range(profiles.n_histories)]
    for cluster, vocabulary in zip(clusters, typical, strict=True):
        row = sorted((number[name], level, count) for (name, level), count in vocabulary.items())
        for member in cluster.members:
            rows[member] = row
    ids, levels, counts = np.array([cell for row in rows for cell in row], np.int32).reshape(-1, 3).T
    n_full = sum(map(bool, typical))
    summary = {
        "clusters": n_full,
        "clusters with nothing to publish": len(typical) - n_full,
        "empty vocabularies": int(np.count_nonzero(np.diff(profiles.indptr) == 0)),
    }
    indptr = indptr_of([len(row) for row in rows])
    return PublishedVocabularies(terms, indptr, ids.copy(), counts.copy(), levels.copy(), summary=summary)
