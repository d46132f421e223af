"""Market value: how much of it is kept, and how the figures of terms correlate.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010. Table 5: the
sum over (history, term) of value · occurrences, for bid, clicks, impressions and revenue; a term without a value counts
0. Table 3: Pearson's correlation of each two figures over the terms for which both are known, with its one-tailed
significance. As its N shows, only terms that the market table knows are counted, also for term frequency and users.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from queryveil.core.display import percent
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import FloatArray, Int32Array
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.market import FIGURES, Market
from queryveil.measures.base import UNKNOWN_OCCURRENCES, Comparison

WORDS = {"bid": "a bid", "clicks": "clicks", "impressions": "impressions", "revenue": "a revenue"}
FREQUENCY, USERS = "term frequency", "users"
VARIABLES = (FREQUENCY, USERS, *FIGURES)
LEVEL = 0.01  # of significance, one-tailed


@dataclass(frozen=True)
class Coverage:
    """For how many terms of a log, and for which share of their occurrences, a figure is known."""

    n_terms: int
    terms: float  # % of the distinct terms
    occurrences: float  # % of the occurrences

    def sentence(self, figure: str) -> str:
        """Return the coverage of a figure as a sentence."""
        known = f"{percent(self.terms)} of the log's terms and {percent(self.occurrences)} of their occurrences"
        return f"{known} have {WORDS[figure]} in the market table"


def measure_market(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return bid, clicks, impressions and revenue of the release in percent of the original's."""
    comparison = evidence.get(Comparison)
    market = comparison.required_market(str(measure))
    progress("measuring market value", 0, 1)
    known = coverage(comparison.original, market)
    occurrences = comparison.released_occurrences()
    scores = []
    for figure in FIGURES:
        total = total_value(comparison.original, comparison.original.counts, market, figure)
        note, value = known[figure].sentence(figure), None
        if total == 0:
            note += "; all that is known of them is 0"
        elif occurrences is None:
            note += f"; what is kept {UNKNOWN_OCCURRENCES}"
        else:
            value = 100.0 * total_value(comparison.released, occurrences, market, figure) / total
        scores.append(Score(str(measure), figure, value, 100.0, "%", known[figure].n_terms, note=note, base="terms"))
    progress("measuring market value", 1, 1)
    return scores


def total_value(profiles: Profiles, occurrences: Int32Array, market: Market, figure: str) -> float:
    """Return the sum of value · occurrences over all pairs."""
    value = np.nan_to_num(market.of(figure, profiles.vocabulary))
    return float(value[profiles.ids] @ occurrences)


def coverage(profiles: Profiles, market: Market) -> Mapping[str, Coverage]:
    """Return for each figure how much of a log it covers; refuse a table that has no term of the log."""
    n_terms, total = len(profiles.vocabulary), int(profiles.counts.sum())
    occurrences = np.bincount(profiles.ids, weights=profiles.counts, minlength=n_terms)
    found = {}
    for figure in FIGURES:
        is_known = ~np.isnan(market.of(figure, profiles.vocabulary))
        n_known = int(np.count_nonzero(is_known))
        found[figure] = Coverage(n_known, 100.0 * n_known / n_terms, 100.0 * float(occurrences[is_known].sum()) / total)
    if not any(figure.n_terms for figure in found.values()):
        raise InputError(
            f"{market.name} gives no value for any of the {n_terms:,} terms of the log; check that it belongs to this "
            "log, and --charset."
        )
    return found


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
        """Return whether it is significant at the 0.01 level."""
        return self.significance is not None and self.significance < LEVEL

    def note(self) -> str:
        """Return the number of terms and the significance as a sentence."""
        if self.significance is None:
            return f"original: over {self.n:,} terms, on which one of the two does not vary"
        significant = "significant" if self.is_significant else "not significant"
        return f"original: over {self.n:,} terms, {significant} (one-tailed p = {self.significance:.3f})"


def measure_correlations(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the correlations of figures over the terms of the original, and of those over the release's terms."""
    comparison = evidence.get(Comparison)
    market = comparison.required_market(str(measure))
    progress("correlating", 0, 1)
    original, released = comparison.original, comparison.released
    before = correlations(known_to_market(figures_of_terms(original, original.counts, original.owner, market)))
    owner = comparison.released_owner() if comparison.ownership != "unknown" else None
    after = correlations(known_to_market(figures_of_terms(released, comparison.released_occurrences(), owner, market)))
    left = {(each.first, each.second): each.value for each in after}
    progress("correlating", 1, 1)
    scores = []
    for each in before:
        label, value = f"{each.first} – {each.second}", left.get((each.first, each.second))
        scores.append(Score(str(measure), label, value, each.value, "", each.n, None, "", each.note(), "terms"))
    return scores


def figures_of_terms(
    profiles: Profiles, occurrences: Int32Array | None, owner: Int32Array | None, market: Market
) -> Mapping[str, FloatArray]:
    """Return the figures of every term, NaN where one is unknown; without occurrences or owners, their figures lack."""
    n_terms = len(profiles.vocabulary)
    figures: dict[str, FloatArray] = {}
    if occurrences is not None:
        figures[FREQUENCY] = np.bincount(profiles.ids, weights=occurrences, minlength=n_terms).astype(np.float64)
    if owner is not None:
        figures[USERS] = count_people(profiles.indptr, profiles.ids, owner, n_terms).astype(np.float64)
    return figures | {figure: market.of(figure, profiles.vocabulary) for figure in FIGURES}


def known_to_market(figures: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
    """Return the figures of only those terms for which the market table has a value."""
    is_known = ~np.all([np.isnan(figures[name]) for name in FIGURES], axis=0)
    return {name: column[is_known] for name, column in figures.items()}


def correlations(figures: Mapping[str, FloatArray]) -> list[Correlation]:
    """Return the correlation of each two figures over the terms for which both are known."""
    return [_correlate(first, second, figures[first], figures[second]) for first, second in combinations(figures, 2)]


def _correlate(first: str, second: str, x: FloatArray, y: FloatArray) -> Correlation:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[known], y[known], int(np.count_nonzero(known))
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(first, second, None, n, None)
    x, y = (x - x.mean()) / np.ptp(x), (y - y.mean()) / np.ptp(y)
    value = float(np.clip(x @ y / math.sqrt(float(x @ x) * float(y @ y)), -1.0, 1.0))
    return Correlation(first, second, value, n, significance(value, n))


def significance(correlation: float, n: int) -> float:
    """Return the probability of a correlation at least as extreme on its side of 0 over n unrelated pairs (t test)."""
    return 0.5 * _incomplete_beta(n / 2 - 1, 0.5, 1 - correlation * correlation)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction, precise for tiny results too."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # where the fraction of the mirrored function converges faster
        return 1 - _incomplete_beta(b, a, 1 - x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 1_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = 1 + term / c, 1 / (1 + term * d)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * fraction / a
