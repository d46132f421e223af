"""A network of meaning in arrays: what WordNet, a user's taxonomy and a log's own co-occurrences all are.

Nodes are meanings (WordNet's synsets), words are what people write. What is one-to-many is held in compressed sparse
rows: the entries of row r are `values[indptr[r]:indptr[r + 1]]`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.kernels.semantics.senses import paths_up
from queryveil.semantics.lemmas import Lexicon, lemmatize

MOST_PATHS = 256  # of one node to the root; WordNet has at most 12, a user's taxonomy may have any number


@dataclass(frozen=True, eq=False)
class Network:
    """Words, the nodes that each may mean, and the edges between nodes.

    An edge leads from a node to what it is a kind of; where there are strengths, it leads to a related node instead.
    """

    name: str
    words: tuple[str, ...] = field(repr=False)  # in the spelling of lemmas; a word's number is its position
    lexicon: Lexicon = field(repr=False)
    sense_indptr: NDArray[np.int64]  # (words + 1,)
    senses: NDArray[np.int32]  # word → nodes: nouns first, then by sense number
    word_indptr: NDArray[np.int64]  # (nodes + 1,)
    node_words: NDArray[np.int32]  # node → words, the usual one first
    edge_indptr: NDArray[np.int64]  # (nodes + 1,)
    edges: NDArray[np.int32]  # node → its hypernyms, or its neighbours, the nearest first
    parts: NDArray[np.int32]  # (nodes,): part of speech, 0 for nouns; edges stay within one
    strengths: NDArray[np.float64] | None = None  # (edges,): how near neighbours are, above 0 and at most 1

    @property
    def n_nodes(self) -> int:
        """Count the nodes."""
        return len(self.parts)

    def find(self, term: str) -> int | None:
        """Return the number of the word that a term is a form of, None if the network does not know it."""
        lemma = lemmatize(term, self.lexicon)
        return None if lemma is None else self.lexicon.numbers[lemma]

    def find_all(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Return the number of the word of each term, −1 where the network does not know it."""
        numbers = self.lexicon.numbers
        found = (numbers[term] if term in numbers else self.find(term) for term in terms)
        return np.array([-1 if number is None else number for number in found], np.int32)

    def synonym_sets(self, term: str) -> list[tuple[str, ...]]:
        """Return, sense by sense, all words that mean the same as a term; none if the network does not know it."""
        word = self.find(term)
        if word is None:
            return []
        return [self.words_of(int(node)) for node in self.senses[self.sense_indptr[word] : self.sense_indptr[word + 1]]]

    def words_of(self, node: int) -> tuple[str, ...]:
        """Return the words of a node, the usual one first."""
        return tuple(self.words[word] for word in self.node_words[self.word_indptr[node] : self.word_indptr[node + 1]])

    def require_hierarchy(self) -> None:
        """Refuse a network whose edges lead to related nodes rather than to more general ones."""
        if self.strengths is not None:
            raise InputError(f"the network {self.name} has no hypernyms; use wordnet, or a taxonomy by --taxonomy.")

    def paths(self, node: int) -> list[tuple[int, ...]]:
        """Return every way from a node to a root, both included; each hypernym of a node opens its own."""
        self.require_hierarchy()
        _, indptr, hops = paths_up(np.array([node], np.int32), self.edge_indptr, self.edges, MOST_PATHS)
        return [tuple(hops[a:b].tolist()) for a, b in pairwise(indptr)]
