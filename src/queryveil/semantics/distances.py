"""Distances between terms in a hierarchy: the number of edges through their lowest common ancestor.

The distance is the minimum over all senses and paths; two terms that can both be nouns are compared as nouns, others by
their other senses (Liu and Wang 2010 use WordNet this way). Unconnected terms have an infinite distance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import gather_rows, indptr_of
from queryveil.kernels.semantics.distances import ancestors, meetings
from queryveil.lexicons.wordnet import NOUN
from queryveil.semantics.network import Network

_NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Ancestry:
    """The ancestors of terms, themselves included, in compressed sparse rows: all that distances need.

    Computed once for many terms; a distance is then one merge of two short sorted rows.
    """

    indptr: NDArray[np.int64]  # (terms + 1,): the row of an unknown term is empty
    middle: NDArray[np.int64]  # (terms,): the end of the nouns in each row
    nodes: NDArray[np.int32]  # ascending within a row, nouns first
    heights: NDArray[np.int32]  # the smallest number of edges up to the node
    limit: int  # terms with a larger distance count as unconnected

    def distances(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the distance between the terms of each pair, infinity beyond the limit."""
        fewest, _ = meetings(self.indptr, self.middle, self.nodes, self.heights, ones, others, self.limit)
        return np.where(fewest < 0, np.inf, fewest)


def ancestry(network: Network, terms: Sequence[str], *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of terms; with a limit, only those needed for distances up to it."""
    return ancestry_of(network, network.find_all(terms), limit=limit)


def ancestry_of(network: Network, words: NDArray[np.int32], *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of words given by number, −1 for unknown ones."""
    network.require_hierarchy()
    most = _NO_LIMIT if limit is None else limit
    is_known = words >= 0
    known_indptr, positions = gather_rows(network.sense_indptr, words[is_known])
    lengths = np.zeros(len(words), np.int64)
    lengths[is_known] = np.diff(known_indptr)
    indptr = indptr_of(lengths)
    indptr, nodes, heights = ancestors(indptr, network.senses[positions], network.edge_indptr, network.edges, most)
    nouns = indptr_of(network.parts[nodes] == NOUN)
    middle = indptr[:-1] + nouns[indptr[1:]] - nouns[indptr[:-1]]
    return Ancestry(indptr, middle, nodes.astype(np.int32), heights.astype(np.int32), most)


def distance(network: Network, one: str, other: str) -> float:
    """Return the distance between two terms, infinity if they are unconnected."""
    first, second = np.zeros(1, np.int32), np.ones(1, np.int32)
    return float(ancestry(network, (one, other)).distances(first, second)[0])
