"""Drawing who is attacked, and what is known of them."""

import numpy as np
from numpy.typing import NDArray

from queryveil.attacks.base import Game, Knowledge, Known
from queryveil.core.errors import InputError
from queryveil.core.rows import gather_rows, per_entry, row_numbers, select_entries

_ATTEMPTS = 20  # at a wrong item; who holds nearly everything gets none


def draw_rows(known: Known, n_items: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw at most so many rows of those that have so many items, each equally likely; in order."""
    rows = np.flatnonzero(np.diff(known.indptr) >= n_items)
    return np.sort(rng.choice(rows, most, replace=False, shuffle=False)) if len(rows) > most else rows


def still_shown(game: Game) -> Known:
    """Return of people's histories what the release still shows behind its owners."""
    people, published = game.people, game.release.published
    width = len(game.keys)
    owner = game.release.me(per_entry(people.owner, people.indptr)).astype(np.int64)
    units = per_entry(published.owner, published.indptr).astype(np.int64)
    is_shown = (owner >= 0) & np.isin(owner * width + people.ids, units * width + published.ids)
    indptr = select_entries(people.indptr, is_shown)
    return Known(indptr, people.ids[is_shown], people.owner)


def refuse_none(rows: NDArray[np.int64], known: Known, attack: str, wanted: int, what: str) -> None:
    """Say that nobody has as much as an attack wants to know."""
    if not len(rows):
        longest = int(np.diff(known.indptr).max(initial=0))
        raise InputError(
            f"{attack} needs people with {wanted:,} {what}, and nobody has more than {longest:,}; take a smaller m."
        )


def draw_items(known: Known, rows: NDArray[np.int64], width: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw so many different items of each row, in random order: every ordered choice is equally likely."""
    indptr, pair = gather_rows(known.indptr, rows)
    order = np.lexsort((rng.random(len(pair)), row_numbers(indptr)))
    chosen = order[indptr[:-1, None] + np.arange(width)]
    items: NDArray[np.int32] = known.ids[pair[chosen]]
    return items


def know(known: Known, rows: NDArray[np.int64], width: int, rng: np.random.Generator) -> Knowledge:
    """Draw what is known of rows."""
    return Knowledge(draw_items(known, rows, width, rng), width, known.owner[rows])


def know_strangers(game: Game, width: int, most: int, rng: np.random.Generator) -> Knowledge | None:
    """Draw what is known of people who are not in the log, where there are any that have as much."""
    if game.others is None:
        return None
    rows = draw_rows(game.others, width, most, rng)
    return know(game.others, rows, width, rng) if len(rows) else None


def draw_wrong(
    pool: NDArray[np.int32], known: Known, rows: NDArray[np.int64], n_wrong: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw items of a pool that a row does not hold, likelier the oftener they are in it; -1 where none is found."""
    wrong = np.full((len(rows), n_wrong), -1, np.int32)
    for column in range(n_wrong):
        missing = np.arange(len(rows))
        for _ in range(_ATTEMPTS):
            drawn = pool[rng.integers(0, len(pool), len(missing))]
            is_new = ~held(known, rows[missing], drawn) & (wrong[missing] != drawn[:, None]).all(axis=1)
            wrong[missing[is_new], column] = drawn[is_new]
            missing = missing[~is_new]
    return wrong


def held(known: Known, rows: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say of each row and item whether the row holds it."""
    width = np.int64(max(known.ids.max(initial=-1), items.max(initial=-1))) + 1
    row = row_numbers(known.indptr)
    keys = row * width + known.ids  # ascending: rows ascend, ids ascend within a row
    wanted = rows * width + items
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: NDArray[np.bool_] = (keys[place] == wanted) & (items >= 0)
    return found
