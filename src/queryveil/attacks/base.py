"""What every attack shares: the setting, the release and the log over the same numbered items, and rates of success.

Things that can be known of a person (terms, terms with counts, moments) are numbered; an attack chooses one sort of
them and builds a `Game`, in which the release and the log have the same form. It then runs three times: against the
release, against a control (people who are not in the release), and against the log.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks import attack_of
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, batches
from queryveil.core.results import AttackResult, Rate, wilson
from queryveil.core.rows import FloatArray, Int32Array, IntArray
from queryveil.kernels.attacks import Published, post

LEFT_OUT = "the same people, each taken out of the release"
OTHER_PEOPLE = "people of another log"
TARGETS_PER_CALL = 500  # takes less than a second, so that an interrupt is noticed
Targets = TypeVar("Targets")


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Rows of numbered items: the histories of people, or the units of a release."""

    indptr: IntArray  # (rows + 1,)
    keys: IntArray  # (pairs,): ascending and unique within a row
    owner: Int32Array  # (rows,): ascending; the owner of the row
    counts: IntArray | None = None  # (pairs,): occurrences, where these are known


@dataclass(frozen=True, eq=False)
class ItemTables:
    """The same items in a release, in the log it was made from, and in the log of other people if there is one."""

    release: ItemTable
    original: ItemTable  # owners are people
    others: ItemTable | None = None

    def all(self) -> list[ItemTable]:
        """Return the tables that exist."""
        return [self.release, self.original, *([] if self.others is None else [self.others])]

    def map(self, convert: Callable[[ItemTable], ItemTable]) -> "ItemTables":
        """Return the tables with each converted."""
        return ItemTables(*map(convert, self.all()))


@dataclass(frozen=True, eq=False)
class Queries:
    """Whole queries of people, for attacks by more than single terms."""

    texts: tuple[str, ...]  # folded; terms are separated by a space
    person: Int32Array  # (pairs,)
    query: IntArray  # (pairs,): a position in `texts`
    counts: IntArray  # (pairs,): how often the person issued it


@dataclass(frozen=True, eq=False)
class Setting:
    """A release, its log, and everything else that attacks may use."""

    kind: str
    claim: ResolvedName
    terms: ItemTables  # keys are numbers of terms
    term_number: Mapping[str, int]
    owner_of: Int32Array  # (people of the log,): the owner in the release, -1 where nothing was released
    people: IntArray  # (owners in the release,): the number of people each stands for: 1, or a group's members
    held: IntArray  # (pairs of terms.release,): people of the unit who hold the term
    history_of: IntArray  # (units of terms.release,): the original history, -1 for groups
    part: Int32Array  # (units of terms.release,): the partition of the log
    most_targets: int
    moments: ItemTables | None = None  # keys are seconds
    queries: Queries | None = None
    other_queries: Queries | None = None


@dataclass(frozen=True, eq=False)
class View:
    """One thing that is attacked: the release, or the log with pseudonyms."""

    published: Published
    owner_of: Int32Array  # (people,): the owner that a person belongs to, -1 for none
    weights: FloatArray  # (items,): the score of a match; an item that fewer units show scores more

    def owners_of(self, person: Int32Array) -> Int32Array:
        """Return the owner that each person belongs to; person -1 is not in the log and has owner -1."""
        found: Int32Array = np.append(self.owner_of, np.int32(-1))[person]
        return found

    @property
    def is_grouped(self) -> bool:
        """Return whether the published units are groups of people."""
        return bool((self.published.people > 1).any())

    @property
    def n_people(self) -> int:
        """Count the people of all published units."""
        return int(self.published.people[np.unique(self.published.owner)].sum())


@dataclass(frozen=True, eq=False)
class Known:
    """Everything that can be known of people: rows of items."""

    indptr: IntArray
    ids: Int32Array  # ascending and unique within a row
    owner: Int32Array  # (rows,): the person; -1 for people who are not in the log


@dataclass(frozen=True, eq=False)
class Game:
    """A release and its log over the same numbered items, and what can be known of people."""

    release: View
    original: View
    people: Known
    others: Known | None
    keys: IntArray  # (items,)

    def three_runs(self, targets: Targets, strangers: Targets | None) -> tuple[tuple[View, Targets, bool], ...]:
        """Return what is attacked, who, and whether each target is taken out first: release, control and log.

        Without strangers, the control attacks the same people after each is taken out of the release.
        """
        control = (self.release, targets, True) if strangers is None else (self.release, strangers, False)
        return (self.release, targets, False), control, (self.original, targets, False)


def build_game(setting: Setting, tables: ItemTables) -> Game:
    """Number the items of all tables together and index what the release and the log publish."""
    keys, ids = np.unique(np.concatenate([table.keys for table in tables.all()]), return_inverse=True)
    cuts = np.cumsum([len(table.keys) for table in tables.all()])[:-1]
    released, original, *others = np.split(ids.astype(np.int32), cuts)
    held = setting.held if tables.release is setting.terms.release else np.ones(len(released), np.int64)
    everybody = np.arange(len(setting.owner_of), dtype=np.int32)
    ones = np.ones(max(len(original), len(everybody)), np.int64)

    def view(table: ItemTable, ids: Int32Array, held: IntArray, people: IntArray, owner_of: Int32Array) -> View:
        published = Published(table.indptr, ids, held, table.owner, people, *post(table.indptr, ids, held, len(keys)))
        return View(published, owner_of, 1 / np.log1p(np.maximum(1, np.diff(published.post_start))))

    strangers = None
    if tables.others is not None:
        strangers = Known(tables.others.indptr, others[0], np.full(len(tables.others.owner), -1, np.int32))
    return Game(
        view(tables.release, released, held, setting.people, setting.owner_of),
        view(tables.original, original, ones[: len(original)], ones[: len(everybody)], everybody),
        Known(tables.original.indptr, original, tables.original.owner),
        strangers,
        keys,
    )


def in_batches(
    attack_batch: Callable[[slice], Sequence[NDArray[Any]]],
    n_targets: int,
    progress: Progress,
    stage: str,
    size: int = TARGETS_PER_CALL,
) -> list[NDArray[Any]]:
    """Attack targets batch by batch and report progress; return each array of the results for all targets."""
    found = [attack_batch(batch) for batch in batches(n_targets, size, stage, progress)]
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def make_result(
    attack: ResolvedName,
    knowledge: str,
    successes: Sequence[NDArray[Any]],
    baseline: Rate,
    controlled_by: str,
    **more: Any,
) -> AttackResult:
    """Return the result of an attack from the success per target against the release, the control and the log."""
    rate, control, original = map(rate_of, successes)
    fields = {
        "risk_of": attack_of(attack).risk_of,
        "risk": risk_above(rate, control),
        "targets": len(successes[0]),
        "controls": len(successes[1]),
        **more,
    }
    return AttackResult(
        attack=str(attack),
        knowledge=knowledge,
        rate=rate,
        control=control,
        baseline=baseline,
        original=original,
        controlled_by=controlled_by,
        **fields,
    )


def rate_of(successes: NDArray[Any]) -> Rate:
    """Return the mean of successes between 0 and 1, with Wilson's interval.

    It is a plain mean, so that a bound on every single success is a bound on the rate.
    """
    total = math.fsum(successes.tolist())  # exactly rounded, so that the mean of equal successes is that success
    return Rate(total / len(successes), *wilson(total, len(successes)))


def risk_above(attack: Rate, control: Rate) -> Rate:
    """Return (attack - control) / (1 - control), at least 0, as Anonymeter does; errors propagate to first order."""
    left = 1 - control.value
    if left <= 0:
        return Rate(0.0, 0.0, 1.0)  # the control reaches everything, so the risk is unknown
    value = (attack.value - control.value) / left
    half_attack, half_control = ((rate.high - rate.low) / 2 for rate in (attack, control))
    half = math.hypot(half_attack / left, half_control * (1 - attack.value) / left**2)
    return Rate(*(min(1.0, max(0.0, figure)) for figure in (value, value - half, value + half)))
