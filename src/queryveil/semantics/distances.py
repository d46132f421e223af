"""How far apart terms are in a hierarchy: edges through their lowest common ancestor.

The fewest over all senses and paths; terms that both can be nouns are compared as nouns, others by what else they can
be (Liu and Wang 2010 take WordNet this way). Terms that nothing connects are infinitely far apart.
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
    """The ancestors of terms, itself included, in compressed sparse rows: all that distances need.

    Made once for many terms; a distance is then one merge of two short sorted rows, in a kernel of one's own too.
    """

    indptr: NDArray[np.int64]  # (terms + 1,): a row is empty where the network does not know the term
    middle: NDArray[np.int64]  # (terms,): where, in its row, the ancestors begin that are not nouns
    nodes: NDArray[np.int32]  # ascending within a row, nouns first
    heights: NDArray[np.int32]  # the fewest edges up to the node
    limit: int  # terms farther apart than this count as unconnected

    def distances(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the distance between the terms of each pair, infinity where they are unconnected or too far."""
        fewest, _ = self._meetings(ones, others)
        return np.where(fewest < 0, np.inf, fewest)

    def lowest_common(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the node through which the shortest way between the terms of each pair goes, −1 where there is none.

        Of several the one that is lowest, seen from the farther term; then the smaller node.
        """
        _, node = self._meetings(ones, others)
        return node

    def _meetings(
        self, ones: NDArray[np.int32], others: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        found: tuple[NDArray[np.int64], NDArray[np.int32]] = meetings(
            self.indptr, self.middle, self.nodes, self.heights, ones, others, self.limit
        )
        return found


def ancestry(network: Network, terms: Sequence[str], *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of terms; with a limit only those that distances up to it need."""
    return ancestry_of(network, network.find_all(terms), limit=limit)


def ancestry_of(network: Network, words: NDArray[np.int32], *, limit: int | None = None) -> Ancestry:
    """Return the ancestors of words given by their numbers, −1 where the network does not know one."""
    network.require_hierarchy()
    most = _NO_LIMIT if limit is None else limit
    is_known = words >= 0
    known_indptr, positions = gather_rows(network.sense_indptr, words[is_known])
    indptr = indptr_of(_spread(np.diff(known_indptr), is_known))
    indptr, nodes, heights = ancestors(indptr, network.senses[positions], network.edge_indptr, network.edges, most)
    nouns = indptr_of(network.parts[nodes] == NOUN)
    middle = indptr[:-1] + nouns[indptr[1:]] - nouns[indptr[:-1]]
    return Ancestry(indptr, middle, nodes.astype(np.int32), heights.astype(np.int32), most)


def _spread(values: NDArray[np.int64], places: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the values at the places that are set, 0 elsewhere."""
    spread = np.zeros(len(places), np.int64)
    spread[places] = values
    return spread


def distance(network: Network, one: str, other: str) -> float:
    """Return the distance between two terms, infinity where nothing connects them."""
    first, second = np.zeros(1, np.int32), np.ones(1, np.int32)
    return float(ancestry(network, (one, other)).distances(first, second)[0])
