"""Profiles: histories × entries (terms, or whole queries) in compressed sparse rows."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.display import Tabular
from queryveil.core.rows import FloatArray, Int32Array, IntArray, count_runs, row_numbers, select_entries
from queryveil.kernels.histories import count_people


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(Tabular):
    """Histories × entries in compressed sparse rows.

    Entries are numbered by falling number of people who hold them, ties by text; histories are in log order, and
    those of a person are adjacent.
    """

    _shown = ("n_histories", "n_people", "vocabulary")
    vocabulary: tuple[str, ...]  # entries (terms, or whole queries) by id
    indptr: IntArray  # (histories + 1,): row h is ids[indptr[h]:indptr[h + 1]]
    ids: Int32Array  # (pairs,): ascending and unique within a row
    counts: Int32Array  # (pairs,): queries of the history that contain the entry
    owner: Int32Array  # (histories,): the person of each history, ascending
    persons: tuple[str, ...]  # person → the identifier in the log
    log_history: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    # (histories,): the history's number in the log the profiles were built from
    partition: Int32Array | None = None  # (histories,): the number of the partition, if the log has any
    partition_values: tuple[str, ...] = ()
    weights: FloatArray | None = None  # (pairs,): the weight of the entry in the history; None: 1 each

    @property
    def n_histories(self) -> int:
        """Return the number of histories, empty ones included."""
        return len(self.indptr) - 1

    def to_arrow(self) -> Any:
        """Return the rows `history, person, entry, count`; the person is the identifier in the log."""
        import pyarrow as pa

        person = pa.array(self.persons, pa.string()).take(pa.array(self.owner_per_pair()))
        entry = pa.array(self.vocabulary, pa.string()).take(pa.array(self.ids))
        return pa.table({"history": row_numbers(self.indptr), "person": person, "entry": entry, "count": self.counts})

    def _repr_html_(self) -> str:
        return (
            f"<b>profiles</b>: {self.n_histories:,} histories of {self.n_people:,} people, "
            f"{len(self.vocabulary):,} distinct entries, {len(self.ids):,} pairs"
        )

    @property
    def n_people(self) -> int:
        """Return the number of people who have a history."""
        return count_runs(self.owner)

    def owner_per_pair(self) -> Int32Array:
        """Return the person of every pair."""
        return np.repeat(self.owner, np.diff(self.indptr))

    def holder_counts(self) -> IntArray:
        """Count the people who hold each entry; an entry in two histories of a person counts once."""
        return count_people(self.indptr, self.ids, self.owner, len(self.vocabulary))

    def holders_by_text(self) -> dict[str, int]:
        """Return how many people hold each entry, by its text."""
        return dict(zip(self.vocabulary, self.holder_counts().tolist(), strict=True))

    def select(self, mask: NDArray[np.bool_]) -> "Profiles":
        """Return the profiles with only the masked pairs; histories may become empty, ids stay as they are."""
        return replace(
            self,
            indptr=select_entries(self.indptr, mask),
            ids=self.ids[mask],
            counts=self.counts[mask],
            weights=None if self.weights is None else self.weights[mask],
        )
