"""The people behind a release of groups, for its owner: everybody's own profile, and the group each is in."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import UnknownNameError
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import load_release
from queryveil.search.index import Index
from queryveil.search.ranking import ProfileVector


class People:
    """Who was grouped, by numbers from 0 in the order of the private folder, which alone says who they are."""

    def __init__(self, release: Path, private: Path) -> None:
        """Read a release and the private folder that belongs to it."""
        loaded, folder = load_release(release), PrivateFolder(private)
        folder.check_belongs(loaded.manifest.content_sha256)
        evidence = loaded.kind.read_evidence(loaded.rows, folder, loaded.manifest.floor)
        self._released, self._members = evidence.get(ReleasedGroups), evidence.get(GroupMembers)

    def __len__(self) -> int:
        return len(self._members.group)

    @property
    def n_terms(self) -> NDArray[np.int64]:
        """Return how many terms everybody's profile has."""
        return np.diff(self._members.indptr)

    def group(self, person: int) -> int | None:
        """Return the group of a person; None of one who is in no published group."""
        self._check(person)
        place = int(self._members.group[person])
        return None if place < 0 else int(self._released.groups[place])

    def profile(self, person: int, index: Index) -> ProfileVector:
        """Return a person's own profile over the terms of an index."""
        self._check(person)
        members = self._members
        row = slice(members.indptr[person], members.indptr[person + 1])
        return index.vector([members.terms[i] for i in members.ids[row].tolist()], members.weights[row].tolist())

    def longest(self, n: int) -> list[int]:
        """Return the people with the longest profiles, of every group one; ties by number."""
        found: dict[int, int] = {}
        for person in np.argsort(-self.n_terms, kind="stable").tolist():
            group = int(self._members.group[person])
            if group >= 0:
                found.setdefault(group, person)
            if len(found) == n:
                break
        return list(found.values())

    def _check(self, person: int) -> None:
        if not 0 <= person < len(self):
            raise UnknownNameError(f"there are {len(self):,} people, numbered from 1; choose one of them.")
