"""What measures look at: an original log, what was released of it, and what its terms mean and are worth."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import ReleasedVocabularies
from queryveil.core.rows import BoolArray, Int32Array, IntArray, gather_rows, indptr_of_sorted, per_entry, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.histories.vocabularies import PublishedVocabularies
from queryveil.kernels.clustering.loss import PublishedClusters
from queryveil.kinds.base import Kind
from queryveil.market.table import Market
from queryveil.measures import NEEDS_MARKET
from queryveil.semantics.network import Network, wordnet

UNKNOWN_OCCURRENCES = "needs --private, or a release of kind log"


@dataclass(frozen=True, eq=False)
class Comparison:
    """An original log and the histories released of it."""

    kind: Kind  # says what an item is: a term or a whole query
    original: Profiles
    released: Profiles  # its own vocabulary; counts are occurrences, except for "histories": all 1
    history_of: IntArray | None  # released history → original history; None without the private folder
    market: Market | None = None  # what terms are worth, if given

    @property
    def network(self) -> Network:
        """Return the network that defines how far apart terms are."""
        return wordnet()

    @property
    def one_history_each(self) -> bool:
        """Return whether every person of the original has one history, so that a released history is a person."""
        return self.original.n_histories == self.original.n_people

    @property
    def counts_people(self) -> bool:
        """Return whether it is known which released histories belong to the same person."""
        return self.history_of is not None or self.one_history_each

    def released_owner(self) -> Int32Array:
        """Return the person of each released history; if unknown, each history counts as a person."""
        return self.released.owner if self.history_of is None else self.original.owner[self.history_of]

    def released_occurrences(self) -> Int32Array | None:
        """Return how often every released pair is in the log; None if that is unknown."""
        if self.kind.has_occurrences:
            return self.released.counts
        if self.history_of is None:
            return None
        original, released = self.original, self.released
        number = {entry: i for i, entry in enumerate(original.vocabulary)}
        original_id = np.array([number.get(entry, -1) for entry in released.vocabulary], np.int64)
        width = len(original.vocabulary) + 1  # one more id, for terms that the original does not have
        keys = original.row_numbers() * width + original.ids  # (history, id) as one number, ascending
        wanted = per_entry(self.history_of, released.indptr) * width + original_id[released.ids] % width
        position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[position] == wanted, original.counts[position], 0)

    def required_market(self, measure: str) -> Market:
        """Return the market table; raise an error if it was not given."""
        if self.market is None:
            raise InputError(NEEDS_MARKET.format(measure))
        return self.market


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """An original log and the vocabularies released of it."""

    original: Profiles
    released: ReleasedVocabularies
    history_of: IntArray | None  # released history → original history; None without the private folder
    network: Network
    eps: int  # how far apart a term and the one published for it may be

    @cached_property
    def entries(self) -> tuple[Int32Array, BoolArray, Int32Array]:
        """Return the term of each published entry, whether it is generalised, and the entry of every released row.

        A term as typed and the same word as a generalised term are two entries.
        """
        keys = 2 * self.released.ids.astype(np.int64) + (self.released.levels > 0)
        found, entry = np.unique(keys, return_inverse=True)
        return (found // 2).astype(np.int32), found % 2 == 1, entry.astype(np.int32)

    def clusters(self, history_of: IntArray) -> PublishedClusters:
        """Return groups of released histories with equal vocabularies, as the original histories of their members."""
        cluster = self.released.number_equal()
        order = np.argsort(cluster, kind="stable")
        member_indptr = indptr_of_sorted(cluster[order], int(cluster.max(initial=-1)) + 1)
        indptr, taken = gather_rows(self.released.indptr, order[member_indptr[:-1]])
        counts = self.released.counts[taken].astype(np.int64)
        return PublishedClusters(member_indptr, history_of[order], indptr, self.entries[2][taken], counts)


def released_from(published: PublishedVocabularies) -> tuple[ReleasedVocabularies, IntArray]:
    """Return a method's vocabularies as they would be read back, and the original history of each released one."""
    by_text = np.array(sorted(range(len(published.terms)), key=published.terms.__getitem__), np.int64)
    rank = np.empty(len(by_text), np.int32)
    rank[by_text] = np.arange(len(by_text), dtype=np.int32)
    order = np.lexsort((published.levels, rank[published.ids], row_numbers(published.indptr)))
    history_of = np.flatnonzero(np.diff(published.indptr))
    return ReleasedVocabularies(
        np.arange(len(history_of)),
        np.append(published.indptr[history_of], published.indptr[-1]),
        rank[published.ids][order],
        published.counts[order],
        published.levels[order],
        tuple(published.terms[i] for i in by_text),
    ), history_of
