"""Draws who is attacked, and what is known of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Known
from queryveil.core.errors import InputError
from queryveil.core.rows import (
    BoolArray,
    Int32Array,
    IntArray,
    Scalar,
    gather_rows,
    per_entry,
    row_numbers,
    select_entries,
)

_ATTEMPTS = 20  # at drawing a wrong item; a person who holds nearly all items gets none


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


def draw_at_most(candidates: NDArray[Scalar], most: int, rng: np.random.Generator) -> NDArray[Scalar]:
    """Return at most `most` of the candidates, each equally likely, in ascending order."""
    if len(candidates) <= most:
        return candidates
    return np.sort(rng.choice(candidates, most, replace=False, shuffle=False))


def draw_rows(known: Known, n_items: int, most: int, rng: np.random.Generator) -> IntArray:
    """Draw at most `most` of the rows that have at least `n_items` items."""
    return draw_at_most(np.flatnonzero(np.diff(known.indptr) >= n_items), most, rng)


def require_targets(rows: IntArray, known: Known, attack: str, wanted: int, what: str) -> None:
    """Raise an error if nobody has as many items as the attacker is to know."""
    if not len(rows):
        longest = int(np.diff(known.indptr).max(initial=0))
        raise InputError(
            f"{attack} needs people with {wanted:,} {what}, and nobody has more than {longest:,}; take a smaller m."
        )


def released_items(game: Game) -> Known:
    """Return people's histories without the items that the release does not show of their owner."""
    people, published = game.people, game.release.published
    width = len(game.keys)
    owner = game.release.owners_of(per_entry(people.owner, people.indptr)).astype(np.int64)
    units = per_entry(published.owner, published.indptr).astype(np.int64)
    is_shown = (owner >= 0) & np.isin(owner * width + people.ids, units * width + published.ids)
    return Known(select_entries(people.indptr, is_shown), people.ids[is_shown], people.owner)


def draw_items(known: Known, rows: IntArray, width: int, rng: np.random.Generator) -> Int32Array:
    """Draw `width` different items of each row in random order; every ordered choice is equally likely."""
    indptr, pair = gather_rows(known.indptr, rows)
    order = np.lexsort((rng.random(len(pair)), row_numbers(indptr)))
    chosen = order[indptr[:-1, None] + np.arange(width)]
    items: Int32Array = known.ids[pair[chosen]]
    return items


def draw_knowledge(known: Known, rows: IntArray, width: int, rng: np.random.Generator) -> Knowledge:
    """Draw what is known of each row."""
    return Knowledge(draw_items(known, rows, width, rng), width, known.owner[rows])


def draw_strangers(game: Game, width: int, most: int, rng: np.random.Generator) -> Knowledge | None:
    """Draw what is known of people who are not in the log; None if none of them has as many items."""
    if game.others is None:
        return None
    rows = draw_rows(game.others, width, most, rng)
    return draw_knowledge(game.others, rows, width, rng) if len(rows) else None


def draw_wrong(pool: Int32Array, known: Known, rows: IntArray, n_wrong: int, rng: np.random.Generator) -> Int32Array:
    """Draw items that each row does not hold, in proportion to their frequency in the pool; -1 where none is found."""
    wrong = np.full((len(rows), n_wrong), -1, np.int32)
    for column in range(n_wrong):
        missing = np.arange(len(rows))
        for _ in range(_ATTEMPTS):
            drawn = pool[rng.integers(0, len(pool), len(missing))]
            is_new = ~holds_item(known, rows[missing], drawn) & (wrong[missing] != drawn[:, None]).all(axis=1)
            wrong[missing[is_new], column] = drawn[is_new]
            missing = missing[~is_new]
    return wrong


def holds_item(known: Known, rows: IntArray, items: Int32Array) -> BoolArray:
    """Return for each row and item whether the row holds the item."""
    width = np.int64(max(known.ids.max(initial=-1), items.max(initial=-1))) + 1
    keys = row_numbers(known.indptr) * width + known.ids  # ascending: rows ascend, ids ascend within a row
    wanted = rows * width + items
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: BoolArray = (keys[position] == wanted) & (items >= 0)
    return found
