"""What verifiers, measures and attacks look at: the decoded release and, if available, the private side."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from queryveil.core.errors import InternalError
from queryveil.core.rows import Int32Array, IntArray

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
