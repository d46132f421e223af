"""What methods return: kept pairs, groups with representatives, or vocabularies; each with a summary of the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KeptPairs:
    """What a deleting method returns: which pairs of its `Profiles` stay, and what it did."""

    mask: NDArray[np.bool_]  # (pairs,)
    summary: Mapping[str, Any] = field(default_factory=dict)
    settled: Mapping[str, int] = field(default_factory=dict)  # parameters of the claim that the run has found


@dataclass(frozen=True, eq=False)
class Grouping:
    """What a grouping method returns: the group of every history, what is published of each group, what it did."""

    group: NDArray[np.int32]  # (histories,): −1 where the history is suppressed
    indptr: NDArray[np.int64]  # (groups + 1,): row g is the representative of group g, over the entries of `Profiles`
    ids: NDArray[np.int32]  # (published pairs,): ascending and unique within a row
    weights: NDArray[np.float64]  # (published pairs,)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """Count the groups."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class PublishedVocabularies:
    """What a method of vocabularies returns: the bag of names published of every history, and what it did.

    A name is a term of the log, level 0, or stands for several of them. What stands behind it in one history is not
    kept: a measure finds that from the original and the released bag, so that it can be taken of any such release.
    """

    terms: tuple[str, ...]  # names: terms of the log, or of what they were generalised to
    indptr: NDArray[np.int64]  # (histories + 1,): row h is what is published of history h, empty if suppressed
    ids: NDArray[np.int32]  # (rows,): places in `terms`, ascending within a history; twice if at several levels
    counts: NDArray[np.int32]  # (rows,): occurrences, at least 1
    levels: NDArray[np.int32]  # (rows,): 0 as typed, else how many steps what it stands for was generalised at most
    summary: Mapping[str, Any] = field(default_factory=dict)
