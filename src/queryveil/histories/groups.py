"""Groups of people: the outcome of a method that groups, and the groups of an earlier release."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.outcomes import Outcome


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
