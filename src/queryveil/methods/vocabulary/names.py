"""What is published of a bag of matched terms: the vote, the bag itself, or local generalisation.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section IV-B.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from queryveil.core.rows import BoolArray, Int32Array, IntArray, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import FAR, HEIGHT_BITS, Bags, Cluster, DistanceCache
from queryveil.methods.vocabulary.clustering import distance_rows
from queryveil.semantics.network import Network, lowest_common_ancestor
from queryveil.semantics.tree import SEPARATOR

PublishedName = tuple[str, int]  # a name and its level


@dataclass(frozen=True, eq=False)
class BagNames:
    """The published name of a bag of matched terms, by any of the paper's three ways."""

    vocabulary: Sequence[str]
    bags: Bags
    cache: DistanceCache
    network: Network
    floor: int
    people: IntArray  # (terms,): how many people of the log hold each
    people_below: Callable[[int], int]  # how many of them hold a term below a node
    _nearby: dict[bytes, int] = field(default_factory=dict)  # memo of `_nearest_common`

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
    def is_common(self) -> BoolArray:
        """Return which terms may be published."""
        return self.people >= self.floor

    @cached_property
    def common_form(self) -> IntArray:
        """Return, for every word, its form that most people hold, −1 if that may not be published."""
        terms = np.flatnonzero(self.is_common & (self.bags.word >= 0))
        forms = np.full(len(self.cache.slot), -1, np.int64)
        forms[self.bags.word[terms[::-1]]] = terms[::-1]  # ids fall with the number of people: the first form stays
        return forms

    def _by_vote(self, bag: Int32Array) -> PublishedName | None:
        """Return the term closest to the others, of equals that of the member who joined first."""
        word, candidates = self.bags.word, bag[self.is_common[bag]]
        is_known = word[bag[0]] >= 0
        term = int(candidates[0]) if len(candidates) else -1
        if is_known and len(candidates):
            away = distance_rows(self.cache, word[candidates])[:, word[bag]].sum(axis=1, dtype=np.int64)
            term = int(candidates[int(np.argmin(away))])
        elif is_known:
            term = self._nearest_common(np.sort(word[bag]))
        return (self.vocabulary[term], 0) if term >= 0 else None

    def _nearest_common(self, words: Int32Array) -> int:
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

    def _all_terms(self, bag: Int32Array) -> PublishedName | None:
        """Return all distinct publishable terms of the bag as one name."""
        names = sorted({self.vocabulary[term] for term in bag[self.is_common[bag]]})
        return (SEPARATOR.join(names), int(len(names) > 1)) if names else None

    def _ancestor(self, bag: Int32Array) -> PublishedName | None:
        """Return the term that all have in common, or their lowest common ancestor."""
        if (bag == bag[0]).all():
            return (self.vocabulary[bag[0]], 0) if self.is_common[bag[0]] else None
        found = lowest_common_ancestor(self.cache.ancestry, self.bags.word[bag])
        if found is None or self.people_below(found[0]) < self.floor:
            return None
        return self.network.words_of(found[0])[0], max(1, found[1])  # for synonyms it is a name that they share


class PeopleBelow:
    """How many people of a log hold a term below a node, no farther below than terms are matched."""

    def __init__(self, profiles: Profiles, bags: Bags, cache: DistanceCache) -> None:
        self._profiles, self._bags, self._cache = profiles, bags, cache
        self._counts: dict[int, int] = {}

    def __call__(self, node: int) -> int:
        """Count the people who hold a term below a node."""
        if node not in self._counts:
            profiles, cache = self._profiles, self._cache
            words = cache.below[cache.below_indptr[node] : cache.below_indptr[node + 1]] >> HEIGHT_BITS
            is_below = np.zeros(len(cache.slot) + 1, np.bool_)  # the last one is for terms the network lacks
            is_below[words] = True
            history = row_numbers(profiles.indptr)[is_below[self._bags.word[profiles.ids]]]
            self._counts[node] = len(np.unique(profiles.owner[history]))
        return self._counts[node]
