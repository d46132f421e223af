"""The n most frequent closed patterns of rows: sets of entries to which nothing can be added without losing a row.

The order is total: more rows first, then fewer entries, then the pattern that has the most frequent of the entries
which only one of the two has, ties by the lowest id. The empty pattern does not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import Int32Array, IntArray, indptr_of
from queryveil.kernels.patterns import Found, entry_codes, extend, extend_all, make_table, pair_codes

_PER_CALL = 1_000  # patterns extended between two progress reports
_PAIRED, _MOST_PAIRED = 8, 256  # entries per row that are paired, on average, and at most in all


@dataclass(frozen=True, eq=False)
class Patterns:
    """Patterns as CSR rows, the most frequent first."""

    indptr: IntArray  # (patterns + 1,)
    ids: Int32Array  # ascending within a pattern
    supports: IntArray  # (patterns,): rows that hold it

    def __len__(self) -> int:
        return len(self.supports)

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self.ids[begin:end] for begin, end in pairwise(self.indptr))


def closed_patterns(
    indptr: IntArray, ids: Int32Array, n_entries: int, n: int, *, progress: Progress = silent
) -> Patterns:
    """Return the n most frequent closed patterns of rows, or all if there are fewer."""
    n_rows = len(indptr) - 1
    codes = _hash_rows(n_rows)
    support, code = entry_codes(indptr, ids, codes, n_entries)
    least = _least_support(indptr, ids, codes, support, code, n)
    used = _by_frequency(support, least)
    position = np.full(n_entries, -1, np.int64)
    position[used] = np.arange(len(used))
    table = make_table(indptr, ids, position, support[used])
    found = _start_with_root(n, support[used], n_rows)
    n_known, spare = (1, 1) if found.size[0] else extend(table, found, 0, least, 0, 1)
    stage, rank, is_done = "looking for patterns", 0, False
    while not is_done:
        progress(stage, rank, n)
        rank, n_known, spare, is_done = extend_all(table, found, least, rank, n_known, spare, _PER_CALL)
    progress(stage, n, n)
    return _patterns(found, n_known, used)


def _hash_rows(n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of every row number (SplitMix64: Steele, Lea, Flood 2014)."""
    x = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _by_frequency(support: IntArray, least: int) -> IntArray:
    """Return the entries of at least `least` rows, the most frequent first."""
    found = np.flatnonzero(support >= least)
    return found[np.argsort(-support[found], kind="stable")]


def _least_support(
    indptr: IntArray,
    ids: Int32Array,
    codes: NDArray[np.uint64],
    support: IntArray,
    code: NDArray[np.uint64],
    n: int,
) -> int:
    """Return a support that at least n closed patterns reach, or 1.

    Sets that different rows hold have different closures. Considers the n most frequent entries, and pairs of the most
    frequent ones, few per row.
    """
    common = _by_frequency(support, 1 if n >= len(support) else max(int(np.partition(support, -n)[-n]), 1))
    n_paired = int(np.searchsorted(np.cumsum(support[common]), _PAIRED * (len(indptr) - 1)))
    n_paired = min(n_paired, _MOST_PAIRED, len(common))
    position = np.full(len(support), -1, np.int64)
    position[common[:n_paired]] = np.arange(n_paired)
    pair_support, pair_code = pair_codes(indptr, ids, codes, position, n_paired)
    supports = np.concatenate((support[common], pair_support[pair_support > 0]))
    _, first = np.unique(np.concatenate((code[common], pair_code[pair_support > 0])), return_index=True)
    return int(np.sort(supports[first])[-n]) if len(first) >= n else 1


def _start_with_root(n: int, support: IntArray, n_rows: int) -> Found:
    """Allocate n patterns, and store the entries that all rows hold in slot 0."""
    found = Found(
        np.zeros(n, np.int64),
        np.zeros(n + 2, np.int64),
        np.zeros(n + 2, np.int64),
        np.full(n + 2, -1, np.int64),
        np.zeros((n + 2, (len(support) + 63) // 64), np.uint64),
        np.zeros((n + 2, (n_rows + 63) // 64), np.uint64),
    )
    found.entries[0] = _bits(support == n_rows)
    found.rows[0] = _bits(np.ones(n_rows, np.bool_))
    found.support[0], found.size[0] = n_rows, np.count_nonzero(support == n_rows)
    return found


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack flags into 64-bit words."""
    padded = np.zeros((len(flags) + 63) // 64 * 64, np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.dtype("<u8"))


def _patterns(found: Found, n_known: int, used: IntArray) -> Patterns:
    """Return the patterns found, with the original ids of their entries."""
    slots = found.order[:n_known]
    flags = np.unpackbits(found.entries[slots].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    pattern, entry = np.nonzero(flags)
    ids = used[entry].astype(np.int32)
    indptr = indptr_of(found.size[slots])
    return Patterns(indptr, ids[np.lexsort((ids, pattern))], found.support[slots])
