"""From a log to a profile file: `user, term, weight`. It names people, so it is as secret as the log."""

from dataclasses import dataclass
from pathlib import Path

from queryveil.core.errors import InputError, OutputError
from queryveil.core.files import check_new_file, write_new_file
from queryveil.core.progress import Progress, silent
from queryveil.engines import open_log
from queryveil.histories.build import build
from queryveil.histories.profile_files import is_profile_file, profile_bytes
from queryveil.semantics.augmentation import weighted
from queryveil.workflows.requests import ProfilesRequest

_SUFFIXES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class WrittenProfiles:
    """A profile file and what it holds."""

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
    check_new_file(out, overwrite=request.force)
    if out.exists() and not is_profile_file(out):
        raise OutputError(f"{out} is not a profile file, so --force does not replace it; choose another name.")
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
    if weights != "paper":
        profiles = weighted(profiles, "counts" if weights == "counts" else "tfidf")
    write_new_file(out, profile_bytes(profiles, out), overwrite=request.force, mode=0o600)
    return WrittenProfiles(out, profiles.n_people, len(profiles.vocabulary), len(profiles.ids))
