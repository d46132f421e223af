"""The n most frequent closed patterns of rows: sets of entries to which nothing can be added without losing a row.

Order: more rows first, then fewer entries, then the pattern with the most frequent of the entries that they do not
share, of equally frequent ones the lowest id; so that the first n are always the same ones. The empty pattern is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.kernels.patterns import Found, entry_codes, extend, extend_all, make_table, pair_codes

_PER_CALL = 1_000  # patterns extended between two reports
_PAIRED, _MOST_PAIRED = 8, 256  # entries of a row that are paired, on average, and of all
_STAGE = "looking for patterns"


@dataclass(frozen=True, eq=False)
class Patterns:
    """Patterns in compressed sparse rows, the most frequent first."""

    indptr: NDArray[np.int64]  # (patterns + 1,)
    ids: NDArray[np.int32]  # ascending within a pattern
    supports: NDArray[np.int64]  # (patterns,): rows that hold it

    def __len__(self) -> int:
        return len(self.supports)

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self.ids[begin:end] for begin, end in pairwise(self.indptr))


def closed_patterns(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_entries: int, n: int, *, progress: Progress = silent
) -> Patterns:
    """Return the n most frequent closed patterns of rows, or all where there are fewer."""
    n_rows = len(indptr) - 1
    codes = _codes(n_rows)
    support, code = entry_codes(indptr, ids, codes, n_entries)
    least = _least_support(indptr, ids, codes, support, code, n)
    used = _by_falling(support, least)
    place = np.full(n_entries, -1, np.int64)
    place[used] = np.arange(len(used))
    table = make_table(indptr, ids, place, support[used])
    found = _held_by_all(n, support[used], n_rows)
    n_known, spare = (1, 1) if found.size[0] else extend(table, found, 0, least, 0, 1)
    rank, is_done = 0, False
    while not is_done:
        progress(_STAGE, rank, n)
        rank, n_known, spare, is_done = extend_all(table, found, least, rank, n_known, spare, _PER_CALL)
    progress(_STAGE, n, n)
    return _patterns(found, n_known, used)


def _codes(n_rows: int) -> NDArray[np.uint64]:
    """Return a well-mixed number for every row (Steele, Lea, Flood 2014)."""
    x = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _by_falling(support: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return the entries of at least so many rows, the most frequent first."""
    found = np.flatnonzero(support >= least)
    return found[np.argsort(-support[found], kind="stable")]


def _least_support(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    codes: NDArray[np.uint64],
    support: NDArray[np.int64],
    code: NDArray[np.uint64],
    n: int,
) -> int:
    """Return a support that n closed patterns reach, 1 if none is known: what different rows hold closes differently.

    Looked at are the n most frequent entries, and pairs of as many of them as rows hold only a few of.
    """
    common = _by_falling(support, 1 if n >= len(support) else max(int(np.partition(support, -n)[-n]), 1))
    n_paired = int(np.searchsorted(np.cumsum(support[common]), _PAIRED * (len(indptr) - 1)))
    n_paired = min(n_paired, _MOST_PAIRED, len(common))
    place = np.full(len(support), -1, np.int64)
    place[common[:n_paired]] = np.arange(n_paired)
    pair_support, pair_code = pair_codes(indptr, ids, codes, place, n_paired)
    supports = np.concatenate((support[common], pair_support[pair_support > 0]))
    _, first = np.unique(np.concatenate((code[common], pair_code[pair_support > 0])), return_index=True)
    return int(np.sort(supports[first])[-n]) if len(first) >= n else 1


def _held_by_all(n: int, support: NDArray[np.int64], n_rows: int) -> Found:
    """Return room for n patterns, and the one that all rows hold in slot 0."""
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
    """Return flags as the bits of whole words."""
    padded = np.zeros((len(flags) + 63) // 64 * 64, np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.dtype("<u8"))


def _patterns(found: Found, n_known: int, used: NDArray[np.int64]) -> Patterns:
    """Return the known patterns with the ids that their entries had."""
    slots = found.order[:n_known]
    flags = np.unpackbits(found.entries[slots].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    pattern, entry = np.nonzero(flags)
    ids = used[entry].astype(np.int32)
    indptr = indptr_of(found.size[slots])
    return Patterns(indptr, ids[np.lexsort((ids, pattern))], found.support[slots])
