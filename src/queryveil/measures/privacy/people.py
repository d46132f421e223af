"""What is said of the people of a pair of logs: the mean of a figure, its interval, and who has nothing released.

The interval is that of the mean of another sample of as many people, from the spread between people (95 %, normal).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.measures.privacy.unique import Z
from queryveil.types import LogPair, Score

Reals = NDArray[np.float64]

SHOWN = "mean of people with something released"


def averaged(measure: str, label: str, values: Reals, *, highest: float, note: str = "", **fields: Any) -> Score:
    """Return the mean over people and its interval; without people there is none. `highest` is what a figure can be."""
    if not len(values):
        return Score(measure, label, None, note=note, **fields)
    mean = float(values.mean())
    interval = None
    if len(values) > 1:
        half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
        interval = max(0.0, mean - half), min(highest, mean + half)
    return Score(measure, label, mean, units_counted=len(values), interval=interval, note=note, **fields)


def people_note(pair: LogPair) -> str:
    """Say how many people have nothing released, and how many of the release are left out."""
    silent = int(np.count_nonzero(pair.n_after == 0))
    parts = [f"{silent:,} of {pair.n_people:,} people have nothing released"]
    if pair.n_strangers:
        parts.append(f"{pair.n_strangers:,} of the release are not in the original and left out")
    return "; ".join(parts)


def needed(sensitivity: Reals | None) -> Reals:
    """Return how sensitive each row's document is, which whoever asks for a measure that needs it must have told."""
    if sensitivity is None:
        raise ValueError("this measure needs the sensitivity of the documents")
    return sensitivity


def sum_by_person(pair: LogPair, values: Reals) -> Reals:
    """Sum up the values of each person's rows."""
    return np.bincount(pair.person, values, minlength=pair.n_people).astype(np.float64)
