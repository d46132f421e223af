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
    count_holders,
    gather_rows,
    indptr_of_sorted,
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
    meanings: IntArray | None = None  # (2, pairs): a name for several terms, and one of these; −1 for no term


@dataclass(frozen=True, eq=False)
class AttackedView:
    """One thing that is attacked: the release, or the log with pseudonyms."""

    published: Published
    owner_of: Int32Array  # (people,): the owner that a person belongs to, -1 for none
    weights: FloatArray  # (items,): the score of a match; a name that fewer units show scores more

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
class Meanings:
    """Pairs of a published name and an item that it may stand for, by name; most names stand for themselves alone."""

    name: IntArray
    item: IntArray
    chance: FloatArray  # that somebody behind the name holds the item

    @classmethod
    def as_typed(cls, n_items: int) -> "Meanings":
        """Return the meanings of names each of which is an item."""
        each = np.arange(n_items)
        return cls(each, each, np.ones(n_items))

    @classmethod
    def of_names(cls, pairs: IntArray, keys: IntArray, people: KnowableItems) -> "Meanings":
        """Return the meanings of names some of which stand for several items, given by their keys.

        Of those who hold any of a name's items, the share who hold the item is the chance that it is meant.
        """
        typed = np.flatnonzero(~np.isin(keys, pairs[0]))
        name, item = np.searchsorted(keys, pairs[:, np.isin(pairs, keys).all(axis=0)])
        order = np.argsort(item, kind="stable")
        indptr, at = gather_rows(indptr_of_sorted(item[order], len(keys)), people.ids)
        holder = np.repeat(people.owner, np.diff(people.indptr))
        n_item = count_holders(holder, people.ids, len(keys))
        n_name = count_holders(holder[row_numbers(indptr)], name[order][at], len(keys))
        chance = np.append(np.ones(len(typed)), n_item[item] / np.maximum(1, n_name[name]))
        name, item = np.append(typed, name), np.append(typed, item)
        order = np.argsort(name, kind="stable")
        return cls(name[order], item[order], chance[order])

    def rows(self, n_units: IntArray) -> tuple[IntArray, Int32Array, IntArray, Int32Array, FloatArray]:
        """Return the names of every item, the items of every name, and the chances of the latter, as sparse rows.

        The names of an item ascend by the number of units that show each.
        """
        by_item = np.lexsort((n_units[self.name], self.item))
        return (
            indptr_of_sorted(self.item[by_item], len(n_units)),
            self.name[by_item].astype(np.int32),
            indptr_of_sorted(self.name, len(n_units)),
            self.item.astype(np.int32),
            self.chance,
        )


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
        indptr, at = gather_rows(published.name_indptr, people.ids)
        pair = row_numbers(indptr)
        is_named = np.isin(owner[pair] * width + published.names[at], units * width + published.ids)
        is_shown = (owner >= 0) & (np.bincount(pair[is_named], minlength=len(owner)) > 0)
        return KnowableItems(select_entries(people.indptr, is_shown), people.ids[is_shown], people.owner)


def build_scenario(inputs: AttackInputs, tables: ItemTables) -> Scenario:
    """Number the items of all tables together and index what the release and the log publish."""
    keys, ids = np.unique(np.concatenate([table.keys for table in tables.all()]), return_inverse=True)
    cuts = np.cumsum([len(table.keys) for table in tables.all()])[:-1]
    released, original, *others = np.split(ids.astype(np.int32), cuts)
    is_terms = tables.release is inputs.terms.release
    held = inputs.held if is_terms else np.ones(len(released), np.int64)
    everybody = np.arange(len(inputs.owner_of), dtype=np.int32)
    ones = np.ones(max(len(original), len(everybody)), np.int64)
    people = KnowableItems(tables.original.indptr, original, tables.original.owner)
    as_typed = Meanings.as_typed(len(keys))
    released_as = as_typed
    if is_terms and inputs.meanings is not None:
        released_as = Meanings.of_names(inputs.meanings, keys, people)

    def view(
        table: ItemTable, ids: Int32Array, held: IntArray, people: IntArray, owner_of: Int32Array, meanings: Meanings
    ) -> AttackedView:
        start, pairs = gather(ids, np.arange(len(ids), dtype=np.int32), len(keys))  # sorted by name
        unit, known_as = row_numbers(table.indptr, np.int32)[pairs], meanings.rows(np.diff(start))
        published = Published(table.indptr, ids, held, table.owner, people, start, unit, held[pairs], *known_as)
        return AttackedView(published, owner_of, 1 / np.log1p(np.maximum(1, np.diff(published.post_start))))

    strangers = None
    if tables.others is not None:
        strangers = KnowableItems(tables.others.indptr, others[0], np.full(len(tables.others.owner), -1, np.int32))
    return Scenario(
        view(tables.release, released, held, inputs.people, inputs.owner_of, released_as),
        view(tables.original, original, ones[: len(original)], ones[: len(everybody)], everybody, as_typed),
        people,
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
