"""Assembles `Profiles` from (history, entry) pairs: sparse rows, entries in the reference order.

The reference order is by falling number of people, ties by text.
"""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.arrow import break_ties
from queryveil.core.rows import IntArray, gather_rows, indptr_of
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.histories.tokens import text_bytes
from queryveil.kernels.histories import by_falling, count_people, first_bytes, gather, sort_rows

WORKERS = min(4, os.cpu_count() or 1)


def assemble(
    history: NDArray[np.int32],
    term: NDArray[np.int32],
    words: pa.Array,
    owner: NDArray[np.int32],
    persons: tuple[str, ...],
    *,
    partition: NDArray[np.int32] | None = None,
    partition_values: tuple[str, ...] = (),
) -> Profiles:
    """Return the profiles of (history, term) pairs; empty histories are left out."""
    order = np.arange(len(owner))
    if (owner[1:] < owner[:-1]).any():  # the histories of a person must be adjacent
        order = np.argsort(owner, kind="stable")
        position = np.empty(len(owner), np.int32)
        position[order] = np.arange(len(owner), dtype=np.int32)
        history = position[history]
    starts, terms = gather(history, term, len(owner))
    filled = np.flatnonzero(np.diff(starts))
    starts = np.concatenate((starts[:1], starts[filled + 1]))
    order = order[filled]
    is_first = np.diff(owner[order], prepend=-1) > 0  # the first history of its person
    used, number = owner[order[is_first]], (np.cumsum(is_first) - 1).astype(np.int32)
    by_rank, rank = entry_order(starts, terms, number, words)
    indptr, ids, counts = _sort_rows_in_threads(starts, terms, rank, len(by_rank))
    return Profiles(
        Vocabulary(tuple(words.take(pa.array(by_rank)).to_pylist())),
        indptr,
        ids,
        counts,
        number,
        persons if len(used) == len(persons) else tuple(persons[person] for person in used.tolist()),
        order,
        None if partition is None else partition[order],
        partition_values,
    )


def _sort_rows_in_threads(
    starts: NDArray[np.int64], terms: NDArray[np.int32], rank: NDArray[np.int32], n_ranks: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Sort the rows, runs of histories in parallel; return indptr, ranks and counts."""
    share = np.arange(1, WORKERS) * len(terms) // WORKERS
    cuts = [0, *np.searchsorted(starts, share).tolist(), len(starts) - 1]
    with ThreadPoolExecutor(WORKERS) as threads:
        work = [
            threads.submit(sort_rows, starts[a : b + 1] - starts[a], terms[starts[a] : starts[b]], rank, n_ranks)
            for a, b in itertools.pairwise(cuts)
        ]
        runs = [run.result() for run in work]
    indptr = indptr_of(np.concatenate([np.diff(indptr) for indptr, _, _ in runs]))
    return indptr, np.concatenate([ids for _, ids, _ in runs]), np.concatenate([counts for _, _, counts in runs])


def entry_order(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], owner: NDArray[np.int32], words: pa.Array
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the used entries in the reference order, and the rank of every entry in it (−1 for unused ones)."""
    people = count_people(indptr, ids, owner, len(words))
    keys = first_bytes(*text_bytes(words))
    order = by_falling(people, np.argsort(keys))
    equals_next = (people[order[1:]] == people[order[:-1]]) & (keys[order[1:]] == keys[order[:-1]])
    break_ties(order, equals_next, lambda tied: words.take(pa.array(tied)))
    rank = np.full(len(people), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return order, rank


def partition_profiles(profiles: Profiles, part: int) -> tuple[Profiles, IntArray]:
    """Return the profiles of a partition in their own reference order, and the original positions of their pairs."""
    if profiles.partition is None:
        return profiles, np.arange(len(profiles.ids))
    histories = np.flatnonzero(profiles.partition == part)
    indptr, inside = gather_rows(profiles.indptr, histories)
    selected = replace(
        profiles,
        indptr=indptr,
        ids=profiles.ids[inside],
        counts=profiles.counts[inside],
        owner=profiles.owner[histories],
        log_history=profiles.log_history[histories],
        partition=None,
        partition_values=(),
    )
    words = pa.array(profiles.vocabulary.entries, pa.large_string())
    order, rank = entry_order(selected.indptr, selected.ids, selected.owner, words)
    ids = rank[selected.ids]
    position = np.lexsort((ids, selected.row_numbers()))
    vocabulary = Vocabulary(tuple(profiles.vocabulary[i] for i in order))
    renumbered = replace(selected, vocabulary=vocabulary, ids=ids[position], counts=selected.counts[position])
    return renumbered, inside[position]
