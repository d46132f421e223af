"""Intervals by resampling people: queries of one person are not independent, people are.

All figures are estimated on the same resamples, so what two variants have in common cancels in their difference.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
LEVEL = 0.95

Reals = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each person is in each resample, and which person each query is of."""

    times: Reals  # (resamples, people)
    person: NDArray[np.int64]  # (queries,)

    def mean(self, figures: Reals) -> Estimate:
        """Return the mean over queries."""
        totals, queries = self._totals(figures), self._totals(np.ones(len(figures)))
        return _estimate(float(figures.mean()), totals / queries)

    def difference(self, ours: Reals, theirs: Reals) -> Estimate:
        """Return by how much the mean of one figure exceeds that of another of the same queries."""
        return self.mean(ours - theirs)

    def ratio(self, ours: Reals, theirs: Reals) -> Estimate | None:
        """Return the mean of one figure as a share of that of another; None where the other may be 0."""
        above, below = self._totals(ours), self._totals(theirs)
        if not below.all():
            return None
        return _estimate(float(ours.sum() / theirs.sum()), above / below)

    def _totals(self, figures: Reals) -> Reals:
        sums = np.bincount(self.person, figures, minlength=self.times.shape[1])
        total: Reals = self.times @ sums
        return total


def resample(person: NDArray[np.int64], rng: np.random.Generator, n_resamples: int = RESAMPLES) -> Resamples:
    """Draw as many people as there are, with replacement, again and again; people are those who have a query."""
    _, number = np.unique(person, return_inverse=True)
    n_people = int(number.max(initial=-1)) + 1
    times = rng.multinomial(n_people, np.full(n_people, 1.0 / n_people), size=n_resamples)
    return Resamples(times.astype(np.float64), number.astype(np.int64))


def _estimate(value: float, resampled: Reals) -> Estimate:
    low, high = np.quantile(resampled, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))
