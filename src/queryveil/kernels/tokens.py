"""Cutting queries into terms and numbering them: one pass over the bytes of a batch of queries.

Texts are UTF-8 in which every byte ≥ 128 is part of a term (`fold` has seen to that); of the ASCII characters,
letters and digits are, and capitals become lower case here. Terms are kept in an arena of bytes and found through
an open-addressing table; the caller makes room for a whole batch before the call, so that nothing grows inside.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

_OFFSET = np.uint64(14695981039346656037)  # FNV-1a
_PRIME = np.uint64(1099511628211)


@jit
def tokenise(
    data: NDArray[np.uint8],  # the texts of the batch, one after the other
    offsets: NDArray[np.int64],  # (rows + 1,)
    whole: bool,  # the entry is the whole query, its terms joined by single spaces
    table: NDArray[np.int32],  # slot → term, -1 where free; the length is a power of two
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],  # (terms + 1,): term t is arena[starts[t]:starts[t + 1]]
    hashes: NDArray[np.uint64],  # (terms,)
    seen: NDArray[np.int64],  # (terms,): the row that had the term last, counted over all batches
    n_terms: int,
    first_row: int,  # number of the batch's first row over all batches
    out_row: NDArray[np.int32],
    out_term: NDArray[np.int32],
) -> tuple[int, int]:
    """Write (row, term) once per term of a row; return the number of these and of all terms known now."""
    mask = np.uint64(len(table) - 1)
    n_out = 0
    for row in range(len(offsets) - 1):
        position, end = offsets[row], offsets[row + 1]
        while position < end:
            # copy the next entry to the arena's free end, where it stays if it is new
            begin = starts[n_terms]
            length = 0
            hash_ = _OFFSET
            while position < end:
                byte = data[position]
                position += 1
                if 65 <= byte <= 90:
                    byte += np.uint8(32)
                elif not (97 <= byte <= 122 or 48 <= byte <= 57 or byte >= 128):
                    if length == 0:
                        continue
                    if not whole:
                        break
                    byte = np.uint8(32)
                    if arena[begin + length - 1] == 32:
                        continue
                arena[begin + length] = byte
                length += 1
            if length > 0 and arena[begin + length - 1] == 32:
                length -= 1
            if length == 0:
                continue
            for i in range(begin, begin + length):
                hash_ = (hash_ ^ np.uint64(arena[i])) * _PRIME
            hash_ ^= hash_ >> np.uint64(29)
            slot = hash_ & mask
            term = -1
            while table[slot] >= 0:
                candidate = table[slot]
                if hashes[candidate] == hash_ and starts[candidate + 1] - starts[candidate] == length:
                    origin = starts[candidate]
                    same = True
                    for i in range(length):
                        if arena[origin + i] != arena[begin + i]:
                            same = False
                            break
                    if same:
                        term = candidate
                        break
                slot = (slot + np.uint64(1)) & mask
            if term < 0:
                term = n_terms
                table[slot] = term
                hashes[term] = hash_
                starts[term + 1] = begin + length
                seen[term] = -1
                n_terms += 1
            if seen[term] != first_row + row:
                seen[term] = first_row + row
                out_row[n_out] = row
                out_term[n_out] = term
                n_out += 1
    return n_out, n_terms


@jit
def rehash(table: NDArray[np.int32], hashes: NDArray[np.uint64], n_terms: int) -> None:
    """Enter all known terms into an empty, larger table."""
    mask = np.uint64(len(table) - 1)
    for term in range(n_terms):
        slot = hashes[term] & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = term
