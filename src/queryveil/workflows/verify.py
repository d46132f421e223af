"""Verifying a release, ours or anybody's file, with code that shares nothing with the methods."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import InputError, ReleaseError
from queryveil.release import private as privates
from queryveil.release.reader import Release, ReleasedHistories, histories_of, load
from queryveil.spec import Name, resolve
from queryveil.types import Progress, Verdict, silent


def verify(
    release: Path | Any,
    *,
    claim: str | Name | None = None,
    private: Path | None = None,
    reading: Any = None,
    progress: Progress = silent,
) -> Verdict:
    """Say whether a release keeps what it claims; a file that is no release of ours needs a claim."""
    if isinstance(release, Path) and release.is_dir():
        loaded = load(release)
        return _verify_release(loaded, claim or loaded.manifest["guarantee"], private, progress)
    if isinstance(release, Path) and not release.exists():
        raise ReleaseError(f"there is no release {release}; check the path.")
    if claim is None:
        raise InputError(
            "a file that is not a queryveil release claims nothing by itself; name a guarantee by --claim."
        )
    if private is not None:
        raise InputError("--private goes with a queryveil release, not with another file; leave it out.")
    return _verify_file(release, claim, reading, progress)


def _verify_release(release: Release, claim: str | Name, private: Path | None, progress: Progress) -> Verdict:
    if private is None:
        return check_release(release, claim, progress=progress)
    released = histories_of(release.rows)
    people, history_of = privates.load_histories(private, released.users)
    faults = (*release.faults, *_invented(private, released, history_of))
    return check_release(
        Release(release.path, release.manifest, release.rows, faults), claim, people=people, progress=progress
    )


def check_release(
    release: Release, claim: str | Name, *, people: NDArray[np.int32] | None = None, progress: Progress = silent
) -> Verdict:
    """Check a claim on the rows of a release; `people` tells who is behind each released history."""
    verdict = check_histories(histories_of(release.rows), claim, people, progress)
    if not release.faults:
        return verdict
    return Verdict(
        verdict.claim,
        "violated",
        verdict.counted,
        verdict.checked,
        verdict.violations,
        verdict.counterexample,
        "; ".join(release.faults),
    )


def check_histories(
    released: ReleasedHistories, claim: str | Name, people: NDArray[np.int32] | None, progress: Progress
) -> Verdict:
    """Run the verifier of the claimed guarantee on histories × terms."""
    bound = resolve("guarantee", claim)
    owner = np.arange(len(released.users), dtype=np.int32) if people is None else people
    checker = bound.declaration.load()
    verdict: Verdict = checker(
        bound,
        released.indptr,
        released.ids,
        owner,
        released.terms,
        counted="histories" if people is None else "people",
        partition=released.partition,
        progress=progress,
    )
    return verdict


def _invented(private: Path, released: ReleasedHistories, history_of: NDArray[np.int64]) -> list[str]:
    """Find released terms that the history behind them never held."""
    import pyarrow as pa

    _, pairs = privates.load_profiles(private)
    number = pa.array(released.terms, pa.string())
    term = pairs["term"].combine_chunks()
    known = np.array(pa.compute.index_in(term, number).fill_null(-1).to_pylist(), np.int64)
    history = np.array(pairs["history"].to_pylist(), np.int64)
    true = history[known >= 0] * len(number) + known[known >= 0]
    rows = np.repeat(history_of, np.diff(released.indptr))
    n_invented = np.count_nonzero(~np.isin(rows * len(number) + released.ids, true))
    return [f"{n_invented:,} released terms were never in the history behind them"] if n_invented else []


def _verify_file(file: Path | Any, claim: str | Name, reading: Any, progress: Progress) -> Verdict:
    """Read anybody's file as it stands and check the claim on it, every user being one history."""
    from queryveil.engines import LogSource, open_log
    from queryveil.histories.build import build
    from queryveil.logs.options import Cleaning, Reading

    as_it_stands = Cleaning(scrub=False, duplicates="keep", bots=0)
    reading = reading or Reading()
    is_path = isinstance(file, Path)
    source = LogSource((file,) if is_path else (), reading, as_it_stands, table=None if is_path else file)
    with open_log(source, progress=progress) as log:
        profiles = build(log, unit="entry" if log.has_single_terms else "term", progress=progress)
    released = ReleasedHistories(
        np.arange(profiles.n_histories),
        profiles.indptr,
        profiles.ids,
        profiles.counts,
        profiles.vocabulary.entries,
        None,
    )
    return check_histories(released, claim, None, progress)
