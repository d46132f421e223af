"""What verifiers, measures and attacks look at: the decoded release and, if available, the private side."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from queryveil.core.errors import InternalError
from queryveil.core.rows import FloatArray, Int32Array, IntArray, row_numbers, row_sums

if TYPE_CHECKING:
    import pyarrow as pa

View = TypeVar("View")


class Views:
    """A container of objects by type; an object with a provider is built on first use and cached."""

    def __init__(self, *views: object) -> None:
        self._views: dict[type[Any], Any] = {type(view): view for view in views}
        self._providers: dict[type[Any], Callable[[], Any]] = {}

    def add(self, view: type[View], provider: Callable[[], View]) -> None:
        """Register a provider, which builds an object; it has no effect if the object exists already."""
        self._providers[view] = provider

    def remove(self, view: type[Any]) -> None:
        """Remove an object or its provider."""
        self._providers.pop(view, None)
        self._views.pop(view, None)

    def types(self) -> tuple[type[Any], ...]:
        """Return the types of the objects."""
        return tuple({**self._views, **self._providers})

    def build_all(self) -> tuple[object, ...]:
        """Build the objects that were not used yet, and return all."""
        return tuple(filter(None, map(self.find, self.types())))

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
    """What a verifier, measure or attack may look at; kinds of release and workflows supply the views.

    `evidence.get(ReleasedHistories)` returns the decoded rows; `evidence.find(GroupMembers)` returns who is in which
    group, or None without the private folder.
    """


@dataclass(frozen=True, eq=False)
class ReleasedHistories:
    """The histories of a release over numbered terms (or whole queries, see `unit`)."""

    users: IntArray  # (histories,): release ids (column `user`), ascending
    indptr: IntArray  # (histories + 1,)
    ids: Int32Array  # (pairs,): ascending and unique within a history
    counts: Int32Array  # (pairs,): occurrences where the kind has them, else 1
    terms: tuple[str, ...]
    partition: Int32Array | None  # (histories,)
    unit: Literal["term", "query"] = "term"  # what an item is


@dataclass(frozen=True, eq=False)
class Owners:
    """Who is behind every released history, from the private folder."""

    person: Int32Array  # (released histories,): a number for each person
    history: IntArray  # (released histories,): the original history
    holders: Callable[[], Mapping[str, int]]  # how many people of the whole log hold each term


@dataclass(frozen=True, eq=False)
class KeptValues:
    """The columns of the log that are released besides the items: `history, owner, part` and those kept of every row.

    A history is its position among the released ones, the owner a number of the person, or else the history.
    """

    table: "pa.Table"
    is_linked: bool  # the owner is a person


@dataclass(frozen=True)
class MethodParameters:
    """The parameters of the run that made a release, with their defaults, from the private record of the run."""

    values: Mapping[str, int | float | bool | str]


@dataclass(frozen=True)
class Floor:
    """How many people of the whole log must hold every published item."""

    people: int = 1


@dataclass(frozen=True, eq=False)
class ReleasedVocabularies:
    """The vocabularies of a release over numbered terms."""

    users: IntArray  # (histories,): release ids (column `user`), ascending
    indptr: IntArray  # (histories + 1,)
    ids: Int32Array  # (rows,): ascending within a history, then by level
    counts: Int32Array  # (rows,)
    levels: Int32Array  # (rows,)
    terms: tuple[str, ...]  # in the order of the texts

    def number_equal(self) -> IntArray:
        """Return a number for every history, by first occurrence; equal vocabularies have the same number."""
        rows = np.stack((self.ids, self.counts, self.levels), axis=1)
        numbers: dict[bytes, int] = {}
        found = [numbers.setdefault(rows[begin:end].tobytes(), len(numbers)) for begin, end in pairwise(self.indptr)]
        return np.array(found, np.int64)


@dataclass(frozen=True, eq=False)
class ReleasedGroups:
    """The groups of a release over numbered terms."""

    groups: IntArray  # (groups,): the ids in the release, ascending
    indptr: IntArray  # (groups + 1,)
    ids: Int32Array  # (rows,): terms in the order of the rows, which is that of the texts if nothing is wrong
    weights: FloatArray  # (rows,)
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GroupMembers:
    """Who is in which group, and what each person's profile was: the private side of a release of groups."""

    group: Int32Array  # (people,): the position among the released groups; −1 if the person is suppressed
    indptr: IntArray  # (people + 1,)
    ids: Int32Array  # (pairs,): positions in `terms`, ascending and unique within a person
    weights: FloatArray  # (pairs,)
    terms: tuple[str, ...]  # begins with the terms of the release, in their order; then those that were not released
    frozen: tuple[int, ...] = ()  # ids of the groups that are published as in an earlier release


@dataclass(frozen=True, eq=False)
class LogPair:
    """People × documents, before and after: how often each person issued each query, and how often it was released.

    A row is a document that a person has on either side. Every person has something before, and maybe nothing after.
    """

    indptr: IntArray  # (people + 1,): the rows of each person
    ids: Int32Array  # (rows,): documents, ascending and unique within a person
    before: IntArray  # (rows,): the person's queries of the original
    after: IntArray  # (rows,): those of the release
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the original
    sensitivity: FloatArray | None = None  # (rows,): the probability that what was released of it is sensitive;
    # 0 where the model knows no word of it
    own_sensitivity: FloatArray | None = None  # (rows,): likewise of the document as it was issued
    n_strangers: int = 0  # people of the release who are not in the original
    unit: Literal["query", "term"] = "query"  # what documents are

    @property
    def n_people(self) -> int:
        """Count the people of the original."""
        return len(self.indptr) - 1

    @cached_property
    def person(self) -> IntArray:
        """Return the person of every row."""
        return row_numbers(self.indptr)

    @cached_property
    def n_before(self) -> IntArray:
        """Count the queries of every person in the original."""
        return row_sums(self.before, self.indptr)

    @cached_property
    def n_after(self) -> IntArray:
        """Count the queries of every person in the release."""
        return row_sums(self.after, self.indptr)

    @cached_property
    def share_before(self) -> FloatArray:
        """Return how likely each row's document is among the person's queries of the original."""
        return np.asarray(self.before / self.n_before[self.person], np.float64)

    @cached_property
    def share_after(self) -> FloatArray:
        """Return the same for those of the release; 0 where nothing was released."""
        return np.asarray(self.after / np.maximum(1, self.n_after)[self.person], np.float64)
