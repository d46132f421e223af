"""Small networks for tests: built from lists, or drawn at random."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from queryveil.core.rows import indptr_of_sorted
from queryveil.semantics.lemmas import LemmaIndex
from queryveil.semantics.network import Network

WORDS = tuple("abcdefghij")  # no form of one is a form of another


def network_of(
    words_of_nodes: Sequence[Sequence[int]], parents: Sequence[Sequence[int]], n_nouns: int, n_words: int = len(WORDS)
) -> Network:
    """Return a network of the first words; a word's senses are in the order of the nodes, the first ones nouns."""
    n_nodes = len(words_of_nodes)
    pairs = sorted((word, node) for node, words in enumerate(words_of_nodes) for word in words)
    edges = [(node, parent) for node, above in enumerate(parents) for parent in above]
    flat = [(node, word) for node, words in enumerate(words_of_nodes) for word in words]
    sense_rows, senses = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    word_rows, node_words = (np.array([pair[i] for pair in flat], np.int32) for i in (0, 1))
    edge_rows, above = (np.array([edge[i] for edge in edges], np.int32) for i in (0, 1))
    known = {WORDS[word]: word for word in range(n_words) if word in sense_rows}
    return Network(
        name="test",
        words=WORDS[:n_words],
        lemmas=LemmaIndex(known, np.ones(n_words, np.int8)),
        sense_indptr=indptr_of_sorted(sense_rows, n_words),
        senses=senses,
        word_indptr=indptr_of_sorted(word_rows, n_nodes),
        node_words=node_words,
        edge_indptr=indptr_of_sorted(edge_rows, n_nodes),
        edges=above,
        parts=(np.arange(n_nodes) >= n_nouns).astype(np.int32),
    )


def synonym_sets(network: Network, term: str) -> list[tuple[str, ...]]:
    """Return the words of every sense of a term, in sense order; none for an unknown term."""
    word = network.find(term)
    if word is None:
        return []
    senses = network.senses[network.sense_indptr[word] : network.sense_indptr[word + 1]]
    return [network.words_of(int(node)) for node in senses]


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw a network of nouns and verbs; like WordNet's, verbs may have a cycle and several roots."""
    n_nouns, n_verbs = draw(st.integers(1, 8)), draw(st.integers(0, 4))
    words = st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=3, unique=True)
    nouns = [draw(_some(0, node)) for node in range(n_nouns)]
    verbs = [[p for p in draw(_some(n_nouns, n_nouns + n_verbs)) if p != n_nouns + v] for v in range(n_verbs)]
    return network_of([draw(words) for _ in range(n_nouns + n_verbs)], [*nouns, *verbs], n_nouns)


def _some(first: int, last: int) -> st.SearchStrategy[list[int]]:
    if first == last:
        return st.just([])
    return st.lists(st.integers(first, last - 1), max_size=3, unique=True)
