"""Who matches what an attacker knows: the crowd of those who match it best.

What is known of a person is a row of items (terms, or terms with how often, or moments). Every unit of what is
published, a history or a group, scores the weights of the known items that it shows; the crowd are those behind the
units with the highest score, or, exactly, those behind units that show every known item. People are counted once,
however many of their histories match.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


class Published(NamedTuple):
    """Units by row and by item, and who is behind them."""

    indptr: NDArray[np.int64]  # (units + 1,)
    ids: NDArray[np.int32]  # (pairs,): items, ascending and unique within a row
    held: NDArray[np.int64]  # (pairs,): how many of the people behind the unit hold the item
    owner: NDArray[np.int32]  # (units,): ascending; a person, or for groups the group
    people: NDArray[np.int64]  # (owners,): how many people an owner is
    post_start: NDArray[np.int64]  # (items + 1,)
    post_unit: NDArray[np.int32]  # (pairs,): the units that show an item, ascending
    post_held: NDArray[np.int64]  # (pairs,): `held` in that order


class Scratch(NamedTuple):
    """Room for one attack after the other."""

    score: NDArray[np.float64]  # (units,): zeros between attacks
    touched: NDArray[np.int32]  # (units,)
    seen: NDArray[np.int64]  # (owners,): the last attack in whose crowd the owner was


@jit
def post(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], held: NDArray[np.int64], n_items: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return, for every item, the units that show it and how many people behind each hold it."""
    start = np.zeros(n_items + 1, np.int64)
    for item in ids:
        start[item + 1] += 1
    for item in range(n_items):
        start[item + 1] += start[item]
    place = start[:-1].copy()
    post_unit = np.empty(len(ids), np.int32)
    post_held = np.empty(len(ids), np.int64)
    for unit in range(len(indptr) - 1):
        for pair in range(indptr[unit], indptr[unit + 1]):
            at = place[ids[pair]]
            post_unit[at], post_held[at] = unit, held[pair]
            place[ids[pair]] += 1
    return start, post_unit, post_held


@jit
def find_crowds(
    published: Published,
    known: NDArray[np.int32],  # (targets, items known): those that the target holds first, -1 where there is none
    n_right: int,  # so many columns hold items of the target; the others are wrong
    me: NDArray[np.int32],  # (targets,): the owner behind whom the target is, -1 for nobody
    weights: NDArray[np.float64],  # (items,): what a match scores
    exact: bool,  # every known item must match
    left_out: bool,  # the target is taken out of what is published first
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return, for every target, how many people and owners are in the crowd, and whether the target is."""
    scratch = Scratch(
        np.zeros(len(published.owner)),
        np.empty(len(published.owner), np.int32),
        np.full(len(published.people), -1, np.int64),
    )
    people, owners = np.zeros(len(known), np.int64), np.zeros(len(known), np.int64)
    is_in = np.zeros(len(known), np.bool_)
    for target in range(len(known)):
        n_touched, needed = score_units(published, scratch, known[target], n_right, me[target], weights, left_out)
        if exact:
            needed = 0.0
            for item in known[target]:
                if item >= 0:
                    needed += weights[item]
        for i in range(n_touched):
            unit = scratch.touched[i]
            owner = published.owner[unit]
            if scratch.score[unit] == needed and scratch.seen[owner] != target:
                scratch.seen[owner] = target
                is_mine = owner == me[target]
                is_in[target] = is_in[target] or is_mine
                owners[target] += 1
                people[target] += published.people[owner] - (1 if left_out and is_mine else 0)
        clear(scratch, n_touched)
    return people, owners, is_in


@jit
def score_units(
    published: Published,
    scratch: Scratch,
    known: NDArray[np.int32],
    n_right: int,
    me: int,
    weights: NDArray[np.float64],
    left_out: bool,
) -> tuple[int, float]:
    """Score every unit that shows a known item; return how many do, and the highest score.

    Without the target, a history of the target's is gone, and a group shows what another member holds too.
    """
    n_touched, highest = 0, 0.0
    for column in range(len(known)):
        item = known[column]
        if item < 0:
            continue
        for at in range(published.post_start[item], published.post_start[item + 1]):
            unit = published.post_unit[at]
            if (
                left_out
                and published.owner[unit] == me
                and (published.people[me] == 1 or (column < n_right and published.post_held[at] <= 1))
            ):
                continue
            if scratch.score[unit] == 0.0:
                scratch.touched[n_touched] = unit
                n_touched += 1
            scratch.score[unit] += weights[item]
            highest = max(highest, scratch.score[unit])
    return n_touched, highest


@jit
def clear(scratch: Scratch, n_touched: int) -> None:
    """Forget the scores of an attack."""
    for i in range(n_touched):
        scratch.score[scratch.touched[i]] = 0.0
