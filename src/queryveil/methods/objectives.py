"""What a result is judged by under each target, so that one can be said to be better than another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.profiles import Profiles
from queryveil.methods.utilities import Worth, value_of_terms


@dataclass(frozen=True, eq=False)
class Objective:
    """How much of its target a result keeps, log size deciding between equals; `fis` is judged by log size alone."""

    profiles: Profiles
    target: str
    gain: NDArray[np.float64]  # (pairs,): what keeping a pair adds to the target, or to the log size

    def kept(self, mask: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the share of the target that a result keeps, in percent, and its log size."""
        counts = self.profiles.counts
        log_size = float(counts[mask].sum())
        if self.target == "users":
            return 100 * self._n_people(mask) / self.profiles.n_people, log_size
        if self.target == "distinct":
            return 100 * len(np.unique(self.profiles.ids[mask])) / len(self.profiles.vocabulary), log_size
        whole = float(self.gain.sum())
        return 100 * float(self.gain[mask].sum()) / whole if whole else 0.0, log_size

    def _n_people(self, mask: NDArray[np.bool_]) -> int:
        history = self.profiles.row_numbers()[mask]
        return int(np.count_nonzero(np.diff(self.profiles.owner[history], prepend=-1)))


def objective(target: str, profiles: Profiles, worth: Worth) -> Objective:
    """Return what results under a target are judged by."""
    value = value_of_terms(target, profiles, worth)
    gain = profiles.counts.astype(np.float64)
    return Objective(profiles, target, gain if value is None else gain * value[profiles.ids])
