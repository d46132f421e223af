"""The typical vocabulary of a cluster: what is published of its bags of matched terms.

Liu and Wang 2010, section IV-B, give three ways: the vote, the bags themselves, and local generalisation.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import FAR, Bags
from queryveil.methods.vocabulary.clustering import Cluster
from queryveil.methods.vocabulary.words import Words
from queryveil.semantics.network import Network, lowest_common_ancestor

Name = tuple[str, int]  # a published name and its level
Choose = Callable[[NDArray[np.int32]], Name | None]  # what stands for a bag; None: nothing may be published of it


@dataclass(frozen=True, eq=False)
class Election:
    """What is needed to say what stands for a bag."""

    profiles: Profiles
    bags: Bags
    words: Words
    network: Network
    floor: int

    def chooser(self, typical: str) -> Choose:
        """Return how what stands for a bag is chosen."""
        people = self.profiles.holders()
        is_common = people >= self.floor
        return {"vote": self._vote, "bags": self._bag, "generalize": self._ancestor}[typical](is_common)

    def _vote(self, is_common: NDArray[np.bool_]) -> Choose:
        entries, word = self.profiles.vocabulary.entries, self.bags.word
        spoken = self._common_terms(is_common)
        nearby = cache(lambda words: self._nearby(np.frombuffer(words, np.int32), spoken))

        def choose(bag: NDArray[np.int32]) -> Name | None:
            """Take the term closest to the others, of equals that of the member who joined first."""
            candidates = bag[is_common[bag]]
            if not len(candidates):
                term = -1 if word[bag[0]] < 0 else nearby(np.sort(word[bag]).tobytes())
                return (entries[term], 0) if term >= 0 else None
            if word[bag[0]] < 0:
                return entries[candidates[0]], 0
            rows = self.words.rows(word[candidates])
            away = rows[:, word[bag]].sum(axis=1, dtype=np.int64)
            return entries[candidates[int(np.argmin(away))]], 0

        return choose

    def _common_terms(self, is_common: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for every word, the form of it that most people hold, if it may be published, else −1."""
        terms = np.flatnonzero(is_common & (self.bags.word >= 0))
        spoken = np.full(len(self.words.ancestry.middle), -1, np.int64)
        spoken[self.bags.word[terms[::-1]]] = terms[::-1]  # ids fall with the number of people: the first form stays
        return spoken

    def _nearby(self, words: NDArray[np.int32], spoken: NDArray[np.int64]) -> int:
        """Return the term of the log closest to a bag none of whose own may be published, −1 if none is near them all.

        Of equals that which most people hold.
        """
        rows = self.words.rows(words)
        near = np.flatnonzero((spoken >= 0) & (rows != FAR).all(axis=0))
        if not len(near):
            return -1
        return int(spoken[near[np.lexsort((spoken[near], rows[:, near].sum(axis=0, dtype=np.int64)))[0]]])

    def _bag(self, is_common: NDArray[np.bool_]) -> Choose:
        entries = self.profiles.vocabulary.entries

        def choose(bag: NDArray[np.int32]) -> Name | None:
            """Take all different terms of the bag that may be published, as one name."""
            names = sorted({entries[term] for term in bag[is_common[bag]]})
            return ("|".join(names), int(len(names) > 1)) if names else None

        return choose

    def _ancestor(self, is_common: NDArray[np.bool_]) -> Choose:
        entries, word = self.profiles.vocabulary.entries, self.bags.word
        people_below = cache(self._people_below)

        def choose(bag: NDArray[np.int32]) -> Name | None:
            """Take the term all have in common, or the node above all with the fewest edges to them together."""
            if (bag == bag[0]).all():
                return (entries[bag[0]], 0) if is_common[bag[0]] else None
            found = lowest_common_ancestor(self.words.ancestry, word[bag])
            if found is None or people_below(found[0]) < self.floor:
                return None
            return self.network.words_of(found[0])[0], found[1]

        return choose

    def _people_below(self, node: int) -> int:
        """Count the people who hold a term below a node."""
        is_below = np.append(self.words.are_below(node), False)  # the last one is for terms the network does not know
        history = self.profiles.row_numbers()
        return len(np.unique(self.profiles.owner[history[is_below[self.bags.word[self.profiles.ids]]]]))


def typical_of(cluster: Cluster, choose: Choose) -> Counter[Name]:
    """Return what is published of a cluster: names with their levels, and how often each."""
    published: Counter[Name] = Counter()
    for bag, units in zip(cluster.terms, cluster.units.tolist(), strict=True):
        name = choose(bag)
        if name is not None:
            published[name] += units
    return published
