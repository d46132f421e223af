"""Semantic networks as CSR arrays: the common form of WordNet, a user's taxonomy and the co-occurrences in a log.

Nodes are meanings (WordNet's synsets), words are what people write. The distance between two terms is the number of
edges through their lowest common ancestor, minimal over all senses and paths; two terms that can both be nouns are
compared as nouns, others by their other senses. In a network with relations, which is how Liu and Wang 2010 describe
WordNet, the distance is the length of the shortest path over any of them between any two senses. Unconnected terms have
an infinite distance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray, Int32Array, IntArray, gather_rows, indptr_of, ranges
from queryveil.histories.profiles import Profiles
from queryveil.kernels.semantics import Ancestry, ancestors, paths_up
from queryveil.lexicons.wordnet import NOUN, load_relations, load_wordnet
from queryveil.logs.terms import hold_excluded
from queryveil.semantics.lemmas import LemmaIndex, lemmatize, wordnet_lemmas
from queryveil.semantics.word_vectors import WordVectors

HIDDEN = "(hidden)"  # the published name of a node all of whose words are excluded
MAX_PATHS = 256  # from one node to the root; WordNet has at most 12, a user's taxonomy may have any number
_NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Network:
    """Words, the nodes that each may mean, and the edges between nodes.

    An edge leads from a node to a hypernym; in a network with strengths, it leads to a related node instead.
    """

    name: str
    words: tuple[str, ...] = field(repr=False)  # in the spelling of lemmas; a word's number is its position
    lemmas: LemmaIndex = field(repr=False)
    sense_indptr: IntArray  # (words + 1,)
    senses: Int32Array  # word → nodes: nouns first, then by sense number
    word_indptr: IntArray  # (nodes + 1,)
    node_words: Int32Array  # node → words, the usual one first
    edge_indptr: IntArray  # (nodes + 1,)
    edges: Int32Array  # node → its hypernyms, or its neighbours by falling strength
    parts: Int32Array  # (nodes,): part of speech, 0 for nouns; edges never connect two of them
    strengths: FloatArray | None = None  # (edges,): of neighbours, above 0 and at most 1
    relations: tuple[IntArray, Int32Array] | None = None  # node → related nodes, by which distances are measured
    without_placed: "Network | None" = field(default=None, repr=False)  # if words were placed by vectors: the others
    vectors: WordVectors | None = field(default=None, repr=False)  # if they were a user's: those that placed words

    @property
    def n_nodes(self) -> int:
        """Count the nodes."""
        return len(self.parts)

    def find(self, term: str) -> int | None:
        """Return the number of the word that a term is a form of; None for an unknown term."""
        lemma = lemmatize(term, self.lemmas)
        return None if lemma is None else self.lemmas.numbers[lemma]

    def find_all(self, terms: Iterable[str]) -> Int32Array:
        """Return the number of the word of each term, −1 for unknown terms."""
        number_of = self.lemmas.numbers.get
        found = [self.find(term) if (number := number_of(term)) is None else number for term in terms]
        return np.array([-1 if number is None else number for number in found], np.int32)

    def words_of(self, node: int) -> tuple[str, ...]:
        """Return the words of a node, the usual one first."""
        return tuple(self.words[word] for word in self.node_words[self.word_indptr[node] : self.word_indptr[node + 1]])

    def hide_names(self, excluded: frozenset[str]) -> "Network":
        """Return the network with other usual words where these hold an excluded term; `HIDDEN` if a node has none."""
        is_hidden = np.array([*hold_excluded(self.words, excluded), False])
        node_words, usual = self.node_words.copy(), self.word_indptr[:-1]
        for place in usual[is_hidden[node_words[usual]]].tolist():
            end = int(self.word_indptr[np.searchsorted(self.word_indptr, place, side="right")])
            shown = node_words[place:end][~is_hidden[node_words[place:end]]]
            node_words[place] = shown[0] if len(shown) else len(self.words)
        sense_indptr = np.append(self.sense_indptr, self.sense_indptr[-1])
        others = None if self.without_placed is None else self.without_placed.hide_names(excluded)
        words = (*self.words, HIDDEN)
        return replace(self, words=words, sense_indptr=sense_indptr, node_words=node_words, without_placed=others)

    def require_hierarchy(self) -> None:
        """Raise an error if the network has no hypernyms."""
        if self.strengths is not None:
            raise InputError(f"the network {self.name} has no hypernyms; use wordnet, or a taxonomy by --taxonomy.")

    @property
    def is_hierarchy(self) -> bool:
        """Return whether terms that are near have a more general term in common, by which both may be replaced."""
        return self.strengths is None and self.relations is None and self.without_placed is None

    @cached_property
    def hierarchy(self) -> "Network":
        """Return the network with hypernyms as its only relation, without words that were placed by their vectors."""
        return replace(self.without_placed or self, relations=None)

    def paths(self, node: int) -> list[tuple[int, ...]]:
        """Return every path from a node to a root, both included."""
        self.require_hierarchy()
        _, indptr, hops = paths_up(np.array([node], np.int32), self.edge_indptr, self.edges, MAX_PATHS)
        return [tuple(hops[a:b].tolist()) for a, b in pairwise(indptr)]


@cache
def wordnet() -> Network:
    """Return WordNet 3.0: synsets are the nodes, hypernyms and classes of instances the edges."""
    tables = load_wordnet()
    return Network(
        name="wordnet",
        words=tables.lemmas,
        lemmas=wordnet_lemmas(),
        sense_indptr=tables.sense_indptr,
        senses=tables.sense_synsets,
        word_indptr=tables.word_indptr,
        node_words=tables.word_lemmas,
        edge_indptr=tables.hypernym_indptr,
        edges=tables.hypernym_synsets,
        parts=tables.parts,
    )


@cache
def wordnet_with_relations() -> Network:
    """Return WordNet 3.0 with all of its relations, hypernyms among them."""
    return replace(wordnet(), name="wordnet_all", relations=load_relations())


def open_wordnet_with_relations(
    profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent
) -> Network:
    """Return WordNet with all of its relations; the arguments are those of every network and are not needed."""
    return wordnet_with_relations()


def open_wordnet(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Return WordNet; the arguments are those of every network and are not needed."""
    return wordnet()


def ancestry(network: Network, terms: Sequence[str], *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of terms; with a limit, only those needed for distances up to it.

    In a network with relations these are all nodes that some path of relations leads to. One path of two that meet half
    way is enough, so with a limit the nodes within half of it are returned.
    """
    return ancestry_of(network, network.find_all(terms), limit=limit)


def ancestry_of(network: Network, words: Int32Array, *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of words given by number, −1 for unknown ones."""
    network.require_hierarchy()
    most = _NO_LIMIT if limit is None else limit
    edge_indptr, edges = network.relations or (network.edge_indptr, network.edges)
    reach = most if network.relations is None else -(-most // 2)
    known_indptr, positions = gather_rows(network.sense_indptr, words[words >= 0])
    lengths = np.zeros(len(words), np.int64)
    lengths[words >= 0] = np.diff(known_indptr)
    senses = network.senses[positions]
    indptr, nodes, heights = ancestors(indptr_of(lengths), senses, edge_indptr, edges, reach)
    nouns = indptr_of((network.parts[nodes] == NOUN) | (network.relations is not None))  # relations connect all parts
    middle = indptr[:-1] + nouns[indptr[1:]] - nouns[indptr[:-1]]
    return Ancestry(indptr, middle, nodes.astype(np.int32), heights.astype(np.int32), most)


def distance(network: Network, one: str, other: str) -> float:
    """Return the distance between two terms, infinity if they are unconnected."""
    first, second = np.zeros(1, np.int32), np.ones(1, np.int32)
    return float(ancestry(network, (one, other)).distances(first, second)[0])


def lowest_common_ancestor(terms: Ancestry, chosen: Int32Array) -> tuple[int, int] | None:
    """Return the node above all chosen terms with the fewest edges to them in total, and the most edges to one.

    As nouns if all can be nouns. Ties: the fewest edges to the farthest term, then the smaller node. None if the terms
    have no meaning in common, being near in different senses.
    """
    are_nouns = bool((terms.middle[chosen] > terms.indptr[chosen]).all())
    starts = terms.indptr[chosen] if are_nouns else terms.middle[chosen]
    ends = terms.middle[chosen] if are_nouns else terms.indptr[chosen + 1]
    entries = ranges(starts, ends - starts)
    nodes, position = np.unique(terms.nodes[entries], return_inverse=True)
    highest = np.zeros(len(nodes), np.int64)
    np.maximum.at(highest, position, terms.heights[entries])
    is_common = np.bincount(position, minlength=len(nodes)) == len(chosen)
    if not is_common.any():
        return None
    total = np.bincount(position, terms.heights[entries], minlength=len(nodes))
    best = np.lexsort((nodes, highest, total, ~is_common))[0]
    return int(nodes[best]), int(highest[best])
