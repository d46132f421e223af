"""Cutting queries into terms and numbering them: one pass over the bytes of a batch of queries.

Texts are UTF-8 in which every byte ≥ 128 is part of a term (`fold` has seen to that); of the ASCII characters,
letters and digits are, and capitals become lower case here. Terms are kept in an arena of bytes and found through
an open-addressing table of (key, term + 1), zeros where a slot is free. The key of a short term is its bytes, so that
most terms are compared without a look at the arena.
"""

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
_ONE, _BYTE, _HALF = np.uint64(1), np.uint64(8), np.uint64(32)


@jit
def tokenise(
    data: NDArray[np.uint8],  # the texts of the batch, one after the other
    offsets: NDArray[np.int64],  # (rows + 1,)
    first: int,  # the row to begin with
    whole: bool,  # the entry is the whole query, its terms joined by single spaces
    repeats: bool,  # a term counts as often as its row has it
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

    It stops before a row that could fill the table by more than half; all else has room for the whole batch.
    """
    mask = np.uint64(len(table) - 1)
    for row in range(first, len(offsets) - 1):
        position, end = offsets[row], offsets[row + 1]
        if 2 * n_terms + (end - position) + 1 > len(table):
            return n_out, n_terms, row
        while position < end:
            # copy the next entry to the arena's free end, where it stays if it is new
            begin = starts[n_terms]
            length = 0
            key = np.uint64(0)
            while position < end:
                byte = _FOLDED[data[position]]
                position += 1
                if byte == 0:
                    if length == 0:
                        continue
                    if not whole:
                        break
                    byte = np.uint8(32)
                    if arena[begin + length - 1] == 32:
                        continue
                arena[begin + length] = byte
                length += 1
                key = key << _BYTE | np.uint64(byte)
            if length > 0 and arena[begin + length - 1] == 32:
                length -= 1
                key >>= _BYTE
            if length == 0:
                continue
            if length <= _SHORT:
                key |= np.uint64(length) << np.uint64(56)
            else:
                key = _OFFSET
                for i in range(begin, begin + length):
                    key = (key ^ np.uint64(arena[i])) * _PRIME
                key = key >> _BYTE | _LONG
            slot = key * _MIX >> _HALF & mask
            term = -1
            while table[slot, 1] != 0:
                if table[slot, 0] == key:
                    candidate = int(table[slot, 1]) - 1
                    if length <= _SHORT or _is_same(arena, starts[candidate], starts[candidate + 1], begin, length):
                        term = candidate
                        break
                slot = (slot + _ONE) & mask
            if term < 0:
                term = n_terms
                table[slot, 0], table[slot, 1] = key, np.uint64(term + 1)
                keys[term] = key
                starts[term + 1] = begin + length
                seen[term] = -1
                n_terms += 1
            if whole or repeats or seen[term] != first_row + row:
                if not whole:
                    seen[term] = first_row + row
                out_row[n_out] = row
                out_term[n_out] = term
                n_out += 1
    return n_out, n_terms, len(offsets) - 1


@jit
def _is_same(arena: NDArray[np.uint8], origin: int, end: int, begin: int, length: int) -> bool:
    """Say whether a term of the arena is the one that was copied to `begin`."""
    if end - origin != length:
        return False
    for i in range(length):
        if arena[origin + i] != arena[begin + i]:
            return False
    return True


@jit
def enter(table: NDArray[np.uint64], keys: NDArray[np.uint64], n_terms: int) -> None:
    """Enter all known terms into an empty, larger table."""
    mask = np.uint64(len(table) - 1)
    for term in range(n_terms):
        slot = keys[term] * _MIX >> _HALF & mask
        while table[slot, 1] != 0:
            slot = (slot + _ONE) & mask
        table[slot, 0], table[slot, 1] = keys[term], np.uint64(term + 1)
