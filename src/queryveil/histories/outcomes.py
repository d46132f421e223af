"""What methods return: kept pairs, groups or vocabularies; and the groups of an earlier release, which are extended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What every outcome has besides its content."""

    summary: Mapping[str, Any] = field(default_factory=dict)  # what the method did, in counts
    found: Mapping[str, int | float] = field(default_factory=dict)  # parameters of the claim that the run determined


@dataclass(frozen=True, eq=False)
class KeptPairs(Outcome):
    """The outcome of a method that deletes: which pairs of its `Profiles` stay."""

    mask: NDArray[np.bool_]  # (pairs,)
    piece: NDArray[np.int32] | None = None
    # (pairs,): the piece of its history that each kept pair is in, from 0 on; None: each history is in one piece


@dataclass(frozen=True, eq=False)
class Grouping(Outcome):
    """The outcome of a method that groups people: everybody's group, and what is published of each group."""

    group: NDArray[np.int32]  # (histories,): −1 where the history is suppressed
    indptr: NDArray[np.int64]  # (groups + 1,): row g is the representative of group g, over the entries of `Profiles`
    ids: NDArray[np.int32]  # (published pairs,): ascending and unique within a row
    weights: NDArray[np.float64]  # (published pairs,)
    contributors: NDArray[np.int32] | None = None
    # (histories,): the group in whose published terms the person's are; None: everybody's own group
    inherited: NDArray[np.int32] | None = None
    # (previous groups,): the group that is published as before, −1 where there is none; None: there were no groups

    @property
    def n_groups(self) -> int:
        """Count the groups."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class PreviousGroups:
    """The groups of an earlier release, over the people and entries of today's profiles."""

    group: NDArray[np.int32]  # (histories,): everybody's group then; −1 for newcomers
    contributors: NDArray[np.int32]  # (histories,): the group in whose published terms the person's are; −1 for none
    left: NDArray[np.int64]  # (groups,): contributors who are no longer in the log
    indptr: NDArray[np.int64]  # (groups + 1,): what is published of each
    ids: NDArray[np.int32]  # (published pairs,): −1 where nobody holds the entry any more
    weights: NDArray[np.float64]

    @property
    def n_groups(self) -> int:
        """Count the groups."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class PublishedVocabularies(Outcome):
    """The outcome of a method of vocabularies: the bag of names published of every history.

    A name is a term of the log (level 0) or generalises several of them. Which terms of a history it stands for is not
    recorded: a measure derives that from the original and the released bag, so that it applies to any such release.
    """

    terms: tuple[str, ...]  # names: terms of the log, or what they were generalised to
    indptr: NDArray[np.int64]  # (histories + 1,): row h is what is published of history h, empty if suppressed
    ids: NDArray[np.int32]  # (rows,): positions in `terms`, ascending within a history; repeated for several levels
    counts: NDArray[np.int32]  # (rows,): occurrences, at least 1
    levels: NDArray[np.int32]  # (rows,): 0 as typed, else the largest number of steps by which a term was generalised
