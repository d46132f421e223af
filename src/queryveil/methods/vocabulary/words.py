"""The vocabularies over the words of a network, and how far these words are from each other."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.clusters import Bags
from queryveil.kernels.matching_distances import Ancestors, Descendants, descendants, fill_rows
from queryveil.semantics.distances import Ancestry, ancestry_of
from queryveil.semantics.network import Network
from queryveil.types import Profiles

_TABLE_BYTES = 600_000_000  # of distances that are kept; fewer words than this allows are all kept
_FEWEST_ROWS = 8_192  # more different terms than any vocabulary has


@dataclass(frozen=True, eq=False)
class Words:
    """How far words are from each other, within a limit: rows of a table that are filled when they are needed."""

    limit: int
    ancestry: Ancestry  # of the words; a word's number is its place there
    _below: Descendants
    table: NDArray[np.uint8]  # (slots, words)
    _slot: NDArray[np.int64] = field(repr=False)  # (words,): −1 where the row is not there
    _state: dict[str, int] = field(default_factory=lambda: {"filled": 0}, repr=False)

    def slots(self, words: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return where the rows of words stand in the table, until it is asked for others."""
        missing = np.unique(words[self._slot[words] < 0])
        if self._state["filled"] + len(missing) > len(self.table):
            self._slot[:] = -1
            self._state["filled"] = 0
            missing = np.unique(words)
        if len(missing):
            first, end = self._state["filled"], self._state["filled"] + len(missing)
            fill_rows(_ancestors(self.ancestry), self._below, missing, self.limit, self.table[first:end])
            self._slot[missing] = np.arange(first, end)
            self._state["filled"] = end
        return self._slot[words]

    def are_below(self, node: int) -> NDArray[np.bool_]:
        """Say of every word whether it is below a node, or is it."""
        is_below = np.zeros(len(self._slot), np.bool_)
        is_below[self._below.words[self._below.indptr[node] : self._below.indptr[node + 1]]] = True
        return is_below


def _ancestors(found: Ancestry) -> Ancestors:
    return Ancestors(found.indptr, found.middle, found.nodes, found.heights)


def words_of(network: Network, limit: int, numbers: NDArray[np.int32]) -> Words:
    """Return the words of a network with these numbers; nothing is computed yet."""
    found = ancestry_of(network, numbers, limit=limit)
    n_words = len(numbers)
    n_rows = min(n_words, max(_FEWEST_ROWS, _TABLE_BYTES // max(1, n_words)))
    below = descendants(_ancestors(found), network.n_nodes)
    return Words(limit, found, below, np.empty((n_rows, n_words), np.uint8), np.full(n_words, -1, np.int64))


def bags_of(profiles: Profiles, network: Network) -> tuple[Bags, NDArray[np.int32]]:
    """Return the vocabularies of all histories, and the numbers in the network of the words they use."""
    found = network.find_all(profiles.vocabulary.entries)
    numbers = np.unique(found[found >= 0])
    word = np.where(found < 0, -1, np.searchsorted(numbers, found)).astype(np.int32)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(profiles.counts, dtype=np.int64)))
    sizes = np.diff(ends[profiles.indptr])
    return Bags(profiles.indptr, profiles.ids, profiles.counts, sizes, profiles.owner, word), numbers
