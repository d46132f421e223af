"""What a crowd says about its members: how surely each holds another item, and which item it says most about."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.attacks import Published, Scratch, clear, score_units


@jit
def believe(
    published: Published,
    known: NDArray[np.int32],  # (targets, items known)
    secret: NDArray[np.int32],  # (targets,): another item of the target
    me: NDArray[np.int32],  # (targets,): the owner behind whom the target is, -1 for nobody
    row: NDArray[np.int64],  # (targets,): the target's history
    own_indptr: NDArray[np.int64],  # (histories + 1,)
    own_ids: NDArray[np.int32],  # (pairs,): ascending within a row
    prior: NDArray[np.float64],  # (items,): the share of all people who hold it
    weights: NDArray[np.float64],  # (items,): what a match scores
    left_out: bool,  # the target is taken out of what is published first
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return, for every target, the belief in the secret, and the item whose belief rose most, -1 where none did.

    The belief is the share of the crowd that holds the item; without a crowd it stays what it was before.
    """
    scratch = Scratch(np.zeros(len(published.owner)), np.empty(len(published.owner), np.int32), np.empty(0, np.int64))
    count = np.zeros(len(prior), np.int64)
    last = np.full(len(prior), -1, np.int32)
    items = np.empty(len(prior), np.int32)
    belief, guess = np.empty(len(known)), np.empty(len(known), np.int32)
    for target in range(len(known)):
        n_touched, highest = score_units(
            published, scratch, known[target], known.shape[1], me[target], weights, left_out
        )
        n_crowd = 0
        for i in range(n_touched):
            unit = scratch.touched[i]
            if scratch.score[unit] == highest:
                scratch.score[unit] = 0.0
                scratch.touched[i], scratch.touched[n_crowd] = scratch.touched[n_crowd], unit
                n_crowd += 1
        clear(scratch, n_touched)
        crowd = np.sort(scratch.touched[:n_crowd])
        own = own_ids[own_indptr[row[target]] : own_indptr[row[target] + 1]]
        n_items, n_people = _count(published, crowd, me[target], own, left_out, count, last, items)
        belief[target] = count[secret[target]] / n_people if n_people else prior[secret[target]]
        guess[target] = _best(items[:n_items], count, n_people, prior, known[target])
        for i in range(n_items):
            count[items[i]], last[items[i]] = 0, -1
    return belief, guess


@jit
def _count(
    published: Published,
    crowd: NDArray[np.int32],  # units, ascending, so that those of one owner stand side by side
    me: int,
    own: NDArray[np.int32],
    left_out: bool,
    count: NDArray[np.int64],
    last: NDArray[np.int32],
    items: NDArray[np.int32],
) -> tuple[int, int]:
    """Count the people of the crowd and, for each item that its units show, those who hold it."""
    n_items = n_people = 0
    before = -1
    for unit in crowd:
        owner = published.owner[unit]
        is_without = left_out and owner == me  # a group that the target was taken out of
        if owner != before:
            n_people += published.people[owner] - (1 if is_without else 0)
            before = owner
        for pair in range(published.indptr[unit], published.indptr[unit + 1]):
            item = published.ids[pair]
            if last[item] == owner:  # in another history of the same person
                continue
            if last[item] < 0:
                items[n_items] = item
                n_items += 1
            last[item] = owner
            count[item] += published.held[pair] - (1 if is_without and holds(own, item) else 0)
    return n_items, n_people


@jit
def _best(
    items: NDArray[np.int32],
    count: NDArray[np.int64],
    n_people: int,
    prior: NDArray[np.float64],
    known: NDArray[np.int32],
) -> int:
    """Return the item, other than the known ones, whose belief rose most; the lowest of equal ones, -1 for none."""
    best, most = -1, 0.0
    for item in items:
        rise = count[item] / n_people - prior[item]
        if rise > most or (rise == most and 0 <= item < best):
            is_known = False
            for other in known:
                is_known = is_known or other == item
            if not is_known:
                best, most = item, rise
    return best


@jit
def holds(row: NDArray[np.int32], item: int) -> bool:
    """Say whether an ascending row has an item."""
    place = np.searchsorted(row, item)
    return bool(place < len(row) and row[place] == item)
