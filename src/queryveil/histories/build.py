"""Building `Profiles`: histories × entries in the reference order, from a cleaned log."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.errors import LogError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.engines import QueryLog, Step
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.histories.tokens import Crew, Entries, Tokeniser, text_bytes
from queryveil.kernels.histories import by_falling, count_people, first_bytes, gather, sort_rows
from queryveil.lexicons.stop_words import ENGLISH

Unit = Literal["term", "query", "entry"]


class NoTermsError(LogError):
    """There is nothing in a log that a history could be made of."""


NO_TERMS = "no query of the log holds a term; check --columns, --charset and the cleaning options."
_WORKERS = min(4, os.cpu_count() or 1)


def build(log: QueryLog, *, unit: Unit = "term", progress: Progress = silent) -> Profiles:
    """Collect every history's terms, or whole queries (folded, or as they stand), each counted once per query."""
    history, term, words = _pairs(log, unit, progress)
    owner, partition = log.histories()
    if unit == "term":
        log.record(Step("terms", len(term), "terms found in queries", f"charset {log.source.cleaning.charset}"))
        history, term = _without_stop_words(log, history, term, words)
    if not len(term):
        raise NoTermsError(NO_TERMS)
    return assemble(
        history, term, words, owner, log.persons(), partition=partition, partition_values=log.partition_values
    )


def _without_stop_words(
    log: QueryLog, history: NDArray[np.int32], term: NDArray[np.int32], words: pa.Array
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    unit = "stop words left out"
    if log.source.cleaning.stop_words == "none":
        log.record(Step("stop words", 0, unit, "off"))
        return history, term
    kept = pc.invert(pc.is_in(words, pa.array(ENGLISH, words.type))).to_numpy(zero_copy_only=False)[term]
    log.record(Step("stop words", int(len(term) - np.count_nonzero(kept)), unit))
    return history[kept], term[kept]


def tokeniser_of(log: QueryLog, unit: Unit) -> Tokeniser | Entries:
    """Return what cuts a log's queries into terms, folds each to one entry, or takes each as it stands."""
    if unit == "entry":
        return Entries()
    return Tokeniser(log.source.cleaning.charset, whole=unit == "query")


def _pairs(log: QueryLog, unit: Unit, progress: Progress) -> tuple[NDArray[np.int32], NDArray[np.int32], pa.Array]:
    """Return the history and the entry's number of every pair, and the entries by number."""
    histories: list[NDArray[np.int32]] = []
    with Crew([tokeniser_of(log, unit) for _ in range(_WORKERS)]) as crew:
        for n_batches, batch in enumerate(log.batches()):
            histories.append(batch["history"].to_numpy().astype(np.int32))
            crew.add(batch["query"])
            progress("finding terms", n_batches, 0)
        found, words = crew.finish()
    history = [numbers[rows] for numbers, (rows, _) in zip(histories, found, strict=True)]
    term = [terms for _, terms in found]
    if not found:
        return np.empty(0, np.int32), np.empty(0, np.int32), words
    return np.concatenate(history), np.concatenate(term), words


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
    """Put (history, term) pairs into rows, entries in the reference order, and leave empty histories out."""
    order = np.arange(len(owner))
    if (owner[1:] < owner[:-1]).any():  # histories of one person must stand side by side
        order = np.argsort(owner, kind="stable")
        place = np.empty(len(owner), np.int32)
        place[order] = np.arange(len(owner), dtype=np.int32)
        history = place[history]
    starts, terms = gather(history, term, len(owner))
    filled = np.flatnonzero(np.diff(starts))
    starts = np.concatenate((starts[:1], starts[filled + 1]))
    order = order[filled]
    is_next = np.diff(owner[order], prepend=-1) > 0
    used, number = owner[order[is_next]], (np.cumsum(is_next) - 1).astype(np.int32)
    by_rank, rank = entry_order(starts, terms, number, words)
    indptr, ids, counts = _sorted_rows(starts, terms, rank, len(by_rank))
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


def _sorted_rows(
    starts: NDArray[np.int64], terms: NDArray[np.int32], rank: NDArray[np.int32], n_ranks: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Sort the rows in runs of histories, side by side."""
    share = np.arange(1, _WORKERS) * len(terms) // _WORKERS
    cuts = [0, *np.searchsorted(starts, share).tolist(), len(starts) - 1]
    with ThreadPoolExecutor(_WORKERS) as threads:
        work = [
            threads.submit(sort_rows, starts[a : b + 1] - starts[a], terms[starts[a] : starts[b]], rank, n_ranks)
            for a, b in itertools.pairwise(cuts)
        ]
        runs = [run.result() for run in work]
    lengths = np.concatenate([np.diff(indptr) for indptr, _, _ in runs])
    indptr = indptr_of(lengths)
    return indptr, np.concatenate([ids for _, ids, _ in runs]), np.concatenate([counts for _, _, counts in runs])


def entry_order(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], owner: NDArray[np.int32], words: pa.Array
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the used entries by falling number of people, ties by text, and every entry's rank in that order."""
    people = count_people(indptr, ids, owner, len(words))
    keys = first_bytes(*text_bytes(words))
    order = by_falling(people, np.argsort(keys))
    is_next_tied = (people[order[1:]] == people[order[:-1]]) & (keys[order[1:]] == keys[order[:-1]])
    tied = np.flatnonzero(np.append(is_next_tied, False) | np.insert(is_next_tied, 0, False))
    run = np.cumsum(~np.insert(is_next_tied, 0, False))[tied]
    table = pa.table({"run": run, "word": words.take(pa.array(order[tied]))})
    settled = pc.sort_indices(table, [("run", "ascending"), ("word", "ascending")]).to_numpy()
    order[tied] = order[tied[settled]]
    rank = np.full(len(people), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return order, rank
