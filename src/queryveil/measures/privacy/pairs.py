"""Measures of a pair of logs, person by person: impressions, JSD, SPI, PEL, exposed and worst.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018. JSD is the Jensen–Shannon divergence of
a person's queries before and after (base 2, probabilities from counts); SPI weights what each document adds to it by
one minus the probability that the document is sensitive. We read it differently in one point: a person with nothing
released has no distribution after, and leaving such people out would make the mean fall as more is suppressed; they get
one nil document of weight 1. A surely sensitive document has weight 0, released or not, so SPI ranks only releases of
equal size. `exposed` measures what it misses, the sensitive mass Σ σ(d) · P(d|X) · [d is released] of a person, where
a document of which the model knows no word has σ(d) = 0 (docs/decisions/0035);
`worst(q)` the `exposed` that q % of people do not exceed and the SPI that q % do not fall below (nearest rank).

PEL (Erola et al. 2011, Navarro-Arribas et al. 2012) is 100 · I(X;Y) / H(X), by two readings
(docs/explanation/papers/carpineto-romano.md). People with one distinct query have H = 0 and are left out.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score, Z
from queryveil.core.rows import FloatArray
from queryveil.kinds.base import PLURALS

SHOWN = "mean of people with something released"
UNKNOWN = "unknown to the model, mean of all people"
NIL = "these count as one nil document of weight 1"
EQUAL_SIZES = "compare releases of equal size only: a sensitive document weighs little, released or not"

ROUNDING = 1e-9  # by which a sum that is 100 % may be above it
_MARGIN = 1.37  # so that sums which are whole numbers or simple fractions are not next to a power of two
_SMALLEST_EXPONENT = -1000  # of a power of two by which numbers can be divided

ByPerson = Callable[[LogPair, ResolvedName], FloatArray]


class Spread(NamedTuple):
    """The distribution of a figure over people: their number, the mean, and the sum of squared deviations."""

    n: int
    mean: float
    squares: float


class Figures(NamedTuple):
    """What a measure finds in a pair of logs, or in a part of its people; `merge_figures` merges parts."""

    n_people: int
    n_silent: int  # people with nothing released
    n_strangers: int  # people of the release who are not in the original
    unit: Literal["query", "term"]
    totals: tuple[int, ...]  # what the measure counts over all people
    spreads: tuple[Spread, ...]  # of what it computes for every person


@dataclass(frozen=True)
class PairMeasure:
    """A measure whose scores depend on a pair of logs only through figures that can be computed in parts."""

    figures: Callable[[LogPair, ResolvedName], Figures]
    scores: Callable[[Figures, ResolvedName], list[Score]]

    def __call__(
        self, evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
    ) -> list[Score]:
        """Return the scores of the pair of logs."""
        return self.scores(self.figures(evidence.get(LogPair), measure), measure)


def figures_of(pair: LogPair, totals: Sequence[int], values: Sequence[FloatArray]) -> Figures:
    """Return the figures of a pair from totals and from values per person."""
    n_silent = int(np.count_nonzero(pair.n_after == 0))
    return Figures(pair.n_people, n_silent, pair.n_strangers, pair.unit, tuple(totals), tuple(map(_spread_of, values)))


def merge_figures(parts: Sequence[Figures]) -> Figures:
    """Merge the figures of parts of the people; the same order of parts gives the same result to the last bit."""
    n_people, n_silent, n_strangers = (sum(counts) for counts in zip(*(part[:3] for part in parts), strict=True))
    totals = tuple(map(sum, zip(*(part.totals for part in parts), strict=True)))
    spreads = tuple(map(_merge_spreads, zip(*(part.spreads for part in parts), strict=True)))
    return Figures(n_people, n_silent, n_strangers, parts[0].unit, totals, spreads)


def _spread_of(values: FloatArray) -> Spread:
    if not len(values):
        return Spread(0, 0.0, 0.0)
    mean = float(values.mean())
    return Spread(len(values), mean, float(((values - mean) ** 2).sum()))


def _merge_spreads(parts: Iterable[Spread]) -> Spread:
    """Merge the means and sums of squared deviations of disjoint samples (Chan, Golub, LeVeque 1979)."""
    n, mean, squares = 0, 0.0, 0.0
    for part in parts:
        if part.n:
            difference, before, n = part.mean - mean, n, n + part.n
            mean += difference * part.n / n
            squares += part.squares + difference * difference * before * part.n / n
    return Spread(n, mean, squares)


def _mean_score(measure: ResolvedName, label: str, spread: Spread, *, highest: float, **fields: Any) -> Score:
    """Return the mean over people with its interval, which ends at the highest possible value."""
    n, mean, squares = spread
    if not n:
        return Score(str(measure), label, None, **fields)
    interval = None
    if n > 1:
        half = Z * math.sqrt(squares / (n - 1)) / math.sqrt(n)
        interval = max(0.0, mean - half), min(highest, mean + half)
    return Score(str(measure), label, mean, units_counted=n, interval=interval, base="people", **fields)


def _people_note(found: Figures) -> str:
    """Say how many people have nothing released, and how many of the release are left out."""
    parts = [f"{found.n_silent:,} of {found.n_people:,} people have nothing released"]
    if found.n_strangers:
        parts.append(f"{found.n_strangers:,} of the release are not in the original and left out")
    return "; ".join(parts)


def _required(sensitivity: FloatArray | None) -> FloatArray:
    if sensitivity is None:
        raise ValueError("this measure needs the sensitivity of the documents")
    return sensitivity


def _sum_by_person(pair: LogPair, values: FloatArray) -> FloatArray:
    """Return the sum of each person's values, the same to the last bit in whatever order queries are numbered.

    The leading digits of values, multiples of a power of two for which all digits of the person's sum fit into a
    number, are added without error, and then what is left of them.
    """
    sums = np.bincount(pair.person, np.abs(values), minlength=pair.n_people) * _MARGIN
    quantum = np.ldexp(1.0, np.maximum(np.frexp(sums)[1] - 51, _SMALLEST_EXPONENT))[pair.person]
    leading = np.rint(values / quantum) * quantum
    added = (np.bincount(pair.person, part, minlength=pair.n_people) for part in (leading, values - leading))
    return np.add(*added, dtype=np.float64)


def spi_by_person(pair: LogPair, measure: ResolvedName) -> FloatArray:
    """Return the SPI of every person."""
    return _divergence(pair, 1.0 - _required(pair.sensitivity))


def jsd_by_person(pair: LogPair, measure: ResolvedName) -> FloatArray:
    """Return the JSD of every person."""
    return _divergence(pair, np.ones(len(pair.ids)))


def _divergence(pair: LogPair, weights: FloatArray) -> FloatArray:
    """Return the weighted Jensen–Shannon divergence of every person, from 0 to 1."""
    middle = (pair.share_before + pair.share_after) / 2

    def contribution(share: FloatArray) -> FloatArray:
        """Return p · log2(p / m), 0 where p is."""
        return share * np.log2(np.divide(share, middle, out=np.ones_like(share), where=share > 0))

    added = (contribution(pair.share_before) + contribution(pair.share_after)) / 2  # never below 0
    nil = np.where(pair.n_after == 0, 0.5, 0.0)  # ½ · weight 1 · probability 1 · log2(1 / ½)
    return np.clip(_sum_by_person(pair, weights * added) + nil, 0.0, 1.0)


def _divergence_figures(by_person: ByPerson, pair: LogPair, measure: ResolvedName) -> Figures:
    values = by_person(pair, measure)
    return figures_of(pair, (), (values, values[pair.n_after > 0]))


def _divergence_scores(caution: str, found: Figures, measure: ResolvedName) -> list[Score]:
    note = "; ".join(filter(None, (_people_note(found), NIL if found.n_silent else "", caution)))
    everybody, shown = found.spreads
    return [
        _mean_score(measure, "mean of all people", everybody, highest=1.0, unit="", note=note),
        _mean_score(measure, SHOWN, shown, highest=1.0, unit=""),
    ]


spi = PairMeasure(partial(_divergence_figures, spi_by_person), partial(_divergence_scores, EQUAL_SIZES))
jsd = PairMeasure(partial(_divergence_figures, jsd_by_person), partial(_divergence_scores, ""))


def impressions_by_person(pair: LogPair, measure: ResolvedName) -> FloatArray:
    """Return the share of every person's queries that is released."""
    share: FloatArray = pair.n_after / pair.n_before
    return share


def _impressions_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Count all queries, those released, those of them that are not the person's own, and people with more than all."""
    n_above = int(np.count_nonzero(pair.n_after > pair.n_before))
    totals = (int(pair.before.sum()), int(pair.after.sum()), int(pair.after[pair.before == 0].sum()), n_above)
    return figures_of(pair, totals, (100.0 * impressions_by_person(pair, measure),))


def _impressions_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    total, released, foreign, n_above = found.totals
    what = PLURALS[found.unit]

    def score(label: str, part: int, total: int, base: str, note: str = "") -> Score:
        value = 100.0 * part / total if total else None
        return Score(str(measure), label, value, units_counted=total, better="", note=note, base=base)

    changed = f"where this is high, {what} were changed: see --match" if foreign else ""
    highest = math.inf if n_above else 100.0
    return [
        score(f"{what} released", released, total, what, _people_note(found)),
        _mean_score(measure, f"{what} released, mean of all people", found.spreads[0], highest=highest, better=""),
        score(f"released {what} that stand for none of the person's", foreign, released, f"released {what}", changed),
        score("people with nothing released", found.n_silent, found.n_people, "people"),
    ]


impressions = PairMeasure(_impressions_figures, _impressions_scores)


def pel_by_person(pair: LogPair, measure: ResolvedName) -> FloatArray:
    """Return the PEL of every person in percent; NaN for people with one distinct query."""
    entropy = _sum_by_person(pair, _surprise(pair.share_before))
    if measure.word("estimate") == "paper":
        # Σ p(y) log2(1 / p(x = y)); a released document that the person never issued tells nothing
        own = np.where(pair.before > 0, pair.share_before, 1.0)
        information = _sum_by_person(pair, -pair.share_after * np.log2(own))
    else:  # H(X) + H(Y) − H(X,Y), where Y is the query itself or "suppressed"
        lost = np.maximum(0, pair.before - pair.after) / pair.n_before[pair.person]
        suppressed = _surprise(_sum_by_person(pair, lost))
        information = np.maximum(0.0, entropy + suppressed - _sum_by_person(pair, _surprise(lost)))
    level: FloatArray = np.full(len(entropy), np.nan)
    np.divide(100.0 * information, entropy, out=level, where=entropy > 0)
    return level


def _surprise(share: FloatArray) -> FloatArray:
    """Return −p · log2 p, 0 where p is."""
    return -share * np.log2(np.where(share > 0, share, 1.0))


def _pel_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    values = pel_by_person(pair, measure)
    is_known = ~np.isnan(values)
    # by the paper's estimate, a release that repeats a rare query gives more than all information about the queries
    n_above = int(np.count_nonzero(values[is_known] > 100.0 + ROUNDING))
    return figures_of(pair, (int(np.count_nonzero(~is_known)), n_above), (values[is_known],))


def _pel_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    note, (left_out, n_above) = _people_note(found), found.totals
    if left_out:
        note += f"; {left_out:,} people with one distinct query are left out"
    highest = math.inf if n_above else 100.0
    return [_mean_score(measure, "mean of people", found.spreads[0], highest=highest, better="lower", note=note)]


pel = PairMeasure(_pel_figures, _pel_scores)


def exposed_by_person(pair: LogPair, measure: ResolvedName) -> FloatArray:
    """Return the exposed sensitive mass of every person, from 0 to 1."""
    return _sum_by_person(pair, _required(pair.sensitivity) * (pair.after > 0) * pair.share_before)


def _exposed_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Return the sensitive mass of people, in percent, how much of it is exposed, and of how much nothing is known."""
    before = 100.0 * _sum_by_person(pair, _required(pair.own_sensitivity) * pair.share_before)
    unknown = 100.0 * _sum_by_person(pair, (_required(pair.own_sensitivity) == 0) * pair.share_before)
    return figures_of(pair, (), (before, 100.0 * exposed_by_person(pair, measure), unknown))


def _exposed_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    before, after, unknown = found.spreads
    note = "of what a person searched for, the share that is sensitive and released; " + _people_note(found)
    label = "sensitive and released, mean of all people"
    uncounted = "no word of it is known to the sensitivity model, so that it counts as not sensitive"
    return [
        _mean_score(measure, label, after, highest=100.0, original=before.mean, better="lower", note=note),
        _mean_score(measure, UNKNOWN, unknown, highest=100.0, better="", note=uncounted),
    ]


exposed = PairMeasure(_exposed_figures, _exposed_scores)


def worst(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the exposed mass that q % of people do not exceed, and the SPI that q % of people do not fall below."""
    pair, q = evidence.get(LogPair), measure.real("q")
    mass, interval = percentile(100.0 * exposed_by_person(pair, measure), q)
    spi, (low, high) = percentile(-spi_by_person(pair, measure), q)
    label, note = f"sensitive and released, {q:g} % of people at most", f"{q:g} % of people are exposed by no more"
    n, name = pair.n_people, str(measure)
    return [
        Score(name, label, mass, None, "%", n, interval, "lower", f"{note} than this", "people"),
        Score(
            name,
            f"SPI, {q:g} % of people at least",
            -spi,
            unit="",
            units_counted=n,
            interval=(-high, -low),
            note=f"{q:g} % of people have no lower SPI",
            base="people",
        ),
    ]


def percentile(values: FloatArray, q: float) -> tuple[float, tuple[float, float]]:
    """Return the smallest value that q % of all do not exceed, and the interval of that order statistic."""
    ordered, n, share = np.sort(values), len(values), q / 100.0
    half = Z * math.sqrt(n * share * (1 - share))

    def at(rank: float) -> float:
        return float(ordered[min(n, max(1, math.ceil(rank))) - 1])

    return at(share * n - 1e-9), (at(share * n - half), at(share * n + half))
