"""What attacks share: their inputs, the release and the log over the same numbered items, and rates of success.

Things that can be known of a person (terms, terms with counts, moments) are numbered; an attack chooses one sort of
them and builds a `Scenario`, in which the release and the log have the same form. It then runs against the release and
against the log, and, unless it finds people, against a control: people who are not in the release.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks import attack_of
from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, batches
from queryveil.core.results import AttackResult, Rate, Risk, wilson
from queryveil.core.rows import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    Scalar,
    gather_rows,
    row_numbers,
    select_entries,
)
from queryveil.kernels.attacks import Published
from queryveil.kernels.histories import gather

LEFT_OUT = "the same people, each taken out of the release"
OTHER_PEOPLE = "people of another log"
ABSENT = "nobody can be found who is not in the release, so the control is 0 and the risk is the success"
_ATTEMPTS = 20  # at drawing a wrong item; a person who holds nearly all items gets none
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
class AttackInputs:
    """A release, its log, and everything else that attacks may use."""

    kind: str
    claim: ResolvedName
    terms: ItemTables  # keys are numbers of terms
    term_number: Mapping[str, int]
    owner_of: Int32Array  # (people of the log,): the person or group that shows it, -1 for none
    people: IntArray  # (owners in the release,): the number of people each stands for: 1, or a group's members
    held: IntArray  # (pairs of terms.release,): people of the unit who hold the term
    history_of: IntArray  # (units of terms.release,): the original history, -1 for groups
    part: Int32Array  # (units of terms.release,): the partition of the log
    max_targets: int
    kept: Mapping[str, ItemTables] = field(
        default_factory=dict
    )  # kept column → keys: seconds of a time, numbers of URLs
    queries: Queries | None = None


@dataclass(frozen=True, eq=False)
class AttackedView:
    """One thing that is attacked: the release, or the log with pseudonyms."""

    published: Published
    owner_of: Int32Array  # (people,): the owner that a person belongs to, -1 for none
    weights: FloatArray  # (items,): the score of a match; an item that fewer units show scores more

    def owners_of(self, person: Int32Array) -> Int32Array:
        """Return the owner that each person belongs to; person -1 is not in the log and has owner -1."""
        found: Int32Array = np.append(self.owner_of, np.int32(-1))[person]
        return found


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of each target: items that are right, then wrong ones; -1 where there is none."""

    items: Int32Array  # (targets, width)
    n_right: int  # of the columns
    person: Int32Array  # (targets,): -1 for people who are not in the log

    def __len__(self) -> int:
        return len(self.items)

    def with_wrong(self, wrong: Int32Array) -> "Knowledge":
        """Return the knowledge with columns (targets, n_wrong) of wrong items added."""
        return Knowledge(np.hstack((self.items, wrong)), self.n_right, self.person)


@dataclass(frozen=True, eq=False)
class KnowableItems:
    """Everything that can be known of people: rows of items."""

    indptr: IntArray
    ids: Int32Array  # ascending and unique within a row
    owner: Int32Array  # (rows,): the person; -1 for people who are not in the log

    def draw_rows(self, n_items: int, most: int, rng: np.random.Generator) -> IntArray:
        """Draw at most `most` of the rows that have at least `n_items` items."""
        return draw_at_most(np.flatnonzero(np.diff(self.indptr) >= n_items), most, rng)

    def require(self, rows: IntArray, attack: ResolvedName, wanted: int, what: str) -> None:
        """Raise an error if no row was drawn because nobody has as many items as the attacker is to know."""
        if not len(rows):
            longest = int(np.diff(self.indptr).max(initial=0))
            raise InputError(
                f"{attack} needs people with {wanted:,} {what}, and nobody has more than {longest:,}; take a smaller m."
            )

    def draw_items(self, rows: IntArray, width: int, rng: np.random.Generator) -> Int32Array:
        """Draw `width` different items of each row in random order; every ordered choice is equally likely."""
        indptr, pair = gather_rows(self.indptr, rows)
        order = np.lexsort((rng.random(len(pair)), row_numbers(indptr)))
        drawn = order[indptr[:-1, None] + np.arange(width)]
        items: Int32Array = self.ids[pair[drawn]]
        return items

    def draw_knowledge(self, rows: IntArray, width: int, rng: np.random.Generator) -> Knowledge:
        """Draw what is known of each row."""
        return Knowledge(self.draw_items(rows, width, rng), width, self.owner[rows])

    def draw_wrong(self, pool: Int32Array, rows: IntArray, n_wrong: int, rng: np.random.Generator) -> Int32Array:
        """Draw items that each row does not hold, in proportion to their frequency in the pool; -1 if none is found."""
        wrong = np.full((len(rows), n_wrong), -1, np.int32)
        for column in range(n_wrong):
            missing = np.arange(len(rows))
            for _ in range(_ATTEMPTS):
                drawn = pool[rng.integers(0, len(pool), len(missing))]
                is_new = ~self.holds(rows[missing], drawn) & (wrong[missing] != drawn[:, None]).all(axis=1)
                wrong[missing[is_new], column] = drawn[is_new]
                missing = missing[~is_new]
        return wrong

    def holds(self, rows: IntArray, items: Int32Array) -> BoolArray:
        """Return for each row and item whether the row holds the item."""
        width = np.int64(max(self.ids.max(initial=-1), items.max(initial=-1))) + 1
        keys = row_numbers(self.indptr) * width + self.ids  # ascending: rows ascend, ids ascend within a row
        wanted = rows * width + items
        position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found: BoolArray = (keys[position] == wanted) & (items >= 0)
        return found


def draw_at_most(candidates: NDArray[Scalar], most: int, rng: np.random.Generator) -> NDArray[Scalar]:
    """Return at most `most` of the candidates, each equally likely, in ascending order."""
    if len(candidates) <= most:
        return candidates
    return np.sort(rng.choice(candidates, most, replace=False, shuffle=False))


@dataclass(frozen=True, eq=False)
class Scenario:
    """A release and its log over the same numbered items, and what can be known of people."""

    release: AttackedView
    original: AttackedView
    people: KnowableItems
    others: KnowableItems | None
    keys: IntArray  # (items,)

    def runs_with_control(
        self, targets: Targets, strangers: Targets | None
    ) -> tuple[tuple[AttackedView, Targets, bool], ...]:
        """Return what is attacked, who, and whether each target is taken out first: release, control and log.

        Without strangers, the control attacks the same people after each is taken out of the release.
        """
        control = (self.release, targets, True) if strangers is None else (self.release, strangers, False)
        return (self.release, targets, False), control, (self.original, targets, False)

    def released_items(self) -> KnowableItems:
        """Return people's histories without the items that the release does not show of their owner."""
        people, published = self.people, self.release.published
        width = len(self.keys)
        owner = self.release.owners_of(np.repeat(people.owner, np.diff(people.indptr))).astype(np.int64)
        units = np.repeat(published.owner, np.diff(published.indptr)).astype(np.int64)
        is_shown = (owner >= 0) & np.isin(owner * width + people.ids, units * width + published.ids)
        return KnowableItems(select_entries(people.indptr, is_shown), people.ids[is_shown], people.owner)


def build_scenario(inputs: AttackInputs, tables: ItemTables) -> Scenario:
    """Number the items of all tables together and index what the release and the log publish."""
    keys, ids = np.unique(np.concatenate([table.keys for table in tables.all()]), return_inverse=True)
    cuts = np.cumsum([len(table.keys) for table in tables.all()])[:-1]
    released, original, *others = np.split(ids.astype(np.int32), cuts)
    held = inputs.held if tables.release is inputs.terms.release else np.ones(len(released), np.int64)
    everybody = np.arange(len(inputs.owner_of), dtype=np.int32)
    ones = np.ones(max(len(original), len(everybody)), np.int64)

    def view(table: ItemTable, ids: Int32Array, held: IntArray, people: IntArray, owner_of: Int32Array) -> AttackedView:
        start, pairs = gather(ids, np.arange(len(ids), dtype=np.int32), len(keys))  # sorted by item
        posted = (start, row_numbers(table.indptr, np.int32)[pairs], held[pairs])
        published = Published(table.indptr, ids, held, table.owner, people, *posted)
        return AttackedView(published, owner_of, 1 / np.log1p(np.maximum(1, np.diff(published.post_start))))

    strangers = None
    if tables.others is not None:
        strangers = KnowableItems(tables.others.indptr, others[0], np.full(len(tables.others.owner), -1, np.int32))
    return Scenario(
        view(tables.release, released, held, inputs.people, inputs.owner_of),
        view(tables.original, original, ones[: len(original)], ones[: len(everybody)], everybody),
        KnowableItems(tables.original.indptr, original, tables.original.owner),
        strangers,
        keys,
    )


def control_name(strangers: object | None) -> str:
    """Return what the control of an attack is, depending on whether there are people who are not in the log."""
    return LEFT_OUT if strangers is None else OTHER_PEOPLE


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
    found: NDArray[Any],
    controlled: NDArray[Any] | None,
    in_log: NDArray[Any],
    baseline: Rate,
    *,
    controlled_by: str = ABSENT,
    risk_of: Risk | None = None,
    **more: Any,
) -> AttackResult:
    """Return the result of an attack from the success per target against the release, the control and the log.

    The control is scored as the attack is; None stands for one that cannot succeed.
    """
    rate, original = rate_of(found), rate_of(in_log)
    control = Rate(0.0, 0.0, 0.0) if controlled is None else rate_of(controlled)
    return AttackResult(
        str(attack),
        risk_of or attack_of(attack).risk_of,
        knowledge,
        rate,
        control,
        baseline,
        rate if controlled is None else risk_above(rate, control),
        original,
        targets=len(found),
        controls=0 if controlled is None else len(controlled),
        controlled_by=controlled_by,
        **more,
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
