"""When people search: sessions with short pauses inside and long ones between, all within the days of the log."""

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.people import People
from queryveil.logs.generate.large.shape import LargeShape

_DAY = 24 * 60 * 60
_PAUSE_SIGMA = 1.1  # of the logarithm of a pause


def make_times(
    people: People, owners: NDArray[np.int64], shape: LargeShape, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the second of every query since the first day began: rising, and never the same, for each person."""
    first = np.cumsum(people.n_queries) - people.n_queries
    elapsed = np.cumsum(_pauses(len(owners), shape, rng))
    elapsed -= elapsed[first][owners]
    length = elapsed[first + people.n_queries - 1]
    start = rng.random(len(people)) * np.maximum(shape.days * _DAY - length, 0)
    # Whoever searches longer than the log lasts is hurried; the place among the queries keeps the seconds apart
    room = shape.days * _DAY - 1 - people.n_queries - start
    pace = np.minimum(1.0, room / np.maximum(length, 1.0))
    place = np.arange(len(owners)) - first[owners]
    seconds: NDArray[np.int64] = (start[owners] + elapsed * pace[owners]).astype(np.int64) + place
    return seconds


def _pauses(n: int, shape: LargeShape, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the seconds before each query."""
    rhythm = shape.rhythm
    short = rhythm.pause * np.exp(_PAUSE_SIGMA * rng.standard_normal(n))
    is_long = rng.random(n) < 1 / rhythm.session_queries
    pauses: NDArray[np.float64] = np.where(is_long, rng.standard_exponential(n) * rhythm.long_pause, short)
    return pauses
