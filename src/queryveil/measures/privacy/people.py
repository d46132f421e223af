"""What is said of the people of a pair of logs: the mean of a figure, its interval, and who has nothing released.

The interval is that of the mean of another sample of as many people, from the spread between people (95 %, normal).
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import LogPair
from queryveil.core.results import Score
from queryveil.measures.privacy.unique import Z

Reals = NDArray[np.float64]

SHOWN = "mean of people with something released"


class Spread(NamedTuple):
    """A figure of people: how many have it, its mean, and the sum of the squared distances from that."""

    n: int
    mean: float
    squares: float


class Figures(NamedTuple):
    """What a measure finds in a pair of logs, or in some of its people: such parts can be put together."""

    n_people: int
    n_silent: int  # people with nothing released
    n_strangers: int  # people of the release who are not in the original
    unit: Literal["query", "term"]
    totals: tuple[int, ...]  # what the measure counts over all people
    spreads: tuple[Spread, ...]  # what it finds for every person


def figures_of(pair: LogPair, totals: Sequence[int], values: Sequence[Reals]) -> Figures:
    """Return what was found in a pair: totals, and values of people."""
    n_silent = int(np.count_nonzero(pair.n_after == 0))
    spreads = tuple(_spread(each) for each in values)
    return Figures(pair.n_people, n_silent, pair.n_strangers, pair.unit, tuple(totals), spreads)


def together(parts: Sequence[Figures]) -> Figures:
    """Put what was found of parts of the people together; in the same order the result is the same to the last bit."""
    totals = tuple(map(sum, zip(*(part.totals for part in parts), strict=True)))
    spreads = tuple(map(_joint, zip(*(part.spreads for part in parts), strict=True)))
    n_people, n_silent = sum(part.n_people for part in parts), sum(part.n_silent for part in parts)
    return Figures(n_people, n_silent, sum(part.n_strangers for part in parts), parts[0].unit, totals, spreads)


def _spread(values: Reals) -> Spread:
    if not len(values):
        return Spread(0, 0.0, 0.0)
    mean = float(values.mean())
    return Spread(len(values), mean, float(((values - mean) ** 2).sum()))


def _joint(parts: Iterable[Spread]) -> Spread:
    """Put spreads together by T. F. Chan's rule."""
    n, mean, squares = 0, 0.0, 0.0
    for part in parts:
        if part.n:
            apart, before, n = part.mean - mean, n, n + part.n
            mean += apart * part.n / n
            squares += part.squares + apart * apart * before * part.n / n
    return Spread(n, mean, squares)


def averaged(
    measure: str, label: str, spread: Spread | Reals, *, highest: float, note: str = "", **fields: Any
) -> Score:
    """Return the mean over people and its interval; without people there is none. `highest` is what a figure can be."""
    n, mean, squares = spread if isinstance(spread, Spread) else _spread(spread)
    if not n:
        return Score(measure, label, None, note=note, **fields)
    interval = None
    if n > 1:
        half = Z * math.sqrt(squares / (n - 1)) / math.sqrt(n)
        interval = max(0.0, mean - half), min(highest, mean + half)
    return Score(measure, label, mean, units_counted=n, interval=interval, note=note, **fields)


def people_note(found: Figures) -> str:
    """Say how many people have nothing released, and how many of the release are left out."""
    parts = [f"{found.n_silent:,} of {found.n_people:,} people have nothing released"]
    if found.n_strangers:
        parts.append(f"{found.n_strangers:,} of the release are not in the original and left out")
    return "; ".join(parts)


def needed(sensitivity: Reals | None) -> Reals:
    """Return how sensitive each row's document is, which whoever asks for a measure that needs it must have told."""
    if sensitivity is None:
        raise ValueError("this measure needs the sensitivity of the documents")
    return sensitivity


def sum_by_person(pair: LogPair, values: Reals) -> Reals:
    """Sum up the values of each person's rows."""
    return np.bincount(pair.person, values, minlength=pair.n_people).astype(np.float64)
