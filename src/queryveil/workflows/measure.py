"""Measuring a release against the log it was made from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil.engines import LogSource, open_log
from queryveil.errors import InputError
from queryveil.histories.build import build, ranked
from queryveil.logs.options import Cleaning, Reading
from queryveil.measures.base import Comparison
from queryveil.release import private as privates
from queryveil.release.reader import Release, histories_of, load
from queryveil.spec import Name, declarations, resolve
from queryveil.types import Profiles, Progress, Score, Vocabulary, silent

DEFAULT = ("retention", "unique(m=1)", "unique(m=2)", "unique(m=3)")


def measure(
    release: Path,
    against: Sequence[Path],
    *,
    measures: Sequence[str | Name] = DEFAULT,
    private: Path | None = None,
    reading: Reading = Reading(),
    seed: int = 0,
    progress: Progress = silent,
) -> list[Score]:
    """Score a release; the log is cleaned in the way that the release's manifest says."""
    for name in measures:
        resolve("measure", name)
    loaded = load(release)
    if loaded.faults:
        raise InputError(f"{release}: {loaded.faults[0]}; verify the release before measuring it.")
    cleaning = Cleaning.from_record(loaded.manifest["cleaning"]["options"])
    with open_log(LogSource(tuple(against), reading, cleaning), progress=progress) as log:
        original = build(log, progress=progress)
    people = history_of = None
    if private is not None:
        people, history_of = privates.load_histories(private, histories_of(loaded.rows).users)
    comparison = Comparison(loaded.kind, original, released_profiles(loaded, people), history_of)
    return score(comparison, measures, np.random.default_rng(seed), progress)


def released_profiles(release: Release, people: NDArray[np.int32] | None) -> Profiles:
    """Return a release as profiles in the reference order; without `people` each history is its own."""
    released = histories_of(release.rows)
    n_histories = len(released.users)
    owner = np.arange(n_histories, dtype=np.int32) if people is None else people
    persons = tuple(str(number) for number in range(int(owner.max(initial=-1)) + 1))
    return ranked(Profiles(Vocabulary(released.terms), released.indptr, released.ids, released.counts, owner, persons))


def score(
    comparison: Comparison, measures: Sequence[str | Name], rng: np.random.Generator, progress: Progress
) -> list[Score]:
    """Compute every measure asked for."""
    scores: list[Score] = []
    for number, name in enumerate(measures):
        progress("measuring", number, len(measures))
        bound = resolve("measure", name)
        scores += declarations("measure")[bound.declaration.name].load()(comparison, bound, rng=rng, progress=progress)
    progress("measuring", len(measures), len(measures))
    return scores
