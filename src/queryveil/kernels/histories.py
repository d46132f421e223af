"""From (history, term) pairs in any order to rows sorted and unique, with counts."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def group_pairs(
    history: NDArray[np.int32], term: NDArray[np.int32], n_histories: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return indptr, terms ascending within a history, and how often each (history, term) was given."""
    starts = np.zeros(n_histories + 1, np.int64)
    for h in history:
        starts[h + 1] += 1
    for h in range(n_histories):
        starts[h + 1] += starts[h]
    place = starts[:-1].copy()
    grouped = np.empty(len(term), np.int32)
    for i in range(len(term)):  # a counting sort by history
        grouped[place[history[i]]] = term[i]
        place[history[i]] += 1
    indptr = np.zeros(n_histories + 1, np.int64)
    counts = np.empty(len(term), np.int32)
    n_pairs = 0
    for h in range(n_histories):
        row = grouped[starts[h] : starts[h + 1]]
        row.sort()
        begin = n_pairs
        for t in row:
            if n_pairs > begin and grouped[n_pairs - 1] == t:
                counts[n_pairs - 1] += 1
            else:
                grouped[n_pairs] = t  # never ahead of the row being read
                counts[n_pairs] = 1
                n_pairs += 1
        indptr[h + 1] = n_pairs
    return indptr, grouped[:n_pairs].copy(), counts[:n_pairs].copy()


@jit
def count_people(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], owner: NDArray[np.int32], n_entries: int
) -> NDArray[np.int64]:
    """Count, for every entry, the people who hold it; histories of one person stand side by side."""
    people = np.zeros(n_entries, np.int64)
    last = np.full(n_entries, -1, np.int64)
    for h in range(len(indptr) - 1):
        for i in range(indptr[h], indptr[h + 1]):
            if last[ids[i]] != owner[h]:
                last[ids[i]] = owner[h]
                people[ids[i]] += 1
    return people


@jit
def renumber(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], counts: NDArray[np.int32], rank: NDArray[np.int32]
) -> None:
    """Replace every entry id by its rank and sort each row anew, in place."""
    packed = np.empty(0, np.int64)
    for h in range(len(indptr) - 1):
        begin, end = indptr[h], indptr[h + 1]
        if end - begin > len(packed):
            packed = np.empty(2 * (end - begin), np.int64)
        row = packed[: end - begin]
        for i in range(begin, end):
            row[i - begin] = (np.int64(rank[ids[i]]) << 32) | np.int64(counts[i])
        row.sort()
        for i in range(begin, end):
            ids[i] = row[i - begin] >> 32
            counts[i] = row[i - begin] & 0xFFFFFFFF
