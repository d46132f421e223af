"""The vocabularies over the words of a network, and how far these words are from each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import row_sums
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import HEIGHT_BITS, Ancestors, Bags, Table, descendants, slots_of
from queryveil.kernels.semantics import Ancestry
from queryveil.semantics.network import Network, ancestry_of

_TABLE_BYTES = 600_000_000  # of distances that are kept; fewer words than this allows are all kept


@dataclass(frozen=True, eq=False)
class Words:
    """How far words are from each other, within a limit."""

    ancestry: Ancestry  # of the words; a word's number is its place there
    table: Table

    def rows(self, words: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return how far words are from all others; as many at a time as the table has room for."""
        n_parts = -(-len(words) // max(1, len(self.table.rows)))
        return np.concatenate([self.table.rows[self.slots(part)] for part in np.array_split(words, max(1, n_parts))])

    def slots(self, words: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return where the rows of words stand in the table, until it is asked for others."""
        found: NDArray[np.int64] = slots_of(self.table, words)
        return found

    def are_below(self, node: int) -> NDArray[np.bool_]:
        """Say of every word whether it is below a node, or is it."""
        below = self.table.below
        is_below = np.zeros(len(self.table.slot), np.bool_)
        is_below[below.words[below.indptr[node] : below.indptr[node + 1]] >> HEIGHT_BITS] = True
        return is_below


def words_of(network: Network, limit: int, bags: Bags, numbers: NDArray[np.int32]) -> Words:
    """Return the words of a network with these numbers; nothing is computed yet. There is room for every vocabulary."""
    found = ancestry_of(network, numbers, limit=limit)
    ancestors = Ancestors(found.indptr, found.middle, found.nodes, found.heights)
    n_words = len(numbers)
    longest = int(np.diff(bags.indptr).max(initial=0))
    n_rows = min(n_words, max(longest, _TABLE_BYTES // max(1, n_words)))
    rows, slot = np.empty((n_rows, n_words), np.uint8), np.full(n_words, -1, np.int64)
    table = Table(ancestors, descendants(ancestors, network.n_nodes), limit, rows, slot, np.zeros(1, np.int64))
    return Words(found, table)


def bags_of(profiles: Profiles, network: Network) -> tuple[Bags, NDArray[np.int32]]:
    """Return the vocabularies of all histories, and the numbers in the network of the words they use."""
    found = network.find_all(profiles.vocabulary.entries)
    numbers = np.unique(found[found >= 0])
    word = np.where(found < 0, -1, np.searchsorted(numbers, found)).astype(np.int32)
    sizes = row_sums(profiles.counts, profiles.indptr)
    return Bags(profiles.indptr, profiles.ids, profiles.counts, sizes, profiles.owner, word), numbers
