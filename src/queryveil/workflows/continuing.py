"""Groups that go on: an older release of groups, with its private folder, set against the people of today."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability.later import Before, Continued
from queryveil.release import private as privates
from queryveil.release.groups import groups_of
from queryveil.release.reader import load


@dataclass(frozen=True, eq=False)
class Older:
    """An older release of groups: where everybody was, and whose terms are in what was published."""

    group_of: dict[str, int]  # person → place of the group
    counted: dict[str, int]  # person → place of the group whose published terms the person's are among
    indptr: NDArray[np.int64]
    terms: list[str]  # of every published row
    weights: NDArray[np.float64]

    def before(self, profiles: Profiles) -> Before:
        """Return the older groups over the people and terms of today."""
        number = {entry: i for i, entry in enumerate(profiles.vocabulary.entries)}
        today = set(profiles.persons)
        left = [group for person, group in self.counted.items() if person not in today]
        return Before(
            np.array([self.group_of.get(person, -1) for person in profiles.persons], np.int32),
            np.array([self.counted.get(person, -1) for person in profiles.persons], np.int32),
            np.bincount(np.array(left, np.int64), minlength=len(self.indptr) - 1),
            self.indptr,
            np.array([number.get(term, -1) for term in self.terms], np.int32),
            self.weights,
        )

    def counted_now(self, profiles: Profiles, made: Continued, release_id: NDArray[np.int64]) -> dict[str, int]:
        """Return, for everybody whose terms are in what is published now, the released id of that group."""
        id_of = dict(zip(made.grouped.group.tolist(), release_id.tolist(), strict=True))  # by a member of each
        people = zip(profiles.persons, made.counted.tolist(), strict=True)
        counted = {person: id_of[group] for person, group in people if group >= 0}
        today = set(profiles.persons)
        gone = [(person, group) for person, group in self.counted.items() if person not in today]
        return counted | {person: id_of[made.number[group]] for person, group in gone if made.number[group] >= 0}


def open_older(release: Path, private: Path | None, claim: ResolvedName) -> Older:
    """Read an older release of groups and its private folder, if they were made under the same guarantee."""
    if private is None:
        raise InputError("--groups needs the private folder of that release; give it by --groups-private.")
    loaded = load(release)
    if loaded.kind != "groups":
        raise InputError(f"--groups: {release} holds no groups but {loaded.kind}; give a release of groups.")
    if loaded.faults:
        raise InputError(f"--groups: {release}: {loaded.faults[0]}; verify that release first.")
    if loaded.manifest["guarantee"] != str(claim):
        raise InputError(
            f"--groups: {release} was made under {loaded.manifest['guarantee']}, not {claim}; "
            "take the same guarantee, or begin anew without --groups."
        )
    privates.check_belongs(private, loaded.manifest["content_sha256"])
    groups = groups_of(loaded.rows)
    place = {int(group): i for i, group in enumerate(groups.groups)}
    membership = privates.load_membership(private)
    return Older(
        _places(membership["person"], membership["release_id"], place),
        {person: place[group] for person, group in privates.load_counted(private).items() if group in place},
        groups.indptr,
        [groups.terms[i] for i in groups.ids],
        groups.weights,
    )


def _places(person: pa.ChunkedArray, release_id: pa.ChunkedArray, place: dict[int, int]) -> dict[str, int]:
    pairs = zip(person.to_pylist(), release_id.to_pylist(), strict=True)
    return {who: place[group] for who, group in pairs if group is not None and group in place}
