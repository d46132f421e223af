"""What every measure looks at: an original log and what was released of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.types import Profiles


@dataclass(frozen=True, eq=False)
class Comparison:
    """An original log beside what was released of it."""

    kind: str  # "histories" or "log"
    original: Profiles
    released: Profiles  # its own vocabulary; counts are occurrences for kind "log", all 1 for "histories"
    history_of: NDArray[np.int64] | None  # released history → original history; None without the private folder

    @property
    def one_history_each(self) -> bool:
        """Say whether every person of the original has one history, so that a released history is a person."""
        return self.original.n_histories == self.original.n_people

    @property
    def counts_people(self) -> bool:
        """Say whether it is known which released histories belong to the same person."""
        return self.history_of is not None or self.one_history_each

    def released_owner(self) -> NDArray[np.int32]:
        """Return the person behind each released history; unless that is known, the history stands for itself."""
        if self.history_of is None:
            return self.released.owner
        return self.original.owner[self.history_of]
