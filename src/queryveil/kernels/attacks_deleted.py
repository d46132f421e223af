"""Whether a term that a released history lacks could have stayed in it under (k, m)-anonymity.

It could, if every combination of at most m terms that it would make with the history's others is held by k people,
the history's owner included. Combinations are looked at by size; each is the intersection of bits, one for each history
that holds the term, and the first that too few people hold ends the search.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.attacks import Published
from queryveil.kernels.attacks_beliefs import holds

COULD_HAVE_STAYED, BLOCKED, SHOWN = 0, 1, 2


@jit
def judge(
    published: Published,
    part: NDArray[np.int32],  # (units,): which part of the log; combinations count within it
    units: NDArray[np.int64],  # (questions,)
    items: NDArray[np.int32],  # (questions,)
    k: int,
    m: int,
) -> NDArray[np.int8]:
    """Say of each unit and item whether it is shown, could have stayed had it been there, or is blocked."""
    found = np.empty(len(units), np.int8)
    for question in range(len(units)):
        unit, item = units[question], items[question]
        row = published.ids[published.indptr[unit] : published.indptr[unit + 1]]
        if holds(row, item):
            found[question] = SHOWN
            continue
        holders = _holders(published, part, unit, item)
        is_blocked = _is_blocked(published, row, holders, k, m)
        found[question] = BLOCKED if is_blocked else COULD_HAVE_STAYED
    return found


@jit
def _holders(published: Published, part: NDArray[np.int32], unit: int, item: int) -> NDArray[np.int32]:
    """Return the units of other owners in the same part that show an item."""
    posted = published.post_unit[published.post_start[item] : published.post_start[item + 1]]
    holders = np.empty(len(posted), np.int32)
    n = 0
    for other in posted:
        if published.owner[other] != published.owner[unit] and part[other] == part[unit]:
            holders[n] = other
            n += 1
    return holders[:n]


@jit
def _is_blocked(published: Published, row: NDArray[np.int32], holders: NDArray[np.int32], k: int, m: int) -> bool:
    """Say whether the item makes a combination of at most m items with the row that too few owners have."""
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
    """Say whether some combination of so many rows of bits has fewer owners than required."""
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
    """Say whether the histories whose bits are set have fewer owners; those of one owner stand side by side."""
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
