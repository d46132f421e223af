"""Building on an earlier release: starting from one under a weaker guarantee, or extending the groups of one.

Burghardt, Böhm, Guttman, Clifton 2010, section 5.2, start (2,3) from the result of (2,2). What the weaker guarantee
deleted is not considered again, which saves time and may keep slightly less than a run from the whole log (decision
0010). The result is verified like any other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.evidence import ReleasedGroups, ReleasedHistories, Views
from queryveil.core.files import Folder, folder_of
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.options import Place
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, FloatArray, IntArray
from queryveil.guarantees import guarantee_of
from queryveil.histories.build import locate_pairs
from queryveil.histories.outcomes import Grouping, KeptPairs, Outcome, PreviousGroups
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Kind, ReleaseContent
from queryveil.kinds.private_folder import PrivateFolder, owner_tables, profile_tables, write_contributors
from queryveil.logs.options import CleaningOptions
from queryveil.methods.base import method_of
from queryveil.release.reader import Release, load_release
from queryveil.release.verification import collect_evidence, verify_claim
from queryveil.workflows.inputs import MethodInput


def may_start_from(weaker: ResolvedName, method: ResolvedName) -> bool:
    """Return whether a run may start from another's result: the same method, its guarantee no stronger."""
    growing = strength_parameters(method)
    if not growing or without_parameters(weaker, growing) != without_parameters(method, growing):
        return False
    claim = method_of(method).claim(method)
    return guarantee_of(claim).is_no_stronger(method_of(weaker).claim(weaker), claim)


def strength_parameters(method: ResolvedName) -> tuple[str, ...]:
    """Return the parameters that make the claim stronger, where the method can start from a weaker release."""
    declared = method_of(method)
    if "weaker_release" not in declared.inputs:
        return ()
    return tuple(guarantee_of(declared.claim(method)).stronger_when)


def without_parameters(method: ResolvedName, names: Iterable[str]) -> tuple[object, ...]:
    """Return a method's name and its parameters except some."""
    left_out = set(names)
    return method.declaration.name, *(item for item in method.values.items() if item[0] not in left_out)


@dataclass(frozen=True)
class WeakerRelease:
    """A verified release of the same log under a weaker guarantee, with its private folder."""

    release: Release
    private: PrivateFolder

    def mask(self, profiles: Profiles) -> BoolArray:
        """Return which pairs of the log's profiles the release holds."""
        tables = map(pa.concat_tables, (owner_tables(profiles), profile_tables(profiles)))
        for ours, theirs in zip(tables, self.private.profiles(), strict=True):
            if not ours.equals(theirs.select(ours.column_names)):
                raise InputError(
                    f"--start-from {self.release.path} is a release of another log: its private folder holds other "
                    "histories; give a release of this log."
                )
        evidence = self.release.kind.read_evidence(self.release.rows, None, 1)
        released = evidence.get(ReleasedHistories)
        _, history_of = self.private.owners(released.users)
        number = {term: i for i, term in enumerate(profiles.vocabulary)}
        terms = np.array([number[term] for term in released.terms], np.int64)
        mask = np.zeros(len(profiles.ids), np.bool_)
        mask[locate_pairs(profiles, np.repeat(history_of, np.diff(released.indptr)), terms[released.ids])] = True
        return mask


def open_weaker_release(
    place: Place,
    private: Place | None,
    method: ResolvedName,
    kind: Kind,
    cleaning: CleaningOptions,
    progress: Progress = silent,
) -> WeakerRelease:
    """Read and verify the release that a run is to start from, and refuse one that it cannot start from."""
    if private is None:
        raise InputError("--start-from needs that release's private folder; give it by --start-from-private.")
    release, folder = load_release(folder_of(place)), PrivateFolder(folder_of(private))
    where, manifest = f"--start-from {place}", release.manifest
    made_by = resolve("method", manifest.method)
    if release.kind != kind:
        raise InputError(f"{where} is of kind {manifest.kind}, not {kind.name}; start from a release of the same kind.")
    if not may_start_from(made_by, method):
        growing = strength_parameters(method)
        reason = f"{method} can start only from a release made in the same way, with k and m no larger."
        if growing and without_parameters(made_by, growing) == without_parameters(method, growing):
            limits = " and ".join(f"{name} of at most {method[name]}" for name in growing)
            reason = f"its guarantee is stronger than that of {method}; start from a release with {limits}."
        raise InputError(f"{where} was made by {made_by}: {reason}")
    ours, theirs = cleaning.as_record(), manifest.cleaning.options
    different = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
    if different:
        raise InputError(
            f"{where}: its log was cleaned in another way ({', '.join(different)}); give the same options."
        )
    evidence, faults = collect_evidence(release, folder)
    verdict = verify_claim(manifest.claim, kind, evidence, faults=faults, progress=progress)
    if not verdict.holds:
        raise InputError(f"{where} cannot be relied on: {verdict.sentence()}")
    return WeakerRelease(release, folder)


class WeakerReleaseInput(MethodInput):
    """A release of the same log under a weaker guarantee, from which the run starts."""

    def __post_init__(self) -> None:
        """Read and verify the release."""
        place, private = self.request.start_from, self.request.start_from_private
        if place is None:
            raise InputError("--start-from-private goes with --start-from; give that too, or leave it out.")
        cleaning = self.request.source.cleaning
        self._weaker = open_weaker_release(place, private, self.method, self.kind, cleaning, self.progress)
        manifest = self._weaker.release.manifest
        self.record = {"start_from": {"method": manifest.method, "content_sha256": manifest.content_sha256}}

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add the pairs that the weaker release kept."""
        mask = self._weaker.mask(profiles)
        views.add(KeptPairs, lambda: KeptPairs(mask))
        return profiles


@dataclass(frozen=True, eq=False)
class EarlierGroups:
    """An earlier release of groups: everybody's group, and whose terms are in what was published."""

    group_of: Mapping[str, int]  # person → number of the group
    contributors: Mapping[str, int]  # person → number of the group in whose published terms the person's are
    indptr: IntArray
    terms: tuple[str, ...]  # of every published row
    weights: FloatArray

    def over(self, profiles: Profiles) -> PreviousGroups:
        """Return the groups over the people and terms of today."""
        number = {entry: i for i, entry in enumerate(profiles.vocabulary)}
        today = set(profiles.persons)
        left = [group for person, group in self.contributors.items() if person not in today]
        return PreviousGroups(
            np.array([self.group_of.get(person, -1) for person in profiles.persons], np.int32),
            np.array([self.contributors.get(person, -1) for person in profiles.persons], np.int32),
            np.bincount(np.array(left, np.int64), minlength=len(self.indptr) - 1),
            self.indptr,
            np.array([number.get(term, -1) for term in self.terms], np.int32),
            self.weights,
        )


def contributors(
    profiles: Profiles, made: Grouping, release_ids: IntArray, earlier: EarlierGroups | None
) -> tuple[list[str], IntArray]:
    """Return everybody whose terms are in what is published, and the release id of that group."""
    if earlier is None or made.contributors is None or made.inherited is None:
        is_in = release_ids >= 0
        return list(compress(profiles.persons, is_in)), release_ids[is_in]
    id_of = dict(zip(made.group.tolist(), release_ids.tolist(), strict=True))  # by any member of each group
    people = zip(profiles.persons, made.contributors.tolist(), strict=True)
    found = {person: id_of[group] for person, group in people if group >= 0}
    today = set(profiles.persons)
    gone = [(person, made.inherited[group]) for person, group in earlier.contributors.items() if person not in today]
    found |= {person: id_of[group] for person, group in gone if group >= 0}
    return list(found), np.array(list(found.values()), np.int64)


def open_earlier_groups(release: Place, private: Place | None, kind: Kind, claim: ResolvedName) -> EarlierGroups:
    """Read an earlier release of groups and its private folder, if they were made under the same guarantee."""
    if private is None:
        raise InputError("--groups needs the private folder of that release; give it by --groups-private.")
    loaded, folder = load_release(folder_of(release)), PrivateFolder(folder_of(private))
    if loaded.kind != kind:
        raise InputError(f"--groups: {release} holds no groups but {loaded.manifest.kind}; give a release of groups.")
    if loaded.faults:
        raise InputError(f"--groups: {release}: {loaded.faults[0]}; verify that release first.")
    if loaded.manifest.guarantee != str(claim):
        raise InputError(
            f"--groups: {release} was made under {loaded.manifest.guarantee}, not {claim}; "
            "take the same guarantee, or begin anew without --groups."
        )
    folder.check_belongs(loaded.manifest.content_sha256)
    groups = kind.read_evidence(loaded.rows, None, 1).get(ReleasedGroups)
    number = {int(group): i for i, group in enumerate(groups.groups)}
    membership = folder.membership()
    pairs = zip(membership["person"].to_pylist(), membership["release_id"].to_pylist(), strict=True)
    return EarlierGroups(
        {person: number[group] for person, group in pairs if group is not None and group in number},
        {person: number[group] for person, group in folder.contributors().items() if group in number},
        groups.indptr,
        tuple(groups.terms[i] for i in groups.ids),
        groups.weights,
    )


class PreviousGroupsInput(MethodInput):
    """An earlier release of groups that is extended; nobody moves without need."""

    def __post_init__(self) -> None:
        """Read the earlier release."""
        request = self.request
        self._earlier: EarlierGroups | None = None
        if request.groups is not None:
            claim = method_of(self.method).claim(self.method)
            self._earlier = open_earlier_groups(request.groups, request.groups_private, self.kind, claim)
        elif request.groups_private is not None:
            raise InputError("--groups-private goes with --groups; give that too, or leave it out.")

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add the earlier groups over today's people and terms."""
        earlier = self._earlier
        if earlier is not None:
            if earlier.group_of.keys().isdisjoint(profiles.persons):
                raise InputError(
                    f"--groups: nobody of {self.request.groups} is in this log; give a later log of the same people, "
                    "or begin anew without --groups."
                )
            views.add(PreviousGroups, lambda: earlier.over(profiles))
        return profiles

    def write_private(self, folder: Folder, profiles: Profiles, outcome: Outcome, content: ReleaseContent) -> None:
        """Write whose terms are in what is published, which a later run that extends the groups must know."""
        if isinstance(outcome, Grouping):
            people, groups = contributors(profiles, outcome, content.release_ids, self._earlier)
            write_contributors(folder, people, groups, content.frozen)
