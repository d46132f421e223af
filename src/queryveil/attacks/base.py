"""What every attack faces: a release, the log it was made from, and people who are in neither.

Things that can be known of a person (terms, terms with how often, moments) are numbered; an attack chooses which of
them it is about and makes a `Game` of them, in which release and log look alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.rows import row_numbers
from queryveil.kernels.attacks import Published, post


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Rows of numbered things: the histories of people, or the units of a release."""

    indptr: NDArray[np.int64]  # (rows + 1,)
    keys: NDArray[np.int64]  # (pairs,): ascending and unique within a row
    owner: NDArray[np.int32]  # (rows,): ascending; whose the row is
    counts: NDArray[np.int64] | None = None  # (pairs,): how often, where that is known

    def rows(self) -> NDArray[np.int64]:
        """Return the row of every pair."""
        return row_numbers(self.indptr)


@dataclass(frozen=True, eq=False)
class ItemTables:
    """The same things in a release, in the log it was made from, and in the log of other people where there is one."""

    release: ItemTable
    original: ItemTable  # owners are people
    others: ItemTable | None = None


@dataclass(frozen=True, eq=False)
class Queries:
    """Whole queries of people, for what is not in single terms."""

    texts: tuple[str, ...]  # folded, terms apart by a space
    person: NDArray[np.int32]  # (pairs,)
    query: NDArray[np.int64]  # (pairs,): a place in `texts`
    counts: NDArray[np.int64]  # (pairs,): how often the person issued it


@dataclass(frozen=True, eq=False)
class Setting:
    """A release beside its log, and what attacks may use."""

    kind: str
    claim: ResolvedName
    terms: ItemTables  # keys are numbers of terms
    term_number: Mapping[str, int]
    owner_of: NDArray[np.int32]  # (people of the log,): the owner in the release, -1 where nothing was released
    people: NDArray[np.int64]  # (owners in the release,): how many people each is: 1, or a group's members
    held: NDArray[np.int64]  # (pairs of terms.release,): people behind the unit who hold the term
    history_of: NDArray[np.int64]  # (units of terms.release,): the original history, -1 for groups
    part: NDArray[np.int32]  # (units of terms.release,): which part of the log, where it was cut
    most_targets: int
    moments: ItemTables | None = None  # keys are seconds
    queries: Queries | None = None
    other_queries: Queries | None = None


@dataclass(frozen=True, eq=False)
class View:
    """One thing that is attacked: the release, or the log merely pseudonymised."""

    published: Published
    owner_of: NDArray[np.int32]  # (people,): the owner behind whom a person is, -1 for none
    weights: NDArray[np.float64]  # (items,): what a match scores: the more, the fewer units show the item

    def me(self, person: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return behind which owner each person is; -1 stands for people who are not in the log."""
        found: NDArray[np.int32] = np.append(self.owner_of, np.int32(-1))[person]
        return found

    @property
    def is_grouped(self) -> bool:
        """Say whether what is shown are groups of people."""
        return bool((self.published.people > 1).any())

    @property
    def n_people(self) -> int:
        """Count the people behind what is shown."""
        return int(self.published.people[np.unique(self.published.owner)].sum())


@dataclass(frozen=True, eq=False)
class Known:
    """What there is to know of people: rows of items."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]  # ascending and unique within a row
    owner: NDArray[np.int32]  # (rows,): the person; -1 for people who are not in the log


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of each target: items that are right, then wrong ones; -1 where there is none."""

    items: NDArray[np.int32]  # (targets, width)
    n_right: int  # of the columns
    person: NDArray[np.int32]  # (targets,): -1 for people who are not in the log

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Game:
    """A release and its log over the same numbered items, and what is known of whom."""

    release: View
    original: View
    people: Known
    others: Known | None
    keys: NDArray[np.int64]  # (items,)


def play(setting: Setting, tables: ItemTables) -> Game:
    """Number the keys of tables and lay them out for attacks."""
    given = [tables.release, tables.original, *([] if tables.others is None else [tables.others])]
    keys, ids = np.unique(np.concatenate([table.keys for table in given]), return_inverse=True)
    cuts = np.cumsum([len(table.keys) for table in given])[:-1]
    released, original, *others = np.split(ids.astype(np.int32), cuts)
    is_terms = tables.release is setting.terms.release
    held = setting.held if is_terms else np.ones(len(released), np.int64)
    n_people = len(setting.owner_of)
    known = Known(tables.original.indptr, original, tables.original.owner)
    return Game(
        _view(tables.release, released, held, setting.people, setting.owner_of, len(keys)),
        _view(
            tables.original,
            original,
            np.ones(len(original), np.int64),
            np.ones(n_people, np.int64),
            np.arange(n_people, dtype=np.int32),
            len(keys),
        ),
        known,
        None if tables.others is None else _strangers(tables.others, others[0]),
        keys,
    )


def _view(
    table: ItemTable,
    ids: NDArray[np.int32],
    held: NDArray[np.int64],
    people: NDArray[np.int64],
    owner_of: NDArray[np.int32],
    n_items: int,
) -> View:
    published = Published(table.indptr, ids, held, table.owner, people, *post(table.indptr, ids, held, n_items))
    support = np.diff(published.post_start)
    return View(published, owner_of, 1 / np.log1p(np.maximum(1, support)))


def _strangers(table: ItemTable, ids: NDArray[np.int32]) -> Known:
    return Known(table.indptr, ids, np.full(len(table.owner), -1, np.int32))
