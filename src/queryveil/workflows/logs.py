"""What can be done with a log by itself: generate one, describe one, write its profiles to a file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.core.files import check_replaceable, write_new_file
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Rate, wilson
from queryveil.engines import LogSource, open_log
from queryveil.histories.build import build
from queryveil.histories.profile_files import is_profile_file, profile_bytes
from queryveil.histories.profiles import Profiles
from queryveil.logs.generate import GeneratedLog
from queryveil.logs.generate import generate as generate_log
from queryveil.semantics.augmentation import weighted
from queryveil.workflows.requests import GenerateRequest, ProfilesRequest

KNOWN = (1, 2, 3)  # terms of a person
_SUFFIXES = (".csv", ".tsv", ".parquet")  # of profile files
_BEGINNINGS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000)  # of classes of sizes


def generate(request: GenerateRequest, *, progress: Progress = silent) -> GeneratedLog:
    """Write a synthetic log and, if requested, a market table of its terms."""
    return generate_log(
        request.out,
        like=request.like,
        users=request.users,
        rng=np.random.default_rng(request.seed),
        market_out=request.market_out,
        overwrite=request.force,
        progress=progress,
    )


@dataclass(frozen=True, repr=False)
class WrittenProfiles(Brief):
    """A profile file and what it holds."""

    _shown = ("path", "people", "terms", "rows")
    path: Path
    people: int
    terms: int
    rows: int


def write_profiles(request: ProfilesRequest, *, progress: Progress = silent) -> WrittenProfiles:
    """Write everybody's terms with their weights into a file that appears whole or not at all."""
    source, out, weights = request.source, request.out, request.weighting.weights
    if out.suffix not in _SUFFIXES:
        raise InputError(f"{out}: a profile file ends in {', '.join(_SUFFIXES)}; name it so.")
    if source.cleaning.history != "user":
        raise InputError("a profile is of a person, so it goes with --history user; leave --history out.")
    check_replaceable(out, "a profile file", is_profile_file, overwrite=request.force)
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
    if weights != "paper":
        profiles = weighted(profiles, "counts" if weights == "counts" else "tfidf")
    write_new_file(out, profile_bytes(profiles, out), overwrite=request.force, mode=0o600)
    return WrittenProfiles(out, profiles.n_people, len(profiles.vocabulary), len(profiles.ids))


@dataclass(frozen=True)
class SizeClass:
    """How many things are of a size from `low` to `high`, and what share of all occurrences is theirs."""

    low: int
    high: int | None  # None: whatever is larger
    number: int
    share: float


@dataclass(frozen=True)
class SingledOut:
    """The share of histories that so many of their own random terms single out."""

    terms: int
    rate: Rate
    asked: int  # histories


@dataclass(frozen=True)
class Statistics:
    """A log in figures."""

    format: str
    has_times: bool
    queries: int
    people: int
    histories: int
    terms: int
    pairs: int  # of a person and a term
    occurrences: int
    steps: tuple[str, ...]  # what cleaning did
    holders: tuple[SizeClass, ...]  # terms by how many people hold them: the long tail
    sizes: tuple[SizeClass, ...]  # histories by how many terms they have
    singled_out: tuple[SingledOut, ...]

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self)


def describe(source: LogSource, *, progress: Progress = silent) -> Statistics:
    """Read and clean a log and say what is in it."""
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
        kind, has_times = log.format, log.has_times
        steps, queries = tuple(map(str, log.steps.values())), log.n_queries
    occurrences = np.asarray(np.bincount(profiles.ids, profiles.counts, len(profiles.vocabulary)), np.float64)
    lengths = np.diff(profiles.indptr)
    return Statistics(
        kind,
        has_times,
        queries,
        profiles.n_people,
        profiles.n_histories,
        len(profiles.vocabulary),
        len(profiles.ids),
        int(profiles.counts.sum()),
        steps,
        _classes(profiles.holder_counts(), occurrences),
        _classes(lengths, np.asarray(lengths, np.float64)),
        tuple(_singled_out(profiles, m, progress) for m in KNOWN),
    )


def _classes(sizes: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[SizeClass, ...]:
    """Sort sizes into classes, up to the largest that is met."""
    ends: Sequence[int | None] = (*(low - 1 for low in _BEGINNINGS[1:]), None)
    place = np.searchsorted(_BEGINNINGS, sizes, side="right") - 1
    numbers = np.bincount(place[place >= 0], minlength=len(_BEGINNINGS))
    shares = np.bincount(place[place >= 0], weights[place >= 0], len(_BEGINNINGS)) / max(1.0, float(weights.sum()))
    n_met = int(np.flatnonzero(numbers).max(initial=-1)) + 1
    rows = zip(_BEGINNINGS[:n_met], ends[:n_met], numbers[:n_met].tolist(), shares[:n_met].tolist(), strict=True)
    return tuple(SizeClass(*row) for row in rows)


def _singled_out(profiles: Profiles, m: int, progress: Progress) -> SingledOut:
    from queryveil.measures.privacy.unique import count_in_original  # imports numba, which generating does not need

    hits, asked = count_in_original(profiles, m, progress)
    share = hits / asked
    return SingledOut(m, Rate(share, *((share, share) if m == 1 else wilson(hits, asked))), asked)
