"""Building `Profiles`: histories × entries in the reference order, from a cleaned log."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.engines import QueryLog, Step
from queryveil.errors import LogError
from queryveil.histories.tokens import Entries, Tokeniser
from queryveil.kernels.histories import count_people, group_pairs, renumber
from queryveil.lexicons.stop_words import ENGLISH
from queryveil.types import Profiles, Progress, Vocabulary, silent

Unit = Literal["term", "query", "entry"]


def build(log: QueryLog, *, unit: Unit = "term", progress: Progress = silent) -> Profiles:
    """Collect every history's terms, or whole queries (folded, or as they stand), each counted once per query."""
    tokeniser = tokeniser_of(log, unit)
    histories: list[NDArray[np.int32]] = []
    entries: list[NDArray[np.int32]] = []
    for batch in log.batches():
        rows, terms = tokeniser.add(batch["query"])
        histories.append(batch["history"].to_numpy()[rows].astype(np.int32))
        entries.append(terms.copy())
        progress("finding terms", sum(map(len, entries)), 0)
    owner, partition = log.histories()
    words = tokeniser.vocabulary()
    history, term = _joined(histories), _joined(entries)
    if unit == "term":
        log.record(Step("terms", len(term), "terms found in queries", f"charset {log.source.cleaning.charset}"))
        history, term = _without_stop_words(log, history, term, words)
    if not len(term):
        raise LogError("no query of the log holds a term; check --columns, --charset and the cleaning options.")
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


def _joined(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


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
    order = np.argsort(owner, kind="stable")  # histories of one person must stand side by side
    rank = np.empty(len(owner), np.int32)
    rank[order] = np.arange(len(owner), dtype=np.int32)
    indptr, ids, counts = group_pairs(rank[history], term, len(owner))
    filled = np.flatnonzero(np.diff(indptr))
    indptr = np.concatenate((indptr[:1], indptr[filled + 1]))
    order = order[filled]
    used, number = np.unique(owner[order], return_inverse=True)
    unranked = Profiles(
        Vocabulary(tuple(words.to_pylist())),
        indptr,
        ids,
        counts,
        number.astype(np.int32),
        tuple(persons[person] for person in used),
        order,
        None if partition is None else partition[order],
        partition_values,
    )
    return ranked(unranked)


def ranked(profiles: Profiles) -> Profiles:
    """Return the same profiles with their entries in the reference order, unused entries gone."""
    order, rank = entry_order(profiles)
    ids, counts = profiles.ids.copy(), profiles.counts.copy()
    renumber(profiles.indptr, ids, counts, rank)
    words = pa.array(profiles.vocabulary.entries, pa.large_string())
    return replace(profiles, vocabulary=Vocabulary(tuple(words.take(order).to_pylist())), ids=ids, counts=counts)


def entry_order(profiles: Profiles) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the used entries by falling number of people, ties by text, and every entry's rank in that order."""
    people = count_people(profiles.indptr, profiles.ids, profiles.owner, len(profiles.vocabulary))
    table = pa.table({"people": people, "word": pa.array(profiles.vocabulary.entries, pa.large_string())})
    order = pc.sort_indices(table, [("people", "descending"), ("word", "ascending")]).to_numpy()
    order = order[: np.count_nonzero(people)].astype(np.int64)
    rank = np.full(len(people), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return order, rank
