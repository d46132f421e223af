"""Exposed: how much of what people searched for is sensitive and still there; and of the worst-off person.

The exposed sensitive mass of a person is Σ σ(d) · P(d|X) · [d is released]: the chance that a query of the person,
drawn from the original, is sensitive and can be read in the release. Once is enough to read it, so a document counts
whole however often it was released. This is what SPI does not see, for there a sensitive document has no weight.

`worst(q)` looks at people instead of the mean: the value of `exposed` that q % of people do not exceed, and the SPI
that q % of people do not fall below. Each is the value of a person (nearest rank); the interval is that of the order
statistic (95 %, normal).
"""

import math

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.privacy.people import Figures, Reals, averaged, figures_of, needed, people_note, sum_by_person
from queryveil.measures.privacy.spi import spi_by_person
from queryveil.measures.privacy.unique import Z


def exposed(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean exposed sensitive mass over people, beside that of the original."""
    pair = evidence.get(LogPair)
    return exposed_scores(exposed_figures(pair, measure), measure)


def exposed_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Return the sensitive mass of people, in percent, and how much of it is exposed."""
    before = 100.0 * _mass(pair, needed(pair.own_sensitivity))
    return figures_of(pair, (), (before, 100.0 * exposed_by_person(pair, measure)))


def exposed_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    """Score what is exposed by its figures."""
    before, after = found.spreads
    note = "of what a person searched for, the share that is sensitive and released; " + people_note(found)
    label = "sensitive and released, mean of all people"
    return [averaged(str(measure), label, after, highest=100.0, original=before.mean, better="lower", note=note)]


def exposed_by_person(pair: LogPair, measure: ResolvedName) -> Reals:
    """Return the exposed sensitive mass of every person, from 0 to 1."""
    return _mass(pair, needed(pair.sensitivity) * (pair.after > 0))


def _mass(pair: LogPair, sensitivity: Reals) -> Reals:
    return sum_by_person(pair, sensitivity * pair.share_before)


def worst(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return what is exposed of the q-th percentile person, and that person's like by SPI."""
    pair = evidence.get(LogPair)
    q = measure.real("q")
    mass, interval = percentile(100.0 * exposed_by_person(pair, measure), q)
    left, left_interval = percentile(-spi_by_person(pair, measure), q)
    n = pair.n_people
    return [
        Score(
            str(measure),
            f"sensitive and released, {q:g} % of people at most",
            mass,
            units_counted=n,
            interval=interval,
            better="lower",
            note=f"{q:g} % of people are exposed by no more than this",
        ),
        Score(
            str(measure),
            f"SPI, {q:g} % of people at least",
            -left,
            unit="",
            units_counted=n,
            interval=(-left_interval[1], -left_interval[0]),
            note=f"{q:g} % of people have no lower SPI",
        ),
    ]


def percentile(values: Reals, q: float) -> tuple[float, tuple[float, float]]:
    """Return the smallest value that q % of all do not exceed, and the interval of that order statistic."""
    ordered, n, share = np.sort(values), len(values), q / 100.0
    half = Z * math.sqrt(n * share * (1 - share))

    def at(rank: float) -> float:
        return float(ordered[min(n, max(1, math.ceil(rank))) - 1])

    return at(share * n - 1e-9), (at(share * n - half), at(share * n + half))
