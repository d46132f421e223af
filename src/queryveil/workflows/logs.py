"""What can be done with a log by itself: generate one, or write its profiles to a file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.core.files import check_replaceable, write_new_file
from queryveil.core.progress import Progress, silent
from queryveil.engines import open_log
from queryveil.histories.build import build
from queryveil.histories.profile_files import is_profile_file, profile_bytes
from queryveil.logs.generate import GeneratedLog
from queryveil.logs.generate import generate as generate_log
from queryveil.semantics.augmentation import weighted
from queryveil.workflows.requests import GenerateRequest, ProfilesRequest

_SUFFIXES = (".csv", ".tsv", ".parquet")  # of profile files


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
