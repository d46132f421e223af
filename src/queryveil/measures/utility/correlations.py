"""Correlations: how the figures that one may aim at go together over the terms of a log.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, table 3:
Pearson's correlation of each two figures over the terms for which both are known, with its one-tailed significance.
As its N shows, only terms of which the market knows something are looked at, also for term frequency and users.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.market.table import FIGURES, Market
from queryveil.measures.base import Comparison

FREQUENCY, USERS = "term frequency", "users"
VARIABLES = (FREQUENCY, USERS, *FIGURES)
LEVEL = 0.01  # of significance, one-tailed


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two figures over n terms; None where a figure does not vary."""

    first: str
    second: str
    value: float | None
    n: int
    significance: float | None  # one-tailed

    @property
    def is_significant(self) -> bool:
        """Say whether it is significant at the 0.01 level."""
        return self.significance is not None and self.significance < LEVEL


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the correlations over the terms of the original, and over the release's with what is left of each."""
    comparison = evidence.get(Comparison)
    market = comparison.needed_market(str(measure))
    progress("correlating", 0, 1)
    original, released = comparison.original, comparison.released
    before = correlations(known_to_market(figures_of_terms(original, original.counts, original.owner, market)))
    owner = comparison.released_owner() if comparison.counts_people else None
    after = correlations(known_to_market(figures_of_terms(released, comparison.released_occurrences(), owner, market)))
    left = {(each.first, each.second): each.value for each in after}
    progress("correlating", 1, 1)
    return [
        Score(
            str(measure),
            f"{each.first} – {each.second}",
            left.get((each.first, each.second)),
            each.value,
            unit="",
            units_counted=each.n,
            better="",
            note=_note(each),
        )
        for each in before
    ]


def _note(each: Correlation) -> str:
    if each.significance is None:
        return f"original: over {each.n:,} terms, on which one of the two does not vary"
    significant = "significant" if each.is_significant else "not significant"
    return f"original: over {each.n:,} terms, {significant} (one-tailed p = {each.significance:.3f})"


def figures_of_terms(
    profiles: Profiles, occurrences: NDArray[np.int32] | None, owner: NDArray[np.int32] | None, market: Market
) -> Mapping[str, NDArray[np.float64]]:
    """Return the figures of every term, nan where one is not known; without those that cannot be told."""
    n_terms = len(profiles.vocabulary)
    figures: dict[str, NDArray[np.float64]] = {}
    if occurrences is not None:
        figures[FREQUENCY] = np.bincount(profiles.ids, weights=occurrences, minlength=n_terms).astype(np.float64)
    if owner is not None:
        figures[USERS] = count_people(profiles.indptr, profiles.ids, owner, n_terms).astype(np.float64)
    values = {figure: market.of(figure, profiles.vocabulary.entries) for figure in FIGURES}
    return figures | values


def known_to_market(figures: Mapping[str, NDArray[np.float64]]) -> Mapping[str, NDArray[np.float64]]:
    """Return the figures of only those terms that the market knows something of."""
    is_known = ~np.all([np.isnan(figures[name]) for name in FIGURES], axis=0)
    return {name: column[is_known] for name, column in figures.items()}


def correlations(figures: Mapping[str, NDArray[np.float64]]) -> list[Correlation]:
    """Return the correlation of each two figures over the terms for which both are known."""
    return [_correlate(first, second, figures[first], figures[second]) for first, second in combinations(figures, 2)]


def _correlate(first: str, second: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> Correlation:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[known], y[known], int(np.count_nonzero(known))
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(first, second, None, n, None)
    x, y = (x - x.mean()) / np.ptp(x), (y - y.mean()) / np.ptp(y)
    value = float(np.clip(x @ y / math.sqrt(float(x @ x) * float(y @ y)), -1.0, 1.0))
    return Correlation(first, second, value, n, significance(value, n))


def significance(correlation: float, n: int) -> float:
    """Return the chance of a correlation at least as far on its side of 0 over n unrelated pairs (Student's t)."""
    return 0.5 * _incomplete_beta(n / 2 - 1, 0.5, 1 - correlation * correlation)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction (Lentz's way)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other tail converges quickly
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction, change, i = d, 0.0, 0
    while abs(change - 1) > 1e-15 and i < 10_000:
        i += 1
        for step in (
            i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
            -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1)),
        ):
            c, d = 1 + step / c, 1 / (1 + step * d)
            change = c * d
            fraction *= change
    return math.exp(log_front) * fraction / a
