"""Who holds what: the log as a private folder has it, and the release in the same numbers."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.release import private as privates
from queryveil.release.reader import Release, as_array
from queryveil.workflows.reasons import Postings


@dataclass(frozen=True, eq=False)
class Rows:
    """Which histories, of the log or of the release, hold which terms, and whose they are."""

    history: NDArray[np.int64]  # (rows,): ascending, no row twice
    term: NDArray[np.int32]  # (rows,): a number in the log's terms
    owner: NDArray[np.int32]  # (histories,)
    part: NDArray[np.int32]  # (histories,): all 0 where the log is whole

    def only(self, is_concerned: NDArray[np.bool_]) -> "Rows":
        """Return the rows of some terms, which are marked."""
        rows = np.flatnonzero(is_concerned[self.term])
        return replace(self, history=self.history[rows], term=self.term[rows])

    def postings(self, terms: NDArray[np.int32], part: int, n_terms: int) -> Postings:
        """Return who holds some terms in a part of the log; each term is numbered by its place among them."""
        place = np.full(n_terms, -1, np.int64)
        place[terms] = np.arange(len(terms))
        rows = np.flatnonzero(place[self.term] >= 0)
        rows = rows[self.part[self.history[rows]] == part]
        return Postings(self.history[rows], place[self.term[rows]], self.owner, len(terms))


@dataclass(frozen=True, eq=False)
class Log:
    """The log as the method saw it, and where each history went."""

    rows: Rows
    count: NDArray[np.int32]  # (rows,): queries of the history that hold the term
    terms: pa.Array
    release_id: NDArray[np.int64]  # (histories,): -1 where nothing was released

    def row(self, history: int) -> slice:
        """Return where the terms of a history stand."""
        begin, end = np.searchsorted(self.rows.history, [history, history + 1])
        return slice(int(begin), int(end))

    def mark(self, histories: list[int]) -> NDArray[np.bool_]:
        """Mark the terms that some histories hold."""
        marked = np.zeros(len(self.terms), np.bool_)
        for history in histories:
            marked[self.rows.term[self.row(history)]] = True
        return marked

    def released(self, release: Release, is_concerned: NDArray[np.bool_]) -> Rows:
        """Return the rows that the release has of the marked terms."""
        numbers = np.flatnonzero(is_concerned)
        place = pc.index_in(release.rows["term"], self.terms.take(pa.array(numbers)))
        is_there = pc.is_valid(place)
        user = as_array(release.rows["user"].filter(is_there))
        keys = np.sort(user * len(numbers) + as_array(place.filter(is_there)))
        is_new = np.concatenate((keys[:1] >= 0, keys[1:] != keys[:-1]))  # a term may stand in several queries
        user, place = np.divmod(keys[is_new], max(len(numbers), 1))
        is_released = self.release_id >= 0
        behind = np.empty(np.count_nonzero(is_released), np.int64)  # released history → history
        behind[self.release_id[is_released]] = np.flatnonzero(is_released)
        return Rows(user, numbers[place].astype(np.int32), self.rows.owner[behind], self.rows.part[behind])


def load_log(private: Path, membership: pa.Table) -> Log:
    """Read the log from a private folder whose membership has been read already."""
    pairs = privates.load_terms(private)
    encoded = pairs["term"].chunk(0)
    has_parts = "partition" in membership.column_names
    part = _numbers(membership["partition"]) if has_parts else np.zeros(len(membership), np.int32)
    rows = Rows(as_array(pairs["history"]), as_array(encoded.indices), _numbers(membership["person"]), part)
    release_id = as_array(pc.coalesce(membership["release_id"], pa.scalar(-1, pa.int64())))
    return Log(rows, as_array(pairs["count"]), encoded.dictionary, release_id)


def _numbers(texts: pa.ChunkedArray) -> NDArray[np.int32]:
    """Return a number for each text, the same for the same."""
    return as_array(texts.combine_chunks().dictionary_encode().indices).astype(np.int32)
