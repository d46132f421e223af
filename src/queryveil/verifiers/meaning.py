"""Check that published vocabularies stand for what the people behind them searched for.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010. A term as typed stands for
terms at most `eps` edges away, a list of terms (`typical=bags`) for terms that near to each of them, and a generalised
term for those below it. Without `eps` terms are not exchanged but generalised, by the first sense of a term and the
first hypernym of each node. Each row is checked by itself: the history behind it must hold at least as many occurrences
that the row may stand for as the row publishes, where one occurrence may support several rows. Enough people of the log
must hold what a published term stands for.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from queryveil.core.evidence import ReleasedVocabularies
from queryveil.core.rows import BoolArray, Int32Array, IntArray
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import Network, ancestry_of
from queryveil.semantics.tree import ANY, PARTS, UNKNOWN


def count_unsupported_terms(
    released: ReleasedVocabularies,
    history_of: IntArray,
    profiles: Profiles,
    network: Network,
    parameters: Mapping[str, object],
    floor: int,
) -> tuple[int, int]:
    """Return how many rows their history does not support, and how many published terms too few people hold.

    `history_of` gives the history of the profiles behind every released one; `parameters` are those of the run.
    """
    meanings = TermMeanings(profiles, network, parameters)
    behind = history_of[np.repeat(np.arange(len(released.users)), np.diff(released.indptr))]
    names, name = np.unique(np.stack((released.ids, released.levels)), axis=1, return_inverse=True)
    by_name = np.argsort(name.ravel(), kind="stable")
    bounds = np.searchsorted(name.ravel()[by_name], np.arange(names.shape[1] + 1))
    lengths = np.diff(profiles.indptr)
    n_unsupported = n_rare = 0
    for number, (term, level) in enumerate(names.T.tolist()):
        rows = by_name[bounds[number] : bounds[number + 1]]
        may_stand_for, n_people = meanings.find(released.terms[term], level)
        starts, sizes = profiles.indptr[behind[rows]], lengths[behind[rows]]
        before = np.cumsum(sizes) - sizes
        pairs = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
        meant = np.where(may_stand_for[profiles.ids[pairs]], profiles.counts[pairs], 0)
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(meant)))
        n_unsupported += int(np.count_nonzero(total[before + sizes] - total[before] < released.counts[rows]))
        n_rare += n_people < floor
    return n_unsupported, n_rare


class TermMeanings:
    """The terms of a log, and which of them a published name may stand for."""

    def __init__(self, profiles: Profiles, network: Network, parameters: Mapping[str, object]) -> None:
        """Find the terms of the log in the network."""
        eps = parameters.get("eps")
        self._profiles, self._network = profiles, network
        self._eps = eps if isinstance(eps, int) else None
        self._has_lists = parameters.get("typical") == "bags"
        self._number = {term: number for number, term in enumerate(profiles.vocabulary)}
        self._words = network.find_all(profiles.vocabulary)

    def find(self, name: str, level: int) -> tuple[BoolArray, int]:
        """Return which terms a name published at a level may stand for, and how many people it may be of."""
        if level == 0 or self._has_lists:
            parts = [self._number.get(part, -1) for part in (name.split("|") if level else [name])]
            people = min(self._holder_counts[part] if part >= 0 else 0 for part in parts)
            return np.logical_and.reduce([self._near(part) for part in parts]), int(people)
        below, heights = self._below(name)
        may_stand_for = np.zeros(len(self._words), np.bool_)
        may_stand_for[below[heights <= level]] = True
        return may_stand_for, len(self.owners_below(name))

    def owners_below(self, name: str) -> Int32Array:
        """Return the people who hold a term that a generalised name may be of."""
        indptr, owners = self._owners_by_term
        held = [owners[indptr[term] : indptr[term + 1]] for term in np.unique(self._below(name)[0]).tolist()]
        return np.unique(np.concatenate(held)) if held else owners[:0]

    def _near(self, term: int) -> BoolArray:
        """Return which terms are the given one (−1: none is), or at most `eps` edges from it."""
        is_near = np.zeros(len(self._words), np.bool_)
        if term < 0:
            return is_near
        if self._eps is not None and self._words[term] >= 0:
            indptr, middle, nodes, heights = self._ancestors_by_term
            is_noun = middle > indptr[:-1]
            for position in range(indptr[term], indptr[term + 1]):
                terms, edges_up = self._terms_below(nodes[position])
                # two terms that can both be nouns are compared as nouns only
                is_compared = (position < middle[term]) | ~(is_noun[term] & is_noun[terms])
                is_near[terms[is_compared & (edges_up + heights[position] <= self._eps)]] = True
        is_near[term] = True
        return is_near

    def _below(self, name: str) -> tuple[IntArray, IntArray]:
        """Return the terms below the nodes of a name, and how many edges they are below."""
        found = [self._terms_below(node) for node in self._nodes_named.get(name, ())]
        if self._eps is None and name in (ANY, UNKNOWN, *PARTS):
            is_known = self._words >= 0
            part = self._network.parts[self._network.senses[self._network.sense_indptr[self._words * is_known]]]
            is_below = np.ones(len(part), np.bool_) if name == ANY else ~is_known
            if name in PARTS:
                is_below = is_known & (part == PARTS.index(name))
            below = np.flatnonzero(is_below)
            found.append((below, np.zeros(len(below), np.int64)))
        terms, heights = zip(*found, strict=True) if found else ((np.empty(0, np.int64),), (np.empty(0, np.int64),))
        return np.concatenate(terms), np.concatenate(heights)

    @cached_property
    def _holder_counts(self) -> IntArray:
        """Return how many people hold each term."""
        return self._profiles.holder_counts()

    @cached_property
    def _owners_by_term(self) -> tuple[IntArray, Int32Array]:
        """Return the owners of the histories that hold each term, as rows."""
        ids = self._profiles.ids
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(ids[order], np.arange(len(self._words) + 1))
        return bounds, self._profiles.owner_per_pair()[order]

    def _terms_below(self, node: int) -> tuple[IntArray, IntArray]:
        """Return the terms that have a node above them, and by how many edges."""
        indptr, terms, heights = self._terms_by_ancestor
        return terms[indptr[node] : indptr[node + 1]], heights[indptr[node] : indptr[node + 1]]

    @cached_property
    def _ancestors_by_term(self) -> tuple[IntArray, IntArray, Int32Array, IntArray]:
        """Return the nodes above every term as rows, with the end of the nouns in each row and the edges up to each."""
        if self._eps is not None:
            above = ancestry_of(self._network, self._words, limit=self._eps)
            return above.indptr, above.middle, above.nodes, above.heights.astype(np.int64)
        paths: list[list[int]] = []
        for word in self._words.tolist():
            path: list[int] = []
            node = -1 if word < 0 else int(self._network.senses[self._network.sense_indptr[word]])
            while node >= 0 and node not in path:
                path.append(node)
                first, end = self._network.edge_indptr[node : node + 2].tolist()
                node = int(self._network.edges[first]) if first < end else -1
            paths.append(path)
        indptr = np.cumsum([0, *map(len, paths)])
        nodes = np.array([node for path in paths for node in path], np.int32)
        return indptr, indptr[1:], nodes, np.zeros(len(nodes), np.int64)

    @cached_property
    def _terms_by_ancestor(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the terms below every node as rows, with the edges to each."""
        indptr, _, nodes, heights = self._ancestors_by_term
        order = np.argsort(nodes, kind="stable")
        terms = np.repeat(np.arange(len(self._words)), np.diff(indptr))
        bounds = np.searchsorted(nodes[order], np.arange(self._network.n_nodes + 1))
        return bounds, terms[order], heights[order]

    @cached_property
    def _nodes_named(self) -> dict[str, list[int]]:
        """Return the nodes by their usual word, under which they are published."""
        network, named = self._network, dict[str, list[int]]()
        for node, word in enumerate(network.node_words[network.word_indptr[:-1]].tolist()):
            named.setdefault(network.words[word], []).append(node)
        return named
