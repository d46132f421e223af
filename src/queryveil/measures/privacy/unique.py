"""Uniqueness: how many people are singled out by m random terms of theirs.

Whoever happens to know m things a person has searched for finds that person, if nobody else in the data has searched
for all of them. From every history, or from 100,000 drawn ones of a larger log, m terms are drawn, each set of m
equally likely, and it is asked whether one owner alone holds them. The release and the original are each asked about
themselves.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.supports import postings
from queryveil.kernels.uniqueness import Crowd, find_alone
from queryveil.kinds.base import PLURALS
from queryveil.measures.base import Comparison

COMBINATIONS_PER_CALL = 5_000  # below a second, so that an interrupt is noticed
MOST_HISTORIES = 100_000  # asked about: the 95 % interval is at most 0.62 percentage points wide
Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
EMPTY = "the release has no terms"
PER_HISTORY = "the share is of histories, since people have several; others who hold the terms are other people"
HISTORIES_COUNTED = "the share is of histories; which are one person's is known, in the release, only with --private"


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the share of histories that m of their terms single out, in the release and in the original."""
    comparison = evidence.get(Comparison)
    m, original = measure.integer("m"), comparison.original
    before = _count_singled_out(original, original.owner, m, rng, progress)
    after = _count_singled_out(comparison.released, comparison.released_owner(), m, rng, progress)
    return scores_of(
        measure, comparison.kind.unit, before, after, note_of(comparison.one_history_each, comparison.counts_people)
    )


def scores_of(
    measure: ResolvedName, unit: str, before: tuple[int, int], after: tuple[int, int], note: str
) -> list[Score]:
    """Return the score of how many were singled out, and of how many, in the original and in the release."""
    m, n_after = measure.integer("m"), after[1]
    value, interval = None, None
    if n_after:
        low, high = wilson(*after)
        value, interval = 100.0 * after[0] / n_after, (100.0 * low, 100.0 * high)
    one, several = unit, PLURALS[unit]
    label = f"singled out by {m} random {one if m == 1 else several}"
    share_before, said = 100.0 * before[0] / before[1], note if n_after else EMPTY
    return [Score(str(measure), label, value, share_before, "%", n_after, interval, better="lower", note=said)]


def note_of(one_history_each: bool, counts_people: bool) -> str:
    """Say what the share is of, where it is not simply of people."""
    if one_history_each:
        return ""
    return PER_HISTORY if counts_people else HISTORIES_COUNTED


def draw(profiles: Profiles, m: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw m distinct terms, or all where there are fewer, of every history that has any or of MOST_HISTORIES of these.

    Returns the histories, and for each a row of m term ids, ascending, with -1 before them where there are fewer.
    R. W. Floyd's way: the last m places of a row are gone through; at each, a place up to it is drawn, and where that
    is taken already the place itself joins. Every set is equally likely, and nothing is as long as the rows.
    """
    length = np.diff(profiles.indptr)
    histories = np.flatnonzero(length)
    if len(histories) > MOST_HISTORIES:
        histories = np.sort(rng.choice(histories, MOST_HISTORIES, replace=False, shuffle=False))
    length = length[histories]
    n_drawn = np.minimum(length, m)
    places = np.full((len(histories), m), -1, np.int64)
    for step in range(m):
        rows = np.flatnonzero(step < n_drawn)
        last = length[rows] - n_drawn[rows] + step
        place = rng.integers(0, last + 1)
        taken = (places[rows, :step] == place[:, None]).any(axis=1)
        places[rows, step] = np.where(taken, last, place)
    terms = np.full(places.shape, -1, np.int32)
    drawn = places >= 0
    terms[drawn] = profiles.ids[(profiles.indptr[histories][:, None] + places)[drawn]]
    terms.sort(axis=1)
    return histories, terms


def single_out(
    profiles: Profiles,
    owner: NDArray[np.int32],
    histories: NDArray[np.int64],
    combinations: NDArray[np.int32],
    *,
    progress: Progress = silent,
) -> NDArray[np.bool_]:
    """Say of every drawn combination whether its owner alone holds it; owners may stand in any order."""
    post_start, post_history = postings(profiles.indptr, profiles.ids, len(profiles.vocabulary))
    crowd = Crowd(profiles.indptr, profiles.ids, owner, post_start, post_history)
    parts = range(0, len(combinations), COMBINATIONS_PER_CALL)

    def part_from(start: int) -> NDArray[np.bool_]:
        end = start + COMBINATIONS_PER_CALL
        return find_alone(crowd, histories[start:end], combinations[start:end])

    alone = [np.zeros(0, np.bool_)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the kernel leaves Python's lock
        try:
            for part in pool.map(part_from, parts):
                alone.append(part)
                progress("counting who is singled out", len(alone), len(parts) + 1)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return np.concatenate(alone)


def _count_singled_out(
    profiles: Profiles, owner: NDArray[np.int32], m: int, rng: np.random.Generator, progress: Progress
) -> tuple[int, int]:
    """Return how many of the drawn combinations single their owner out, and how many were drawn."""
    histories, combinations = draw(profiles, m, rng)
    alone = single_out(profiles, owner, histories, combinations, progress=progress)
    return int(np.count_nonzero(alone)), len(alone)


def wilson(hits: float, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by E. B. Wilson's score, which holds near 0 and 1 too.

    Hits may be parts of one, such as a chance in ten: these vary less than hits and misses of the same sum.
    """
    share, spread = hits / trials, Z * Z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt((share * (1 - share) + spread / 4) / trials) / (1 + spread)
    # At the ends rounding would leave a hair's breadth outside the share itself.
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == trials else centre + half)
