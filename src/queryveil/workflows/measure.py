"""Measuring a release against the log it was made from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.engines import LogSource, open_log
from queryveil.errors import InputError
from queryveil.histories.build import assemble, build
from queryveil.logs.options import Cleaning, Reading
from queryveil.market.table import Market, read_market
from queryveil.measures import NEEDS_MARKET, Measure
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import coverage
from queryveil.release import private as privates
from queryveil.release.groups import groups_of, load_members
from queryveil.release.reader import Release, histories_of, load
from queryveil.spec import Bound, Name, declarations, resolve
from queryveil.types import Members, Profiles, Progress, ReleasedGroups, Score, silent


def measure(
    release: Path,
    against: Sequence[Path],
    *,
    measures: Sequence[str | Name] = (),
    private: Path | None = None,
    market: Path | None = None,
    reading: Reading = Reading(),
    seed: int = 0,
    progress: Progress = silent,
) -> list[Score]:
    """Score a release; the log is cleaned in the way that the release's manifest says."""
    for name in measures:
        resolve("measure", name)  # a mistyped name is told before anything is read
    loaded = load(release)
    measures = measures or _usual(loaded, market is not None)
    for name in measures:
        check_measure(resolve("measure", name), market is not None, loaded.kind)
    if loaded.faults:
        raise InputError(f"{release}: {loaded.faults[0]}; verify the release before measuring it.")
    if loaded.kind == "groups":
        return _measure_groups(loaded, measures, private, seed, progress)
    cleaning = Cleaning.from_record(loaded.manifest["cleaning"]["options"])
    worths = None if market is None else read_market(market, cleaning.charset)
    with open_log(LogSource(tuple(against), reading, cleaning), progress=progress) as log:
        original = build(log, progress=progress)
    if worths is not None:
        coverage(original, worths)
    people = history_of = None
    if private is not None:
        privates.check_belongs(private, loaded.manifest["content_sha256"])
        people, history_of = privates.load_histories(private, histories_of(loaded.rows).users)
        if privates.load_run(private).get("engine") == "spark":  # where nobody knows who stands first in the log
            history_of = privates.places_in(original, private)[history_of]
    comparison = set_beside(original, loaded, people, history_of, market=worths)
    return score(comparison, measures, np.random.default_rng(seed), progress)


def default_measures(has_market: bool) -> tuple[str, ...]:
    """Return what is measured unless something is asked for."""
    return ("retention", *(("market",) if has_market else ()), "unique(m=1)", "unique(m=2)", "unique(m=3)")


def _usual(release: Release, has_market: bool) -> tuple[str, ...]:
    """Return what is measured of a release unless something is asked for."""
    if release.kind != "groups":
        return default_measures(has_market)
    bound = resolve("guarantee", release.manifest["guarantee"])
    return (f"linkability(p={bound['p']})",)


def _measure_groups(
    release: Release, measures: Sequence[str | Name], private: Path | None, seed: int, progress: Progress
) -> list[Score]:
    """Score a release of groups against the profiles in its private folder."""
    if private is None:
        raise InputError(
            f"{release.path} holds groups, and who is in them stands in the private folder; give --private."
        )
    privates.check_belongs(private, release.manifest["content_sha256"])
    released = groups_of(release.rows)
    members, _ = load_members(private, released)
    return score_groups(released, members, measures, np.random.default_rng(seed), progress)


def score_groups(
    released: ReleasedGroups,
    members: Members,
    measures: Sequence[str | Name],
    rng: np.random.Generator,
    progress: Progress,
) -> list[Score]:
    """Compute every measure asked for of a release of groups."""
    scores: list[Score] = []
    for number, name in enumerate(measures):
        progress("measuring", number, len(measures))
        bound = resolve("measure", name)
        scores += bound.declaration.load()(released, members, bound, rng=rng, progress=progress)
    return scores


def check_measure(bound: Bound, has_market: bool, kind: str = "histories") -> None:
    """Refuse a measure that cannot be taken of a kind of release, and one of market value without a market table."""
    declared = bound.declaration
    if isinstance(declared, Measure) and kind not in declared.kinds:
        raise InputError(
            f"the measure {bound} is of releases of kind {' or '.join(declared.kinds)}, not {kind}; "
            "queryveil list measures names others."
        )
    if isinstance(declared, Measure) and declared.needs_market and not has_market:
        raise InputError(NEEDS_MARKET.format(bound))


def set_beside(
    original: Profiles,
    release: Release,
    people: NDArray[np.int32] | None,
    history_of: NDArray[np.int64] | None,
    *,
    market: Market | None = None,
) -> Comparison:
    """Set a release beside its original; without `people` each released history is a person of its own."""
    released = histories_of(release.rows)
    history = np.repeat(np.arange(len(released.users), dtype=np.int32), np.diff(released.indptr))
    owner = np.arange(len(released.users), dtype=np.int32) if people is None else people
    occurrences = np.repeat(np.arange(len(history)), released.counts)
    profiles = assemble(
        history[occurrences],
        released.ids[occurrences],
        pa.array(released.terms, pa.large_string()),
        owner,
        tuple(map(str, range(int(owner.max(initial=-1)) + 1))),
    )
    behind = None if history_of is None else history_of[profiles.log_history]
    return Comparison(release.kind, original, profiles, behind, market)


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
