"""What measures of vocabularies look at: an original log, the vocabularies released of it, and a semantic network."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from queryveil.core.evidence import ReleasedVocabularies
from queryveil.core.rows import BoolArray, Int32Array, IntArray, gather_rows, indptr_of_sorted, row_numbers
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.loss import PublishedClusters
from queryveil.semantics.network import Network


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
