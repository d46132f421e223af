"""What measures of vocabularies look at: an original log, the vocabularies released of it, and what terms mean."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import ReleasedVocabularies
from queryveil.core.rows import indptr_of, row_numbers
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.loss import Clusters
from queryveil.semantics.network import Network


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """An original log beside the vocabularies that were released of it."""

    original: Profiles
    released: ReleasedVocabularies
    history_of: NDArray[np.int64] | None  # released history → original history; None without the private folder
    network: Network
    eps: int  # how far apart a term and the one published for it may be

    @cached_property
    def entries(self) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int32]]:
        """Return what is published, one entry for a term as typed, one for the same word as a generalised one.

        That is: the term of each entry, whether it is generalised, and the entry of every released row.
        """
        keys = 2 * self.released.ids.astype(np.int64) + (self.released.levels > 0)
        found, place = np.unique(keys, return_inverse=True)
        return (found // 2).astype(np.int32), found % 2 == 1, place.astype(np.int32)

    def clusters(self, history_of: NDArray[np.int64]) -> Clusters:
        """Put released histories together that cannot be told apart; return the original ones behind them."""
        released, (_, _, entry) = self.released, self.entries
        cells = np.stack((entry, released.counts, released.levels), axis=1).astype(np.int64)
        numbers: dict[bytes, int] = {}
        cluster = np.array(
            [numbers.setdefault(cells[a:b].tobytes(), len(numbers)) for a, b in _bounds(released.indptr)], np.int64
        )
        order = np.argsort(cluster, kind="stable")
        member_indptr = np.searchsorted(cluster[order], np.arange(len(numbers) + 1))
        rows = [slice(*_bounds(released.indptr)[first]) for first in order[member_indptr[:-1]]]
        lengths = np.array([row.stop - row.start for row in rows], np.int64)
        taken = np.concatenate([np.arange(row.start, row.stop) for row in rows] or [np.empty(0, np.int64)])
        return Clusters(
            member_indptr.astype(np.int64),
            history_of[order],
            indptr_of(lengths),
            entry[taken],
            released.counts[taken].astype(np.int64),
        )


def released_from(published: PublishedVocabularies) -> tuple[ReleasedVocabularies, NDArray[np.int64]]:
    """Return what a method publishes as it would be read back, and the original history behind each released one."""
    by_text = np.array(sorted(range(len(published.terms)), key=published.terms.__getitem__), np.int64)
    rank = np.empty(len(by_text), np.int32)
    rank[by_text] = np.arange(len(by_text), dtype=np.int32)
    history = row_numbers(published.indptr)
    order = np.lexsort((published.levels, rank[published.ids], history))
    behind = np.flatnonzero(np.diff(published.indptr))
    return ReleasedVocabularies(
        np.arange(len(behind)),
        np.append(published.indptr[behind], published.indptr[-1]),
        rank[published.ids][order],
        published.counts[order],
        published.levels[order],
        tuple(published.terms[i] for i in by_text),
    ), behind


def _bounds(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return where each row begins and ends."""
    return list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))
