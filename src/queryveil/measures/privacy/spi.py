"""SPI and JSD: how far what is released of a person is from what the person searched for.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018. JSD is the Jensen–Shannon divergence of
a person's queries before and after (base 2, probabilities from counts); SPI weights what each document adds to it by
one minus the probability that the document is sensitive. Both are averaged over people.

Where we read it differently: a person with nothing released has no distribution after, and leaving such people out
would make the mean fall as more is suppressed; they get one nil document of weight 1, and are counted apart. What SPI
misses: a document that is surely sensitive has weight 0, released or not. So SPI orders releases of equal size only;
`exposed` and `worst` say what it does not.
"""

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.privacy.people import (
    SHOWN,
    Figures,
    Reals,
    averaged,
    figures_of,
    needed,
    people_note,
    sum_by_person,
)

NIL = "these count as one nil document of weight 1"
EQUAL_SIZES = "compare releases of equal size only: a sensitive document weighs little, released or not"


def spi(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean SPI over people."""
    pair = evidence.get(LogPair)
    return spi_scores(spi_figures(pair, measure), measure)


def jsd(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the mean JSD over people."""
    pair = evidence.get(LogPair)
    return jsd_scores(jsd_figures(pair, measure), measure)


def spi_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Return the SPI of people, and of those with something released."""
    return _figures(pair, spi_by_person(pair, measure))


def jsd_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Return the JSD of people, and of those with something released."""
    return _figures(pair, jsd_by_person(pair, measure))


def spi_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    """Score SPI by its figures."""
    return _scores(found, measure, EQUAL_SIZES)


def jsd_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    """Score JSD by its figures."""
    return _scores(found, measure, "")


def spi_by_person(pair: LogPair, measure: ResolvedName) -> Reals:
    """Return the SPI of every person."""
    return divergence(pair, 1.0 - needed(pair.sensitivity))


def jsd_by_person(pair: LogPair, measure: ResolvedName) -> Reals:
    """Return the JSD of every person."""
    return divergence(pair, np.ones(len(pair.ids)))


def divergence(pair: LogPair, weights: Reals) -> Reals:
    """Return the weighted Jensen–Shannon divergence of every person, from 0 to 1."""
    middle = (pair.share_before + pair.share_after) / 2
    # what a document adds is never below 0
    added = (_surprise(pair.share_before, middle) + _surprise(pair.share_after, middle)) / 2
    nil = np.where(pair.n_after == 0, 0.5, 0.0)  # ½ · weight 1 · probability 1 · log2(1 / ½)
    return np.clip(sum_by_person(pair, weights * added) + nil, 0.0, 1.0)


def _surprise(share: Reals, middle: Reals) -> Reals:
    """Return p · log2(p / m), 0 where p is."""
    ratio = np.divide(share, middle, out=np.ones_like(share), where=share > 0)
    return share * np.log2(ratio)


def _figures(pair: LogPair, values: Reals) -> Figures:
    return figures_of(pair, (), (values, values[pair.n_after > 0]))


def _scores(found: Figures, measure: ResolvedName, caution: str) -> list[Score]:
    parts = [people_note(found), NIL, caution] if found.n_silent else [people_note(found), caution]
    note = "; ".join(filter(None, parts))
    everybody, shown = found.spreads
    return [
        averaged(str(measure), "mean of all people", everybody, highest=1.0, unit="", note=note),
        averaged(str(measure), SHOWN, shown, highest=1.0, unit=""),
    ]
