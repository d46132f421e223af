"""Who matches what an attacker knows, what that says about a target, and what deletions reveal.

The known facts about a person are a row of items (terms, terms with counts, or moments). Every unit of a release, a
history or a group, scores the weights of the known items that it shows; the crowd are the people of the units with the
highest score, or, for exact matches, of units that show every known item. People are counted once, however many of
their histories match. A unit shows *names*: a term as typed, or one name for several terms, any of which it matches.

A term that a released history lacks could have stayed under (k, m)-anonymity if every combination of at most m terms
that it would make with the history's others is held by k people, the history's owner included. Combinations are
enumerated by size; each is the intersection of bit sets, one bit for each history that holds the term, and the first
with too few people ends the search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


class Published(NamedTuple):
    """Units by row and by item, and the people of each."""

    indptr: NDArray[np.int64]  # (units + 1,)
    ids: NDArray[np.int32]  # (pairs,): names, ascending and unique within a row
    held: NDArray[np.int64]  # (pairs,): how many people of the unit hold the item
    owner: NDArray[np.int32]  # (units,): ascending; a person, or for groups the group
    people: NDArray[np.int64]  # (owners,): how many people an owner is
    post_start: NDArray[np.int64]  # (items + 1,)
    post_unit: NDArray[np.int32]  # (pairs,): the units that show a name, ascending
    post_held: NDArray[np.int64]  # (pairs,): `held` in that order
    name_indptr: NDArray[np.int64]  # (items + 1,)
    names: NDArray[np.int32]  # item → the names that may stand for it, those that the fewest units show first
    item_indptr: NDArray[np.int64]  # (items + 1,)
    items: NDArray[np.int32]  # name → the items that it may stand for
    chances: NDArray[np.float64]  # (items,): how likely somebody behind the name holds each of them


class CrowdScratch(NamedTuple):
    """Scratch space that is reused from target to target."""

    score: NDArray[np.float64]  # (units,): zeros between targets
    touched: NDArray[np.int32]  # (units,)
    column: NDArray[np.int64]  # (units,): the known item that the unit matched last; −1 between targets


@jit
def _find_crowd(
    published: Published,
    scratch: CrowdScratch,
    known: NDArray[np.int32],
    n_right: int,
    me: int,
    weights: NDArray[np.float64],
    exact: bool,
    left_out: bool,
) -> NDArray[np.int32]:
    """Return the units that match what is known best, or exactly, ascending.

    If the target is left out, a history of the target is gone, and a group only shows what another member holds too.
    """
    n_touched, needed = 0, 0.0
    for column in range(len(known)):
        item = known[column]
        if item < 0:
            continue
        for name in published.names[published.name_indptr[item] : published.name_indptr[item + 1]]:
            for at in range(published.post_start[name], published.post_start[name + 1]):
                unit = published.post_unit[at]
                is_mine = left_out and published.owner[unit] == me
                if is_mine and (published.people[me] == 1 or (column < n_right and published.post_held[at] <= 1)):
                    continue
                if scratch.column[unit] == column:  # a rarer name of the unit stands for the item too
                    continue
                scratch.column[unit] = column
                if scratch.score[unit] == 0.0:
                    scratch.touched[n_touched] = unit
                    n_touched += 1
                scratch.score[unit] += 1.0 if exact else weights[name]
                needed = max(needed, scratch.score[unit])
    if exact:
        needed = float(np.count_nonzero(known >= 0))
    n_crowd = 0
    for unit in scratch.touched[:n_touched]:
        scratch.touched[n_crowd] = unit
        n_crowd += scratch.score[unit] == needed
        scratch.score[unit], scratch.column[unit] = 0.0, -1
    return np.sort(scratch.touched[:n_crowd])


@jit
def _new_scratch(n_units: int) -> CrowdScratch:
    """Return scratch space for so many units."""
    return CrowdScratch(np.zeros(n_units), np.empty(n_units, np.int32), np.full(n_units, -1))


@jit
def find_crowds(
    published: Published,
    known: NDArray[np.int32],  # (targets, items known): those that the target holds first, -1 for none
    n_right: int,  # the number of columns with items of the target; the others are wrong
    me: NDArray[np.int32],  # (targets,): the owner that the target belongs to, -1 for none
    weights: NDArray[np.float64],  # (items,): the score of a match by a name
    exact: bool,  # every known item must match
    left_out: bool,  # the target is first removed from the release
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return, for every target, how many people and owners are in the crowd, and whether the target is."""
    scratch = _new_scratch(len(published.owner))
    people, owners = np.zeros(len(known), np.int64), np.zeros(len(known), np.int64)
    is_in = np.zeros(len(known), np.bool_)
    for target in range(len(known)):
        before = -1
        for unit in _find_crowd(published, scratch, known[target], n_right, me[target], weights, exact, left_out):
            owner = published.owner[unit]
            if owner != before:  # units of one owner are adjacent
                is_mine, before = owner == me[target], owner
                is_in[target] = is_in[target] or is_mine
                owners[target] += 1
                people[target] += published.people[owner] - (1 if left_out and is_mine else 0)
    return people, owners, is_in


@jit
def believe(
    published: Published,
    known: NDArray[np.int32],  # (targets, items known)
    secret: NDArray[np.int32],  # (targets,): another item of the target
    me: NDArray[np.int32],  # (targets,): the owner that the target belongs to, -1 for none
    row: NDArray[np.int64],  # (targets,): the target's history
    own_indptr: NDArray[np.int64],  # (histories + 1,)
    own_ids: NDArray[np.int32],  # (pairs,): ascending within a row
    prior: NDArray[np.float64],  # (items,): the share of all people who hold it
    weights: NDArray[np.float64],  # (items,): the score of a match by a name
    left_out: bool,  # the target is first removed from the release
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return, for every target, the belief in the secret, and the item whose belief rose most, -1 if none did.

    The belief is the share of the crowd that holds the item, at most 1; without a crowd it is the prior. Who shows a
    name for several items holds each by its chance.
    """
    scratch = _new_scratch(len(published.owner))
    count, share = np.zeros(len(prior), np.int64), np.zeros(len(prior))
    last, names = np.full(len(prior), -1, np.int32), np.empty(len(prior), np.int32)
    belief, guess = np.empty(len(known)), np.empty(len(known), np.int32)
    for target in range(len(known)):
        n_right = known.shape[1]
        crowd = _find_crowd(published, scratch, known[target], n_right, me[target], weights, False, left_out)
        own = own_ids[own_indptr[row[target]] : own_indptr[row[target] + 1]]
        n_names, n_people = _count_holders(published, crowd, me[target], own, left_out, count, last, names)
        for name in names[:n_names]:
            for at in range(published.item_indptr[name], published.item_indptr[name + 1]):
                item = published.items[at]
                share[item] = min(1.0, share[item] + count[name] * published.chances[at] / n_people)
        belief[target] = share[secret[target]] if n_people else prior[secret[target]]
        guess[target] = _most_raised(published, names[:n_names], share, prior, known[target])
        for name in names[:n_names]:
            share[published.items[published.item_indptr[name] : published.item_indptr[name + 1]]] = 0.0
        count[names[:n_names]], last[names[:n_names]] = 0, -1
    return belief, guess


@jit
def _count_holders(
    published: Published,
    crowd: NDArray[np.int32],  # units, ascending, so that those of one owner are adjacent
    me: int,
    own: NDArray[np.int32],
    left_out: bool,
    count: NDArray[np.int64],
    last: NDArray[np.int32],
    names: NDArray[np.int32],
) -> tuple[int, int]:
    """Count the people of the crowd and, for each name that its units show, those whom it is shown of."""
    n_names = n_people = 0
    before = -1
    for unit in crowd:
        owner = published.owner[unit]
        is_without = left_out and owner == me  # a group that the target was taken out of
        if owner != before:
            n_people += published.people[owner] - (1 if is_without else 0)
            before = owner
        for pair in range(published.indptr[unit], published.indptr[unit + 1]):
            name = published.ids[pair]
            if last[name] == owner:  # in another history of the same person
                continue
            if last[name] < 0:
                names[n_names] = name
                n_names += 1
            last[name] = owner
            count[name] += published.held[pair] - (1 if is_without and holds(own, name) else 0)
    return n_names, n_people


@jit
def _most_raised(
    published: Published,
    names: NDArray[np.int32],
    share: NDArray[np.float64],
    prior: NDArray[np.float64],
    known: NDArray[np.int32],
) -> int:
    """Return the item of the names, not a known one, whose belief rose most; the lowest of equal ones, -1 for none."""
    best, most = -1, 0.0
    for name in names:
        for item in published.items[published.item_indptr[name] : published.item_indptr[name + 1]]:
            rise = share[item] - prior[item]
            if rise > most or (rise == most and 0 <= item < best):
                is_known = False
                for other in known:
                    is_known = is_known or other == item
                if not is_known:
                    best, most = item, rise
    return best


@jit
def holds(row: NDArray[np.int32], item: int) -> bool:
    """Return whether an ascending row has an item."""
    position = np.searchsorted(row, item)
    return bool(position < len(row) and row[position] == item)


COULD_HAVE_STAYED, BLOCKED, SHOWN = 0, 1, 2


@jit
def classify_items(
    published: Published,
    part: NDArray[np.int32],  # (units,): which part of the log; combinations count within it
    units: NDArray[np.int64],  # (queries,)
    items: NDArray[np.int32],  # (queries,)
    k: int,
    m: int,
) -> NDArray[np.int8]:
    """Return for each unit and item whether it is shown, could have stayed had it been there, or is blocked."""
    found = np.empty(len(units), np.int8)
    for query in range(len(units)):
        unit, item = units[query], items[query]
        row = published.ids[published.indptr[unit] : published.indptr[unit + 1]]
        if holds(row, item):
            found[query] = SHOWN
            continue
        posted = published.post_unit[published.post_start[item] : published.post_start[item + 1]]
        is_other = (published.owner[posted] != published.owner[unit]) & (part[posted] == part[unit])
        is_blocked = _is_blocked(published, row, posted[is_other], k, m)
        found[query] = BLOCKED if is_blocked else COULD_HAVE_STAYED
    return found


@jit
def _is_blocked(published: Published, row: NDArray[np.int32], holders: NDArray[np.int32], k: int, m: int) -> bool:
    """Return whether the item makes a combination of at most m items with the row that too few owners have."""
    owner = published.owner[holders]
    n_words = (len(holders) + 63) // 64
    bits = np.zeros((len(row), n_words), np.uint64)
    for h in range(len(holders)):
        at = 0  # both rows ascend
        for pair in range(published.indptr[holders[h]], published.indptr[holders[h] + 1]):
            while at < len(row) and row[at] < published.ids[pair]:
                at += 1
            if at == len(row):
                break
            if row[at] == published.ids[pair]:
                bits[at, h // 64] |= np.uint64(1) << np.uint64(h % 64)
    everybody = np.full(n_words, ~np.uint64(0))
    if len(holders) % 64:
        everybody[-1] = (np.uint64(1) << np.uint64(len(holders) % 64)) - np.uint64(1)
    if _has_few(everybody, owner, k - 1):
        return True
    for size in range(1, min(m - 1, len(row)) + 1):
        if _has_rare(bits, owner, size, k - 1):
            return True
    return False


@jit
def _has_rare(bits: NDArray[np.uint64], owner: NDArray[np.int32], size: int, required: int) -> bool:
    """Return whether some combination of `size` rows of bits has fewer owners than required."""
    n_rows, n_words = bits.shape
    chosen = np.arange(size)
    within = np.empty((size, n_words), np.uint64)  # the intersection of the first rows chosen
    changed = 0
    while True:
        for depth in range(changed, size):
            for word in range(n_words):
                above = within[depth - 1, word] if depth else ~np.uint64(0)
                within[depth, word] = above & bits[chosen[depth], word]
        if _has_few(within[size - 1], owner, required):
            return True
        changed = size - 1
        while changed >= 0 and chosen[changed] == n_rows - size + changed:
            changed -= 1
        if changed < 0:
            return False
        chosen[changed] += 1
        for depth in range(changed + 1, size):
            chosen[depth] = chosen[depth - 1] + 1


@jit
def _has_few(bits: NDArray[np.uint64], owner: NDArray[np.int32], required: int) -> bool:
    """Return whether the histories whose bits are set have fewer owners than required; equal owners are adjacent."""
    n, before = 0, -1
    for word in range(len(bits)):
        left = bits[word]
        h = word * 64
        while left:
            if left & np.uint64(1) and owner[h] != before:
                n += 1
                before = owner[h]
                if n == required:
                    return False
            left >>= np.uint64(1)
            h += 1
    return True
