"""Starting a run from what a run under a weaker guarantee kept.

Burghardt, Böhm, Guttman, Clifton 2010, section 5.2: (2,3) started from the result of (2,2). What the weaker guarantee
deleted is not looked at again, which saves time and may keep slightly less than a run from the whole log; how much is
in docs/decisions/0010. The result is verified like any other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import per_entry
from queryveil.histories.build import find_pairs
from queryveil.histories.profiles import Profiles
from queryveil.logs.options import Cleaning
from queryveil.release import private as privates
from queryveil.release.reader import Release, histories_of, load
from queryveil.workflows.running import method_of
from queryveil.workflows.verify import verify_release

# guarantee → its parameters, all of which make it stronger as they grow; the last is the one a sweep starts along
_GROWING = {"km": ("k", "m")}


def is_start(weaker: ResolvedName, bound: ResolvedName) -> bool:
    """Say whether a run may start from another's result: the same method, its guarantee no stronger."""
    growing = _growing(bound)
    return (
        bool(growing)
        and _without(weaker, growing) == _without(bound, growing)
        and all(weaker.integer(name) <= bound.integer(name) for name in growing)
    )


def chains(bounds: Iterable[ResolvedName]) -> list[list[ResolvedName]]:
    """Put the runs of a sweep into chains: each may start from the one before it.

    The runs of a chain differ in m alone, which grows. Along k too much would be lost to compare by (decision 0010).
    """
    found: dict[tuple[object, ...], list[ResolvedName]] = {}
    for bound in bounds:
        found.setdefault(_without(bound, _growing(bound)[-1:]), []).append(bound)
    return [
        sorted(chain, key=lambda bound: [bound.integer(name) for name in _growing(bound)]) for chain in found.values()
    ]


def _growing(bound: ResolvedName) -> tuple[str, ...]:
    return _GROWING.get(method_of(bound).guarantee, ())


def _without(bound: ResolvedName, names: Iterable[str]) -> tuple[object, ...]:
    """Return a method and its parameters but for some."""
    left_out = set(names)
    return bound.declaration.name, *(item for item in bound.values.items() if item[0] not in left_out)


@dataclass(frozen=True)
class Start:
    """A release of the same log under a weaker guarantee, checked, and the private folder that belongs to it."""

    release: Release
    private: Path

    def record(self) -> dict[str, str]:
        """Return what the run record says about it."""
        return {key: str(self.release.manifest[key]) for key in ("method", "content_sha256")}

    def mask(self, profiles: Profiles) -> NDArray[np.bool_]:
        """Return which pairs of the log's profiles the release holds."""
        self._refuse_another_log(profiles)
        released = histories_of(self.release.rows)
        _, history_of = privates.load_histories(self.private, released.users)
        number = {term: i for i, term in enumerate(profiles.vocabulary.entries)}
        terms = np.array([number[term] for term in released.terms], np.int64)
        mask = np.zeros(len(profiles.ids), np.bool_)
        history = per_entry(history_of, released.indptr)
        mask[find_pairs(profiles, history, terms[released.ids])] = True
        return mask

    def _refuse_another_log(self, profiles: Profiles) -> None:
        ours = privates.tables_of(profiles)
        theirs = privates.load_profiles(self.private)
        if not all(_same(a, b) for a, b in zip(ours, theirs, strict=True)):
            raise InputError(
                f"--start-from {self.release.path} is a release of another log: its private folder holds other "
                "histories; give a release of this log."
            )


def _same(ours: pa.Table, theirs: pa.Table) -> bool:
    return bool(ours.equals(theirs.select(ours.column_names)))


def open_start(
    place: Path,
    private: Path | None,
    bound: ResolvedName,
    kind: str,
    cleaning: Cleaning,
    *,
    progress: Progress = silent,
) -> Start:
    """Read and verify the release that a run is to start from, and refuse one that it cannot start from."""
    if private is None:
        raise InputError("--start-from needs that release's private folder; give it by --start-from-private.")
    release = load(place)
    where, manifest = f"--start-from {place}", release.manifest
    made_by = resolve("method", manifest["method"])
    if manifest["kind"] != kind:
        raise InputError(f"{where} is of kind {manifest['kind']}, not {kind}; start from a release of the same kind.")
    if not is_start(made_by, bound):
        raise InputError(f"{where} was made by {made_by}: {_why_not(made_by, bound)}")
    _refuse_other_cleaning(where, manifest["cleaning"]["options"], cleaning)
    verdict = verify_release(release, manifest["guarantee"], private, progress)
    if not verdict.holds:
        raise InputError(f"{where} cannot be relied on: {verdict.sentence()}")
    return Start(release, private)


def _why_not(made_by: ResolvedName, bound: ResolvedName) -> str:
    growing = _growing(bound)
    if not growing or _without(made_by, growing) != _without(bound, growing):
        return f"{bound} can start only from a release made in the same way, with k and m no larger."
    limits = " and ".join(f"{name} of at most {bound[name]}" for name in growing)
    return f"its guarantee is stronger than that of {bound}; start from a release with {limits}."


def _refuse_other_cleaning(where: str, theirs: dict[str, object], cleaning: Cleaning) -> None:
    ours = cleaning.as_record()
    different = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
    if different:
        raise InputError(
            f"{where}: its log was cleaned in another way ({', '.join(different)}); give the same options."
        )
