"""Searching an index: unpersonalised, as a group of a release, or, for the owner of the profiles, as a person."""

import difflib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from queryveil.core.errors import InputError, ReleaseError, UnknownNameError
from queryveil.core.evidence import ReleasedGroups
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.release import places
from queryveil.release.reader import load_release
from queryveil.search.answers import Answer, SearchOptions, answer, answer_uncompiled
from queryveil.search.index import Index, open_index
from queryveil.search.ranking import ProfileVector
from queryveil.workflows.requests import SearchRequest


class Searcher:
    """An index and the groups of a release, held in memory; any number of threads may search at once.

    It takes a group, never a person: whoever serves searches needs to know only which group somebody is in.
    """

    def __init__(self, index: str | Path, groups: str | Path | None = None) -> None:
        """Open an index, and the groups where they are given."""
        self.index = _open_index(Path(index))
        self._groups = None if groups is None else GroupProfiles(Path(groups), self.index)

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the groups that can be searched as."""
        return () if self._groups is None else self._groups.numbers

    def has_group(self, group: int) -> bool:
        """Return whether the release has the group."""
        return self._groups is not None and self._groups.has(group)

    def search(
        self,
        query: str,
        group: int | None = None,
        *,
        n: int = 10,
        depth: int = 100,
        blend: float = 0.0,
        explain: bool = False,
    ) -> Answer:
        """Return the best documents for a query: in the engine's own order, or in that of a group's profile.

        Of the engine's list `depth` documents are put in order; `blend` weighs the engine's own score, and `explain`
        says which terms moved a document.
        """
        profile = None if group is None else self._profile(group)
        return answer(self.index, query, profile, SearchOptions(n, depth, blend, explain))

    def _profile(self, group: int) -> ProfileVector:
        if self._groups is None:
            raise InputError("a group is one of a release; give the release as groups.")
        return self._groups.profile(group)


class GroupProfiles:
    """The groups of a release as profile vectors, computed on first use and cached."""

    def __init__(self, path: Path, index: Index) -> None:
        self._path = path
        self._index = index
        self._released = _load_groups(path)
        self.numbers: tuple[int, ...] = tuple(self._released.groups.tolist())
        self._profiles: dict[int, ProfileVector] = {}

    def has(self, group: int) -> bool:
        """Return whether the release has the group."""
        return group in self._profiles or self._row(group) is not None

    def profile(self, group: int) -> ProfileVector:
        """Return the profile of a group; the error for an unknown group names the nearest ones."""
        found = self._profiles.get(group)
        if found is None:  # threads may race here, but they compute the same vector
            found = self._profiles[group] = self._vector(group)
        return found

    def _vector(self, group: int) -> ProfileVector:
        released, row = self._released, self._row(group)
        if row is None:
            raise UnknownNameError(f"{self._path} has no group {group}; {nearest_numbers(group, self.numbers)}")
        entries = slice(released.indptr[row], released.indptr[row + 1])
        terms = [released.terms[number] for number in released.ids[entries].tolist()]
        return self._index.vector(terms, released.weights[entries].tolist())

    def _row(self, group: int) -> int | None:
        groups = self._released.groups
        row = int(np.searchsorted(groups, group))
        return row if row < len(groups) and groups[row] == group else None


def search(request: SearchRequest) -> Answer:
    """Answer one query; for many, a `Searcher` is faster."""
    options = SearchOptions(request.n, request.depth, request.blend, request.explain)
    index = _open_index(request.index)
    return answer_uncompiled(index, request.query, _requested_profile(request, index), options)


def _requested_profile(request: SearchRequest, index: Index) -> ProfileVector | None:
    """Return the profile of the requested group or person; None if the search is not personalised."""
    if request.group is not None and request.groups is not None:
        return GroupProfiles(request.groups, index).profile(request.group)
    if request.person is not None and request.profiles is not None:
        return _load_profile(index, request.person, request.profiles)
    return None


def _load_profile(index: Index, person: str, path: Path) -> ProfileVector:
    """Return a person's profile from a profile file."""
    if not path.exists():
        raise InputError(f"there is no file {path}; check --profiles.")
    if not is_profile_file(path):
        raise InputError(f"{path} is no profile file (user, term, weight); queryveil profiles writes one.")
    people = read_profiles(path)
    if person not in people.persons:
        near = difflib.get_close_matches(person, people.persons, n=3, cutoff=0.0)
        raise UnknownNameError(f"{path} has no user {person!r}; the nearest are {', '.join(near)}.")
    history = people.persons.index(person)
    row = slice(people.indptr[history], people.indptr[history + 1])
    terms = [people.vocabulary[entry] for entry in people.ids[row].tolist()]
    weights = np.ones(len(terms)) if people.weights is None else people.weights[row]
    return index.vector(terms, weights.tolist())


def _open_index(path: Path) -> Index:
    """Open an index, recovering it first if a killed run had moved it aside."""
    if not path.exists() and path.parent.is_dir():
        places.sweep(path.parent)
    return open_index(path)


def _load_groups(path: Path) -> ReleasedGroups:
    release = load_release(path)
    groups = release.kind.read_evidence(release.rows, None, 1).find(ReleasedGroups)
    if groups is None:
        raise ReleaseError(f"{path} is a release of {release.manifest.kind}, not of groups; make one with linkability.")
    if release.faults:
        raise ReleaseError(f"{path} is not as it was released: {release.faults[0]}; get it anew.")
    return groups


def nearest_numbers(wanted: int, known: Iterable[int]) -> str:
    """Return a clause that names the three numbers nearest to an unknown one."""
    near = sorted(known, key=lambda number: (abs(number - wanted), number))[:3]
    return f"the nearest are {', '.join(map(str, sorted(near)))}."
