"""Splitting queries into terms and numbering the terms, in two passes over a batch of queries.

Texts are UTF-8 in which every byte ≥ 128 is part of a term (`fold` ensures this); of the ASCII characters, letters and
digits are, and capitals become lower case here. Terms are stored in an arena of bytes and found through an
open-addressing table of (key, term + 1), zeros where a slot is free. The key of a short term is its bytes, so that most
terms are compared without reading the arena. Lookup is a separate pass, so that a processor can load the memory of
several terms at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

_OFFSET = np.uint64(14695981039346656037)  # FNV-1a
_PRIME = np.uint64(1099511628211)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHORT = 7  # bytes of a key that are the term's own; the eighth is its length
_LONG = np.uint64(0xFF) << np.uint64(56)
_FOLDED = np.array(  # byte → the byte in a term, 0 where it is in none
    [b | 32 if 65 <= b <= 90 else b if 97 <= b <= 122 or 48 <= b <= 57 or b >= 128 else 0 for b in range(256)], np.uint8
)
_PREFETCHED = 128  # entries
_ONE, _BYTE, _HALF = np.uint64(1), np.uint64(8), np.uint64(32)


@jit
def cut(
    data: NDArray[np.uint8],  # the texts of the batch, one after the other
    offsets: NDArray[np.int64],  # (rows + 1,)
    whole: bool,  # the entry is the whole query, its terms joined by single spaces
    arena: NDArray[np.uint8],
    begin: int,  # where the arena is free
    out_row: NDArray[np.int32],
    out_end: NDArray[np.int64],
    out_key: NDArray[np.uint64],
) -> int:
    """Copy the entries of all rows to the arena's free end; return how many there are."""
    n_out = 0
    for row in range(len(offsets) - 1):
        position, end = offsets[row], offsets[row + 1]
        while position < end:
            place = begin
            short, long = np.uint64(0), _OFFSET
            while position < end:
                byte = _FOLDED[data[position]]
                position += 1
                if byte == 0:
                    if place == begin:
                        continue
                    if not whole:
                        break
                    while position < end and _FOLDED[data[position]] == 0:
                        position += 1
                    if position == end:
                        break
                    byte = np.uint8(32)
                arena[place] = byte
                place += 1
                short = short << _BYTE | np.uint64(byte)
                long = (long ^ np.uint64(byte)) * _PRIME
            if place > begin:
                out_row[n_out], out_end[n_out], out_key[n_out] = row, place, _key(short, long, place - begin)
                n_out += 1
                begin = place
    return n_out


@jit
def number(
    first: int,  # the entry to begin with
    n_entries: int,
    whole: bool,
    repeats: bool,  # a term counts as often as its row has it
    row_of: NDArray[np.int32],  # (entries,)
    ends: NDArray[np.int64],  # (entries,): in the arena
    key_of: NDArray[np.uint64],  # (entries,)
    begin: int,  # of the first entry, in the arena
    table: NDArray[np.uint64],  # (slots, 2); the number of slots is a power of two
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],  # (terms + 1,): term t is arena[starts[t]:starts[t + 1]]
    keys: NDArray[np.uint64],  # (terms,)
    seen: NDArray[np.int64],  # (terms,): the row that had the term last, counted over all batches
    n_terms: int,
    first_row: int,  # number of the batch's first row over all batches
    out_row: NDArray[np.int32],
    out_term: NDArray[np.int32],
    n_out: int,
) -> tuple[int, int, int]:
    """Write (row, term), once per term of a row or each time; return how many there are, all terms, where to go on.

    It stops before the table is more than half full; a new entry moves down to the end of those known.
    """
    mask = np.uint64(len(table) - 1)
    likely = np.empty(_PREFETCHED, np.int64)
    for entry in range(first, n_entries):
        if (entry - first) % _PREFETCHED == 0:
            _prefetch(table, arena, starts, key_of[entry : entry + _PREFETCHED], mask, likely)
        if 2 * (n_terms + 1) > len(table):
            return n_out, n_terms, entry
        origin = begin if entry == 0 else ends[entry - 1]
        length = ends[entry] - origin
        slot, term = _find(table, arena, starts, key_of[entry], mask, arena, origin, length)
        if term < 0:
            term = n_terms
            table[slot, 0], table[slot, 1] = key_of[entry], np.uint64(term + 1)
            keys[term] = key_of[entry]
            free = starts[term]
            for i in range(length):
                arena[free + i] = arena[origin + i]
            starts[term + 1] = free + length
            seen[term] = -1
            n_terms += 1
        row = row_of[entry]
        if whole or repeats or seen[term] != first_row + row:
            if not whole:
                seen[term] = first_row + row
            out_row[n_out] = row
            out_term[n_out] = term
            n_out += 1
    return n_out, n_terms, n_entries


class Phrases(NamedTuple):
    """Weights of two terms of which one follows the other, as rows by the first term."""

    indptr: NDArray[np.int64]  # (terms + 1,)
    seconds: NDArray[np.int32]
    weights: NDArray[np.float64]


@jit
def weigh(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    table: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    weights: NDArray[np.float64],  # (terms,)
    phrases: Phrases,
    added: NDArray[np.float64],  # (rows, 2): zeros
    counted: NDArray[np.int64],  # (rows,): zeros
) -> None:
    """Add to every row the weights of its distinct known terms, and of phrases of two of them; count the terms.

    Weights above zero and those below it have a column each.
    """
    mask = np.uint64(len(table) - 1)
    seen = np.full(len(weights), -1, np.int64)
    for row in range(len(offsets) - 1):
        position, end, before = offsets[row], offsets[row + 1], -1
        while position < end:
            short, long, length = np.uint64(0), _OFFSET, 0
            while position < end:
                byte = _FOLDED[data[position]]
                position += 1
                if byte == 0:
                    if length == 0:
                        continue
                    break
                length += 1
                short = short << _BYTE | np.uint64(byte)
                long = (long ^ np.uint64(byte)) * _PRIME
            if length == 0:
                continue
            origin = position - length if byte != 0 else position - 1 - length
            _, term = _find(table, arena, starts, _key(short, long, length), mask, data, origin, length)
            if term >= 0 and seen[term] != row:
                seen[term] = row
                added[row, np.int64(weights[term] < 0)] += weights[term]
                counted[row] += 1
                if before >= 0:
                    for i in range(phrases.indptr[before], phrases.indptr[before + 1]):
                        if phrases.seconds[i] == term:
                            added[row, np.int64(phrases.weights[i] < 0)] += phrases.weights[i]
                before = term


@jit
def _prefetch(
    table: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    mask: np.uint64,
    likely: NDArray[np.int64],
) -> None:
    """Load the memory that looking up some keys will need: independent loads overlap."""
    for i in range(len(keys)):
        likely[i] = max(int(table[keys[i] * _MIX >> _HALF & mask, 1]) - 1, 0)
    for i in range(len(keys)):
        likely[i] = starts[likely[i]]
    for i in range(len(keys)):
        likely[i] = arena[likely[i]]


@jit
def _key(short: np.uint64, long: np.uint64, length: int) -> np.uint64:
    """Return the key of a term: its bytes, or a digest of them."""
    return short | np.uint64(length) << np.uint64(56) if length <= _SHORT else long >> _BYTE | _LONG


@jit
def _find(
    table: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    key: np.uint64,
    mask: np.uint64,
    text: NDArray[np.uint8],  # where the term stands
    origin: int,
    length: int,
) -> tuple[np.uint64, int]:
    """Return the slot and number of a term, or a free slot for it and −1."""
    slot = key * _MIX >> _HALF & mask
    while table[slot, 1] != 0:
        if table[slot, 0] == key:
            term = int(table[slot, 1]) - 1
            if length <= _SHORT or _is_same(arena, starts[term], starts[term + 1], text, origin, length):
                return slot, term
        slot = (slot + _ONE) & mask
    return slot, -1


@jit
def _is_same(arena: NDArray[np.uint8], begin: int, end: int, text: NDArray[np.uint8], origin: int, length: int) -> bool:
    """Return whether a term of the arena equals the one in a text, regardless of case."""
    if end - begin != length:
        return False
    for i in range(length):
        byte = text[origin + i]
        if arena[begin + i] != byte and arena[begin + i] != _FOLDED[byte]:
            return False
    return True


@jit
def enter(table: NDArray[np.uint64], keys: NDArray[np.uint64], n_terms: int) -> None:
    """Insert all known terms into an empty, larger table."""
    mask = np.uint64(len(table) - 1)
    for term in range(n_terms):
        slot = keys[term] * _MIX >> _HALF & mask
        while table[slot, 1] != 0:
            slot = (slot + _ONE) & mask
        table[slot, 0], table[slot, 1] = keys[term], np.uint64(term + 1)
