"""Kernels of histories: sorting (history, term) pairs into rows of unique terms with counts, counting, and cosines."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.order import maximum_of


@jit
def gather(
    history: NDArray[np.int32], term: NDArray[np.int32], n_histories: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Group terms by history with a stable counting sort; return where each history begins, and the terms."""
    starts = np.zeros(n_histories + 1, np.int64)
    for h in history:
        starts[h + 1] += 1
    for h in range(n_histories):
        starts[h + 1] += starts[h]
    position = starts[:-1].copy()
    terms = np.empty(len(term), np.int32)
    for i in range(len(term)):
        terms[position[history[i]]] = term[i]
        position[history[i]] += 1
    return starts, terms


@jit
def sort_rows(
    starts: NDArray[np.int64], terms: NDArray[np.int32], rank: NDArray[np.int32], n_ranks: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return indptr, the ranks of terms ascending and unique within a history, and how often each occurs.

    Two counting sorts: histories by rank, then ranks, ascending, by history.
    """
    n_histories = len(starts) - 1
    position = np.zeros(n_ranks + 1, np.int64)
    for t in terms:
        position[rank[t] + 1] += 1
    for r in range(n_ranks):
        position[r + 1] += position[r]
    holder = np.empty(len(terms), np.int32)
    for h in range(n_histories):
        for i in range(starts[h], starts[h + 1]):
            r = rank[terms[i]]
            holder[position[r]] = h
            position[r] += 1  # in the end where the next rank begins
    ranks, counts = np.empty(len(terms), np.int32), np.empty(len(terms), np.int32)
    end = starts[:-1].copy()
    i = 0
    for r in range(n_ranks):
        while i < position[r]:
            h = holder[i]
            i += 1
            if end[h] > starts[h] and ranks[end[h] - 1] == r:
                counts[end[h] - 1] += 1
            else:
                ranks[end[h]], counts[end[h]] = r, 1
                end[h] += 1
    indptr = np.zeros(n_histories + 1, np.int64)
    for h in range(n_histories):
        indptr[h + 1] = indptr[h] + end[h] - starts[h]
        for i in range(end[h] - starts[h]):  # never ahead of the row being read
            ranks[indptr[h] + i], counts[indptr[h] + i] = ranks[starts[h] + i], counts[starts[h] + i]
    n_pairs = indptr[n_histories]
    if n_pairs == len(terms):
        return indptr, ranks, counts
    return indptr, ranks[:n_pairs].copy(), counts[:n_pairs].copy()


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
def first_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first eight bytes of every text as a number that orders texts as these bytes do."""
    keys = np.zeros(len(offsets) - 1, np.uint64)
    for text in range(len(keys)):
        for i in range(8):
            position = offsets[text] + i
            keys[text] = keys[text] << np.uint64(8) | np.uint64(data[position] if position < offsets[text + 1] else 0)
    return keys


@jit
def by_falling(values: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort an order by descending value with a stable counting sort, leaving out values of 0."""
    position = np.zeros(maximum_of(values) + 1, np.int64)
    for value in values:
        position[value] += 1
    n_used = 0
    for value in range(len(position) - 1, 0, -1):
        position[value], n_used = n_used, n_used + position[value]
    falling = np.empty(n_used, np.int64)
    for i in order:
        if values[i] > 0:
            falling[position[values[i]]] = i
            position[values[i]] += 1
    return falling


@jit
def cosines(
    indptr: NDArray[np.int64],  # (documents + 1,): row d is ids[indptr[d]:indptr[d + 1]]
    ids: NDArray[np.int32],
    weights: NDArray[np.float32],
    documents: NDArray[np.int32],  # the rows that are wanted, in this order
    profile_indptr: NDArray[np.int64],  # (profiles + 1,)
    profile_ids: NDArray[np.int32],
    profile_weights: NDArray[np.float32],
    scattered: NDArray[np.float32],  # (terms,): zeros; one profile at a time is written out here, and wiped
    out: NDArray[np.float32],  # (profiles, documents)
) -> None:
    """Write the cosine of every profile and document, all vectors being of unit length.

    Sums are taken in double precision, in the order of a document's terms.
    """
    for profile in range(len(profile_indptr) - 1):
        first, end = profile_indptr[profile], profile_indptr[profile + 1]
        for pair in range(first, end):
            scattered[profile_ids[pair]] = profile_weights[pair]
        for position in range(len(documents)):
            total = 0.0
            document = documents[position]
            for pair in range(indptr[document], indptr[document + 1]):
                total += np.float64(weights[pair]) * np.float64(scattered[ids[pair]])  # float() would stay single here
            out[profile, position] = total
        for pair in range(first, end):
            scattered[profile_ids[pair]] = 0.0
