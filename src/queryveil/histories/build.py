"""Builds `Profiles` from a cleaned log or from (history, entry) pairs.

Entries are in the reference order: by falling number of people, ties by text.
"""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import arrow_numbers, arrow_texts, as_array, break_ties, release_freed_memory
from queryveil.core.errors import NoTermsError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, Int32Array, IntArray, gather_rows, indptr_of, row_numbers
from queryveil.engines import LogSource, QueryLog, Step
from queryveil.histories.profiles import Profiles
from queryveil.histories.tokens import Tokenizer, WholeTexts, text_bytes, tokenize
from queryveil.kernels.histories import by_falling, count_people, first_bytes, gather, sort_rows
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.terms import hold_excluded

WORKERS = min(4, os.cpu_count() or 1)
Unit = Literal["term", "query", "entry"]
NO_TERMS = "no query of the log holds a term; check --columns, --charset and the cleaning options."


def build(
    log: QueryLog,
    *,
    unit: Unit = "term",
    excludes_queries: bool = False,
    closes_log: bool = False,
    progress: Progress = silent,
) -> Profiles:
    """Return the profiles of a log; entries are terms, folded queries or unchanged queries, counted once per query.

    Excluded terms are left out, and whole queries that hold one; with `excludes_queries`, all terms of these queries.
    With `closes_log` the log is closed as soon as it has been read, since its memory is needed.
    """
    rows, words, people = _gather_log(log, unit, progress, excludes_queries=excludes_queries, closes_log=closes_log)
    return _number_entries(rows, words, people.owner, people.persons, people.partition, log.partition_values)


class _People(NamedTuple):
    """Whose histories those of a log are."""

    owner: Int32Array
    partition: Int32Array | None
    persons: tuple[str, ...]


def _gather_log(
    log: QueryLog, unit: Unit, progress: Progress, *, excludes_queries: bool, closes_log: bool
) -> tuple["_Rows", pa.Array, _People]:
    """Return the entries of every history and their texts; the arrays of single queries are freed with this call."""
    held, words, histories = _read_entries(log, unit, progress)
    people = _People(*log.owners_and_partitions(), log.persons())
    if closes_log:
        log.close()
        release_freed_memory()
    owner = people.owner
    before = _count_left(sum(map(len, histories)), owner, *histories)
    excluded = log.source.excluded
    is_excluded = np.array(hold_excluded(words.to_pylist(), excluded), np.bool_) if excluded else None
    public = held.without(is_excluded, whole_queries=excludes_queries)
    kept = public.without(_find_stop_words(log.source, words) if unit == "term" else None)
    _report_steps(log, unit, before, (held, public, kept), owner)
    if not len(kept.term):
        raise NoTermsError(NO_TERMS)
    return _gather_rows(kept.history, kept.term, owner), words, people


def _read_entries(log: QueryLog, unit: Unit, progress: Progress) -> tuple["_Entries", pa.Array, list[Int32Array]]:
    """Return the entries of all queries, their texts by number, and the history of every query, in batches."""
    histories: list[Int32Array] = []

    def queries() -> Iterator[tuple[int, pa.Array]]:
        for n_batches, batch in enumerate(log.batches()):
            histories.append(as_array(batch["history"]))
            yield n_batches % n_tokenizers, batch["query"]
            progress("finding terms", n_batches, 0)

    charset, is_whole = log.source.cleaning.charset, unit == "query"
    n_tokenizers = 1 if is_whole else WORKERS  # most queries are rare: merging their tables costs what threads save
    tokenizers = [WholeTexts() if unit == "entry" else Tokenizer(charset, whole=is_whole) for _ in range(n_tokenizers)]
    found, words = tokenize(tokenizers, queries())
    none = np.empty(0, np.int32)
    history = np.concatenate([none, *(numbers[rows] for numbers, (rows, _) in zip(histories, found, strict=True))])
    term = np.concatenate([none, *(terms for _, terms in found)])
    is_first = np.concatenate([none > 0, *(np.diff(rows, prepend=-1) > 0 for rows, _ in found)])  # of its query
    return _Entries(history, term, np.cumsum(is_first, dtype=np.int32)), words, histories


class _Entries(NamedTuple):
    """The entries of all queries; those of a query are adjacent."""

    history: Int32Array
    term: Int32Array
    query: Int32Array  # ascending numbers

    def without(self, is_dropped: BoolArray | None, *, whole_queries: bool = False) -> "_Entries":
        """Return what is left without some terms, given by number, or without all queries that hold one of them."""
        if is_dropped is None:
            return self
        is_kept = ~is_dropped[self.term]
        if whole_queries:
            is_kept = ~np.isin(self.query, self.query[~is_kept])
        return _Entries(self.history[is_kept], self.term[is_kept], self.query[is_kept])


def _find_stop_words(source: LogSource, words: pa.Array) -> BoolArray | None:
    """Return which entries are stop words, None if these are kept."""
    if source.cleaning.stop_words == "none":
        return None
    return as_array(pc.is_in(words, arrow_texts(sorted(STOP_WORDS), words.type)).cast(pa.uint8())).astype(np.bool_)


class _Left(NamedTuple):
    """What is left of a log after a step."""

    rows: int
    people: int
    histories: int


def _count_left(n_rows: int, owner: Int32Array, *histories: Int32Array) -> _Left:
    """Count the people and the histories that rows are left of, from the histories of these rows."""
    is_left = np.zeros(len(owner), np.bool_)
    for numbers in histories:
        is_left[numbers] = True
    has_rows = np.zeros(int(owner.max(initial=-1)) + 1, np.bool_)
    has_rows[owner[is_left]] = True
    return _Left(n_rows, int(np.count_nonzero(has_rows)), int(np.count_nonzero(is_left)))


def _report_steps(
    log: QueryLog, unit: Unit, before: _Left, stages: tuple[_Entries, _Entries, _Entries], owner: Int32Array
) -> None:
    """Add the last steps of the cleaning: what was left before, the entries found, and those after each list."""
    cleaning, is_term = log.source.cleaning, unit == "term"
    counted: list[_Left] = []
    for previous, stage in zip((None, *stages), stages, strict=False):
        n_queries = int(np.count_nonzero(np.diff(stage.query, prepend=0)))
        counted.append(counted[-1] if stage is previous else _count_left(n_queries, owner, stage.history))
    held, public, kept = counted
    n_found, n_public, n_kept = (len(stage.term) for stage in stages)
    n_empty, note = before.rows - held.rows, "empty, or without letters and digits"
    steps = [Step("no term", n_empty, "queries without a term left out", note, -n_empty, held.people - before.people)]
    if is_term:
        steps.insert(0, Step("terms", n_found, "terms found in queries", f"charset {cleaning.charset}"))
    if log.source.excluded:
        what = "excluded terms left out" if is_term else "queries with an excluded term left out"
        changes = public.rows - held.rows, public.people - held.people
        steps.append(Step("excluded terms", n_found - n_public, what, "", *changes))
    if is_term:
        note, changes = (
            "off" if cleaning.stop_words == "none" else "",
            (kept.rows - public.rows, kept.people - public.people),
        )
        steps.append(Step("stop words", n_public - n_kept, "stop words left out", note, *changes))
    steps.append(replace(log.steps["histories"], count=kept.histories))
    steps.append(Step("left", kept.rows, "queries left", f"{kept.people:,} people"))
    for name in ("terms", "no term", "excluded terms", "stop words", "histories", "left"):
        log.steps.pop(name, None)  # profiles of another unit may have been built before
    log.steps.update({step.name: step for step in steps})


def assemble(
    history: Int32Array, term: Int32Array, words: pa.Array, owner: Int32Array, persons: tuple[str, ...] = ()
) -> Profiles:
    """Return the profiles of (history, term) pairs; empty histories are left out, and people may have no identifier."""
    return _number_entries(_gather_rows(history, term, owner), words, owner, persons)


class _Rows(NamedTuple):
    """The entries of the histories that are not empty, those of a person adjacent."""

    starts: IntArray  # (rows + 1,)
    terms: Int32Array
    histories: IntArray  # (rows,): the number of each in the log


def _gather_rows(history: Int32Array, term: Int32Array, owner: Int32Array) -> _Rows:
    """Return the entries history by history."""
    order = np.arange(len(owner))
    if (owner[1:] < owner[:-1]).any():  # the histories of a person must be adjacent
        order = gather(owner, np.arange(len(owner), dtype=np.int32), int(owner.max()) + 1)[1].astype(np.int64)
        position = np.empty(len(owner), np.int32)
        position[order] = np.arange(len(owner), dtype=np.int32)
        history = position[history]
    starts, terms = gather(history, term, len(owner))
    is_filled = starts[1:] > starts[:-1]
    if not is_filled.all():
        starts, order = np.concatenate((starts[:1], starts[1:][is_filled])), order[is_filled]
    return _Rows(starts, terms, order)


def _number_entries(
    rows: _Rows,
    words: pa.Array,
    owner: Int32Array,
    persons: tuple[str, ...],
    partition: Int32Array | None = None,
    partition_values: tuple[str, ...] = (),
) -> Profiles:
    """Return the profiles with entries in the reference order."""
    starts, terms, order = rows
    is_first = np.diff(owner[order], prepend=-1) > 0  # the first history of its person
    used, number = owner[order[is_first]], np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    by_rank, rank = entry_order(starts, terms, number, words)
    indptr, ids, counts = _sort_rows_in_threads(starts, terms, rank, len(by_rank))
    return Profiles(
        tuple(words.take(arrow_numbers(by_rank)).to_pylist()),
        indptr,
        ids,
        counts,
        number,
        persons if len(persons) in (0, len(used)) else tuple(persons[person] for person in used.tolist()),
        order,
        None if partition is None else partition[order],
        partition_values,
    )


def _sort_rows_in_threads(
    starts: IntArray, terms: Int32Array, rank: Int32Array, n_ranks: int
) -> tuple[IntArray, Int32Array, Int32Array]:
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


def entry_order(indptr: IntArray, ids: Int32Array, owner: Int32Array, words: pa.Array) -> tuple[IntArray, Int32Array]:
    """Return the used entries in the reference order, and the rank of every entry in it (−1 for unused ones)."""
    people = count_people(indptr, ids, owner, len(words))
    keys = first_bytes(*text_bytes(words))
    order = by_falling(people, np.argsort(keys))
    equals_next = (people[order[1:]] == people[order[:-1]]) & (keys[order[1:]] == keys[order[:-1]])
    break_ties(order, equals_next, lambda tied: words.take(arrow_numbers(tied)))
    rank = np.full(len(people), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return order, rank


def partition_profiles(profiles: Profiles, part: int) -> tuple[Profiles, IntArray]:
    """Return the profiles of a partition in their own reference order, and the original positions of their pairs."""
    if profiles.partition is None:
        return profiles, np.arange(len(profiles.ids))
    histories = np.flatnonzero(profiles.partition == part)
    indptr, inside = gather_rows(profiles.indptr, histories)
    owner, ids = profiles.owner[histories], profiles.ids[inside]
    order, rank = entry_order(indptr, ids, owner, arrow_texts(profiles.vocabulary, pa.large_string()))
    selected = replace(
        profiles,
        vocabulary=tuple(profiles.vocabulary[i] for i in order),
        indptr=indptr,
        ids=rank[ids],
        counts=profiles.counts[inside],
        owner=owner,
        log_history=profiles.log_history[histories],
        partition=None,
        partition_values=(),
    )
    position = np.lexsort((selected.ids, row_numbers(selected.indptr)))
    sorted_rows = replace(selected, ids=selected.ids[position], counts=selected.counts[position])
    return sorted_rows, inside[position]


def locate_pairs(profiles: Profiles, history: IntArray, term: IntArray) -> IntArray:
    """Return the position in `ids` of every (history, term)."""
    n_terms = len(profiles.vocabulary)
    keys = row_numbers(profiles.indptr) * n_terms + profiles.ids  # sorted: rows ascend, ids ascend within a row
    return np.searchsorted(keys, history * n_terms + term)
