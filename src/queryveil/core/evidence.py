"""What verifiers, measures and attacks look at: the decoded release and, where it is available, the private side."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InternalError
from queryveil.core.rows import row_numbers, row_sums

View = TypeVar("View")


class Views:
    """A container of objects by type; an object with a provider is built on first use and cached."""

    def __init__(self, providers: Mapping[type[Any], Callable[[], Any]] | None = None) -> None:
        self._providers = dict(providers or {})
        self._views: dict[type[Any], Any] = {}

    @classmethod
    def of(cls, *views: object) -> Self:
        """Return a container of objects that exist already."""
        container = cls()
        container._views = {type(view): view for view in views}
        return container

    def add(self, view: type[View], provider: Callable[[], View]) -> None:
        """Register a provider, which builds an object."""
        self._providers[view] = provider

    def remove(self, view: type[Any]) -> None:
        """Remove an object or its provider."""
        self._providers.pop(view, None)
        self._views.pop(view, None)

    def existing(self) -> tuple[object, ...]:
        """Return all objects; those not used yet are built."""
        return tuple(filter(None, (self.find(view) for view in {**self._views, **self._providers})))

    def find(self, view: type[View]) -> View | None:
        """Return the object of a type, or None if there is none."""
        if view not in self._views:
            if view not in self._providers:
                return None
            self._views[view] = self._providers[view]()
        found: View = self._views[view]
        return found

    def get(self, view: type[View]) -> View:
        """Return the object of a type, which must exist."""
        found = self.find(view)
        if found is None:
            raise InternalError(f"there is no {view.__name__} to look at; please report this.")
        return found


class Evidence(Views):
    """Everything that a verifier, measure or attack may look at: the decoded release and, if available, private data.

    `evidence.get(ReleasedHistories)` returns the decoded rows; `evidence.find(GroupMembers)` returns who is in which
    group, or None without the private folder. Kinds of release and workflows say which views there are.
    """


@dataclass(frozen=True, eq=False)
class ReleasedHistories:
    """The histories of a release over numbered terms (or whole queries, see `unit`)."""

    users: NDArray[np.int64]  # (histories,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,): ascending and unique within a history
    counts: NDArray[np.int32]  # (pairs,): occurrences where the kind has them, else 1
    terms: tuple[str, ...]
    partition: NDArray[np.int32] | None  # (histories,)
    unit: Literal["term", "query"] = "term"  # what an item is


@dataclass(frozen=True, eq=False)
class Owners:
    """Who is behind every released history, from the private folder."""

    person: NDArray[np.int32]  # (released histories,): a number for each person
    history: NDArray[np.int64]  # (released histories,): the original history
    holders: Callable[[], Mapping[str, int]]  # how many people of the whole log hold each term


@dataclass(frozen=True)
class Floor:
    """How many people of the whole log must hold every published item."""

    people: int = 1


@dataclass(frozen=True, eq=False)
class ReleasedVocabularies:
    """The vocabularies of a release over numbered terms."""

    users: NDArray[np.int64]  # (histories,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (rows,): ascending within a history, then by level
    counts: NDArray[np.int32]  # (rows,)
    levels: NDArray[np.int32]  # (rows,)
    terms: tuple[str, ...]  # in the order of the texts

    def number_equal(self) -> NDArray[np.int64]:
        """Return a number for every history, by first occurrence; equal vocabularies have the same number."""
        rows = np.stack((self.ids, self.counts, self.levels), axis=1)
        numbers: dict[bytes, int] = {}
        found = [numbers.setdefault(rows[begin:end].tobytes(), len(numbers)) for begin, end in pairwise(self.indptr)]
        return np.array(found, np.int64)


@dataclass(frozen=True, eq=False)
class ReleasedGroups:
    """The groups of a release over numbered terms."""

    groups: NDArray[np.int64]  # (groups,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (groups + 1,)
    ids: NDArray[np.int32]  # (rows,): terms in the order of the rows, which is that of the texts if nothing is wrong
    weights: NDArray[np.float64]  # (rows,)
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GroupMembers:
    """Who is in which group, and what each person's profile was: the private side of a release of groups."""

    group: NDArray[np.int32]  # (people,): the place among the released groups; −1 where the person is suppressed
    indptr: NDArray[np.int64]  # (people + 1,)
    ids: NDArray[np.int32]  # (pairs,): places in `terms`, ascending and unique within a person
    weights: NDArray[np.float64]  # (pairs,)
    terms: tuple[str, ...]  # begins with the terms of the release, in their order; then those that were not released


@dataclass(frozen=True, eq=False)
class LogPair:
    """People × documents, before and after: how often each person issued each query, and how often it was released.

    A row is a document of a person that is on either side. Every person has something before; people of whom nothing
    was released have nothing after.
    """

    indptr: NDArray[np.int64]  # (people + 1,): the rows of each person
    ids: NDArray[np.int32]  # (rows,): documents, ascending and unique within a person
    before: NDArray[np.int64]  # (rows,): the person's queries of the original
    after: NDArray[np.int64]  # (rows,): those of the release
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the original
    sensitivity: NDArray[np.float64] | None = (
        None  # (rows,): how likely what a reader sees of it is sensitive, if asked
    )
    own_sensitivity: NDArray[np.float64] | None = None  # (rows,): likewise of the document as it was issued
    n_strangers: int = 0  # people of the release who are not in the original
    unit: Literal["query", "term"] = "query"  # what documents are

    @property
    def n_people(self) -> int:
        """Count the people of the original."""
        return len(self.indptr) - 1

    @cached_property
    def person(self) -> NDArray[np.int64]:
        """Return the person of every row."""
        return row_numbers(self.indptr)

    @cached_property
    def n_before(self) -> NDArray[np.int64]:
        """Count the queries of every person in the original."""
        return self._by_person(self.before)

    @cached_property
    def n_after(self) -> NDArray[np.int64]:
        """Count the queries of every person in the release."""
        return self._by_person(self.after)

    @cached_property
    def share_before(self) -> NDArray[np.float64]:
        """Return how likely each row's document is among the person's queries of the original."""
        return np.asarray(self.before / self.n_before[self.person], np.float64)

    @cached_property
    def share_after(self) -> NDArray[np.float64]:
        """Return the same for those of the release; 0 where nothing was released."""
        return np.asarray(self.after / np.maximum(1, self.n_after)[self.person], np.float64)

    def _by_person(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return row_sums(values, self.indptr)
