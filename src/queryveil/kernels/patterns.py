"""The most frequent closed patterns of rows, in order of support, found with bit sets by prefix-preserving extension.

A pattern is closed if no further entry is in all rows that hold it. Each closed pattern but the first comes from
exactly one other by adding an entry behind the one added last and closing, if that adds no earlier entry (Uno, Asai,
Uchida, Arimura 2004). What comes from a pattern is in fewer rows than it, so patterns are extended in the order in
which they are wanted, and once n are known no pattern rarer than the last of them is extended.

Two kernels compare patterns with other patterns: by the entries they share, and by the distance of their meanings.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.matching import assign, make_sides
from queryveil.kernels.order import sort_range


class Found(NamedTuple):
    """The patterns known so far, in slots: slot 0 is what all rows hold, one is spare for a pattern that is made."""

    order: NDArray[np.int64]  # (n,): slots by rank
    support: NDArray[np.int64]  # (n + 2,): rows that hold the pattern
    size: NDArray[np.int64]  # (n + 2,)
    core: NDArray[np.int64]  # (n + 2,): the entry added last
    entries: NDArray[np.uint64]  # (n + 2, words): a bit for every entry
    rows: NDArray[np.uint64]  # (n + 2, words): a bit for every row


@jit
def entry_codes(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], codes: NDArray[np.uint64], n_entries: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the number of rows of every entry, and the XOR of their codes: equal codes mean equal sets of rows."""
    support, code = np.zeros(n_entries, np.int64), np.zeros(n_entries, np.uint64)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            support[ids[i]] += 1
            code[ids[i]] ^= codes[row]
    return support, code


@jit
def pair_codes(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    codes: NDArray[np.uint64],
    position: NDArray[np.int64],
    n_positions: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the number of rows of every pair of entries that have a position, and the XOR of their codes."""
    support, code = np.zeros((n_positions, n_positions), np.int64), np.zeros((n_positions, n_positions), np.uint64)
    held = np.empty(n_positions, np.int64)
    for row in range(len(indptr) - 1):
        n_held = 0
        for i in range(indptr[row], indptr[row + 1]):
            if position[ids[i]] >= 0:
                held[n_held] = position[ids[i]]
                n_held += 1
        for one in range(n_held):
            for other in range(one):
                low, high = min(held[one], held[other]), max(held[one], held[other])
                support[low, high] += 1
                code[low, high] ^= codes[row]
    return support.ravel(), code.ravel()


class Table(NamedTuple):
    """Which of the rows hold which of the entries that can be in a pattern, twice; entries are by falling support."""

    support: NDArray[np.int64]  # (entries,): rows that hold it
    bits: NDArray[np.uint64]  # (entries, words): a bit for every row
    indptr: NDArray[np.int64]  # (rows + 1,)
    ids: NDArray[np.int32]  # entries of each row, ascending


@jit
def make_table(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], position: NDArray[np.int64], support: NDArray[np.int64]
) -> Table:
    """Return the table of the entries that have a position, of which the supports are given."""
    n_rows = len(indptr) - 1
    bits = np.zeros((len(support), (n_rows + 63) // 64), np.uint64)
    row_indptr, row_ids = np.zeros(n_rows + 1, np.int64), np.empty(support.sum(), np.int32)
    end = 0
    for row in range(n_rows):
        word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
        for i in range(indptr[row], indptr[row + 1]):
            entry = position[ids[i]]
            if entry >= 0:
                bits[entry, word] |= bit
                row_ids[end] = entry
                end += 1
        row_indptr[row + 1] = end
        for i in range(row_indptr[row] + 1, end):
            if row_ids[i] < row_ids[i - 1]:
                sort_range(row_ids, row_indptr[row], end)
                break
    return Table(support, bits, row_indptr, row_ids)


@jit
def count_bits(x: np.uint64) -> np.uint64:
    """Count the bits of a word."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x += x >> np.uint64(8)
    x += x >> np.uint64(16)
    x += x >> np.uint64(32)
    return x & np.uint64(0x7F)


@jit
def count_common(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """Count the bits that two sets share."""
    total = np.uint64(0)
    for word in range(len(one)):
        total += count_bits(one[word] & other[word])
    return int(total)


@jit
def count_entries(
    table: Table, rows: NDArray[np.uint64], n_rows: int, first: int, last: int, counts: NDArray[np.int64]
) -> None:
    """Count the given rows that hold each entry before `last`; entries before `first` may get an upper bound.

    It goes through the rows or through the bits of every entry, whichever is faster.
    """
    n_words = table.bits.shape[1]
    if 4 * n_rows * len(table.ids) < (last - first) * n_words * (len(table.indptr) - 1):
        for entry in range(last):
            counts[entry] = 0
        for word in range(n_words):
            left = rows[word]
            while left:
                lowest = left & (~left + np.uint64(1))
                row = word * 64 + np.int64(count_bits(lowest - np.uint64(1)))
                for i in range(table.indptr[row], table.indptr[row + 1]):
                    if table.ids[i] >= last:
                        break
                    counts[table.ids[i]] += 1
                left ^= lowest
    else:
        for entry in range(first):
            counts[entry] = table.support[entry]
        for entry in range(first, last):
            counts[entry] = count_common(rows, table.bits[entry])


@jit
def is_within(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    """Return whether all bits of a set are in another."""
    for word in range(len(one)):
        if one[word] & ~other[word]:
            return False
    return True


@jit
def has(bits: NDArray[np.uint64], position: int) -> bool:
    """Return whether a bit is set."""
    return bits[position >> 6] >> np.uint64(position & 63) & np.uint64(1) != np.uint64(0)


@jit
def comes_before(found: Found, one: int, other: int) -> bool:
    """Return whether a pattern ranks first: more rows, then fewer entries, then the lowest entry they do not share."""
    if found.support[one] != found.support[other]:
        return found.support[one] > found.support[other]
    if found.size[one] != found.size[other]:
        return found.size[one] < found.size[other]
    for word in range(found.entries.shape[1]):
        different = found.entries[one, word] ^ found.entries[other, word]
        if different:
            lowest = different & (~different + np.uint64(1))
            return found.entries[one, word] & lowest != np.uint64(0)
    return False


@jit
def keep(found: Found, n_known: int, spare: int) -> tuple[int, int]:
    """Insert the pattern of the spare slot by rank; return how many patterns are known, and the new spare slot."""
    low, high = 0, n_known
    while low < high:
        middle = (low + high) // 2
        if comes_before(found, found.order[middle], spare):
            low = middle + 1
        else:
            high = middle
    if low == len(found.order):
        return n_known, spare
    if n_known < len(found.order):
        free = n_known + 2  # slot 1 is spare at first
        n_known += 1
    else:
        free = found.order[n_known - 1]
    for rank in range(n_known - 1, low, -1):
        found.order[rank] = found.order[rank - 1]
    found.order[low] = spare
    return n_known, free


@jit
def close(
    table: Table, found: Found, parent: int, entry: int, spare: int, last: int, counts: NDArray[np.int64]
) -> bool:
    """Compute the closure of the spare slot's rows; return False if it has a new entry before the added one."""
    rows, n_rows = found.rows[spare], found.support[spare]
    for other in range(entry):
        if counts[other] >= n_rows and not has(found.entries[parent], other) and is_within(rows, table.bits[other]):
            return False
    for word in range(found.entries.shape[1]):
        found.entries[spare, word] = found.entries[parent, word]
    found.size[spare], found.core[spare] = found.size[parent], entry
    for other in range(entry, last):
        is_new = counts[other] >= n_rows and not has(found.entries[parent], other)
        if is_new and is_within(rows, table.bits[other]):
            found.entries[spare, other >> 6] |= np.uint64(1) << np.uint64(other & 63)
            found.size[spare] += 1
    return True


@jit
def extend(table: Table, found: Found, parent: int, least: int, n_known: int, spare: int) -> tuple[int, int]:
    """Make the closed patterns that extend one pattern; return how many are known, and the spare slot.

    Until n are known, a pattern must be in at least `least` rows.
    """
    first, last = found.core[parent] + 1, len(table.support)
    if n_known == len(found.order):
        least = max(least, found.support[found.order[n_known - 1]])
    while last > 0 and table.support[last - 1] < least:
        last -= 1
    counts = table.support[:last].copy()
    if found.support[parent] < len(table.indptr) - 1:
        count_entries(table, found.rows[parent], found.support[parent], first, last, counts)
    for entry in range(first, last):
        if n_known == len(found.order):
            least = max(least, found.support[found.order[n_known - 1]])
        if counts[entry] < least or has(found.entries[parent], entry):
            continue
        found.support[spare] = counts[entry]
        for word in range(table.bits.shape[1]):
            found.rows[spare, word] = found.rows[parent, word] & table.bits[entry, word]
        if close(table, found, parent, entry, spare, last, counts):
            n_known, spare = keep(found, n_known, spare)
    return n_known, spare


@jit
def extend_all(
    table: Table,
    found: Found,
    least: int,
    rank: int,  # of the first pattern that has not been extended
    n_known: int,
    spare: int,
    most: int,  # patterns to extend in this call
) -> tuple[int, int, int, bool]:
    """Extend patterns in their order; return the next rank, how many are known, the spare slot, whether all is done."""
    last = rank + most
    while rank < n_known:
        slot = found.order[rank]
        is_full = n_known == len(found.order)
        if is_full and found.support[slot] == found.support[found.order[n_known - 1]]:
            return rank, n_known, spare, True  # whatever comes from here on is in fewer rows
        if rank == last:
            return rank, n_known, spare, False
        n_known, spare = extend(table, found, slot, least, n_known, spare)
        rank += 1
    return rank, n_known, spare, True


@jit
def most_shared(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int64],  # entries; −1 for one that the others cannot have
    post_indptr: NDArray[np.int64],  # entry → the other patterns that have it
    posts: NDArray[np.int32],
    n_others: int,
) -> NDArray[np.int64]:
    """Return, for every pattern, the most entries that it shares with one of the others."""
    shared, best = np.zeros(n_others, np.int64), np.zeros(len(indptr) - 1, np.int64)
    for pattern in range(len(best)):
        for i in range(indptr[pattern], indptr[pattern + 1]):
            if ids[i] >= 0:
                for p in range(post_indptr[ids[i]], post_indptr[ids[i] + 1]):
                    shared[posts[p]] += 1
                    best[pattern] = max(best[pattern], shared[posts[p]])
        for other in range(n_others):
            shared[other] = 0
    return best


@jit
def nearest(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    other_indptr: NDArray[np.int64],
    other_ids: NDArray[np.int32],
    distances: NDArray[np.int64],  # (entries, other entries): 2 · omega or more where they are not matched
    omega: int,
    first: int,
    last: int,
    best: NDArray[np.int64],  # (patterns,)
) -> None:
    """Write the distance to the nearest other pattern into `best`, for the patterns `first` to `last` − 1.

    A distance is the weight of a minimum-weight perfect matching in which every unmatched entry costs omega. Others
    are skipped if a lower bound, each entry matched with its nearest, is not below the best distance so far.
    """
    for pattern in range(first, last):
        rows = ids[indptr[pattern] : indptr[pattern + 1]]
        best[pattern] = omega * len(rows)  # all left alone, as if compared to an empty pattern
        is_first = True
        for other in range(len(other_indptr) - 1):
            columns = other_ids[other_indptr[other] : other_indptr[other + 1]]
            alone = omega * (len(rows) + len(columns))
            bound = alone
            for row in rows:
                least = 2 * omega
                for column in columns:
                    least = min(least, distances[row, column])
                bound += least - 2 * omega
            if is_first or bound < best[pattern]:
                cost = np.empty((len(rows), len(columns)), np.int64)
                for i in range(len(rows)):
                    for j in range(len(columns)):
                        cost[i, j] = min(distances[rows[i], columns[j]] - 2 * omega, 0)
                ones, others = np.ones(len(rows), np.int64), np.ones(len(columns), np.int64)
                saved, _ = assign(make_sides(cost, ones, others), -alone - 1, 0)
                if is_first or alone + saved < best[pattern]:
                    best[pattern] = alone + saved
                is_first = False
