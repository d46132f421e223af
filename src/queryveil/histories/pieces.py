"""Pieces of histories: what is published of a history as several unlinked histories, each of its terms in one of them.

A person's pieces have no term of one history twice, so a combination is in at most one piece of each history. Here is
also which entries stand in which single query, and which pairs of terms a person has in one history.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from queryveil.core.progress import Progress
from queryveil.core.rows import Int32Array, IntArray, gather_rows, indptr_of, ranges, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import KeptColumn
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people, gather
from queryveil.logs.terms import hold_excluded

_PAIRS_PER_STEP = 1_000_000


@dataclass(frozen=True, eq=False)
class Occurrences:
    """The entries of every single query, each as a pair of `Profiles`: the content of a release of kind `log`."""

    history: IntArray  # (queries,): the history of each query in the profiles
    query: Int32Array  # (occurrences,)
    pair: IntArray  # (occurrences,): position in the profiles' `ids`
    extra: Mapping[str, pa.Array]  # (queries,): times, ranks, URLs that are kept


def find_occurrences(
    log: QueryLog,
    profiles: Profiles,
    keep: Sequence[KeptColumn] = (),
    *,
    unit: Literal["term", "query", "entry"] = "term",
) -> Occurrences:
    """Stream the log again and find the pair of every entry of every query; `keep` has the columns to add."""
    from queryveil.histories.build import locate_pairs  # slow to import, and kinds are listed without it
    from queryveil.histories.tokens import Tokenizer

    tokenizer = Tokenizer(log.source.cleaning.charset, whole=unit == "query")
    queries, terms, histories = [], [], []
    extra: dict[str, list[pa.Array]] = {column.name: [] for column in keep}
    n_queries = 0
    for batch in log.batches(keep):
        rows, found = tokenizer.add(batch["query"])
        queries.append(rows + np.int32(n_queries))
        terms.append(found.copy())
        histories.append(batch["history"].to_numpy())
        for name, parts in extra.items():
            parts.append(batch[name])
        n_queries += len(batch)
    query, term = np.concatenate(queries), np.concatenate(terms)
    position = np.full(len(log.owners_and_partitions()[0]), -1, np.int64)  # in the profiles, −1 for empty histories
    position[profiles.log_history] = np.arange(profiles.n_histories)
    history = position[np.concatenate(histories)]
    ids = {entry: number for number, entry in enumerate(profiles.vocabulary)}
    known = np.array([ids.get(word, -1) for word in tokenizer.vocabulary().to_pylist()], np.int64)[term]
    is_known = known >= 0  # false for stop words
    query, known = query[is_known], known[is_known]
    columns = {name: _without_excluded(pa.concat_arrays(parts), log.source.excluded) for name, parts in extra.items()}
    return Occurrences(history, query, locate_pairs(profiles, history[query], known), columns)


def _without_excluded(values: pa.Array, excluded: frozenset[str]) -> pa.Array:
    """Return kept values, with none in place of texts, such as URLs, that hold an excluded term."""
    if not excluded or not pa.types.is_string(values.type):
        return values
    is_held = hold_excluded((value or "" for value in values.to_pylist()), excluded)
    return pa.array(
        [None if held else value for held, value in zip(is_held, values.to_pylist(), strict=True)], values.type
    )


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of all histories as profiles; a history of which nothing is kept has one empty piece."""

    profiles: Profiles  # its histories are the pieces, and its pairs are those that are kept
    history: IntArray  # (pieces,): the history of each, ascending
    position: Int32Array  # (pairs of the log,): the position of each among the kept ones, -1 where it is not kept


def cut_into_pieces(profiles: Profiles, piece: Int32Array) -> Pieces:
    """Return the pieces of histories; `piece` is the number of each pair's piece in its history, -1 for none."""
    kept = np.flatnonzero(piece >= 0)
    row = row_numbers(profiles.indptr, np.int32)[kept]
    n_pieces = np.ones(profiles.n_histories, np.int32)
    np.maximum.at(n_pieces, row, piece[kept] + np.int32(1))
    begin = indptr_of(n_pieces)
    number = begin.astype(np.int32)[row] + piece[kept]
    indptr, order = gather(number, np.arange(len(kept), dtype=np.int32), int(begin[-1]))
    position = np.full(len(piece), -1, np.int32)
    kept = kept[order]  # by piece; the terms of a piece stay in their order
    position[kept] = np.arange(len(kept))
    history = row_numbers(begin)
    cut = replace(
        profiles,
        indptr=indptr,
        ids=profiles.ids[kept],
        counts=profiles.counts[kept],
        owner=profiles.owner[history],
        log_history=profiles.log_history[history] if len(profiles.log_history) else profiles.log_history,
        partition=None if profiles.partition is None else profiles.partition[history],
        weights=None if profiles.weights is None else profiles.weights[kept],
    )
    return Pieces(cut, history, position)


def cut_queries(queries: Occurrences, pieces: Pieces) -> Occurrences:
    """Return the kept occurrences, with each query cut where its terms are in several pieces.

    Kept values of a query that was cut are left out, since equal ones would tell which pieces belong together.
    """
    position = pieces.position[queries.pair]
    is_kept = position >= 0
    pair, query = (each[is_kept].astype(np.int64) for each in (position, queries.query))
    piece = row_numbers(pieces.profiles.indptr)[pair]
    parts, number = np.unique(query * len(pieces.history) + piece, return_inverse=True)
    query, piece = np.divmod(parts, len(pieces.history))
    is_whole = np.bincount(query, minlength=len(queries.history))[query] == 1
    taken = pa.array(query, mask=~is_whole)
    extra = {name: values.take(taken) for name, values in queries.extra.items()}
    return Occurrences(piece, number.astype(np.int32), pair, extra)


@dataclass(frozen=True, eq=False)
class PersonRows:
    """Histories over the terms of the original, those of a person side by side."""

    indptr: IntArray
    ids: Int32Array  # ascending within a history
    owner: Int32Array  # (histories,): ascending

    @classmethod
    def of_profiles(cls, profiles: Profiles) -> "PersonRows":
        """Return the histories of profiles, whose owners ascend."""
        return cls(profiles.indptr, profiles.ids, profiles.owner)


def count_person_pairs(rows: PersonRows, n_terms: int, progress: Progress) -> int:
    """Count the different pairs of terms that each person has in one history, over all people."""
    length = np.diff(rows.indptr)
    if count_people(rows.indptr, rows.ids, rows.owner, n_terms).sum() == len(rows.ids):  # nobody has a term twice
        return int((length * (length - 1) // 2).sum())
    is_shared = np.zeros(len(length), np.bool_)  # another history is the same person's
    is_equal = rows.owner[1:] == rows.owner[:-1]
    is_shared[1:] |= is_equal
    is_shared[:-1] |= is_equal
    alone = length[~is_shared]
    total = int((alone * (alone - 1) // 2).sum())
    for histories in _runs_of_people(rows.owner, np.where(is_shared, length * (length - 1) // 2, 0)):
        progress("counting pairs", histories.stop, len(length))
        total += _count_distinct(rows, np.arange(histories.start, histories.stop)[is_shared[histories]], n_terms)
    return total


def _runs_of_people(owner: Int32Array, n_pairs: IntArray) -> Iterator[slice]:
    """Cut histories into runs of whole people with so many pairs that these fit into memory."""
    bounds, done = indptr_of(n_pairs), 0
    if not bounds[-1]:
        return
    ends = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))  # of people
    while done < len(owner):
        at = np.searchsorted(bounds[ends], bounds[done] + _PAIRS_PER_STEP, "right")
        at = max(at - 1, int(np.searchsorted(ends, done, "right")))
        yield slice(done, int(ends[at]))
        done = int(ends[at])


def _count_distinct(rows: PersonRows, histories: IntArray, n_terms: int) -> int:
    """Count the different pairs of terms of each person in some histories."""
    indptr, at = gather_rows(rows.indptr, histories)
    row = row_numbers(indptr)
    n_later = indptr[row + 1] - np.arange(len(at)) - 1  # terms after each in its history
    first = row_numbers(indptr_of(n_later))
    second = ranges(np.arange(len(at)) + 1, n_later)
    _, person = np.unique(rows.owner[histories], return_inverse=True)
    ids = rows.ids[at].astype(np.int64)
    return len(np.unique((person[row[first]] * n_terms + ids[first]) * n_terms + ids[second]))
