"""Kind `histories`: the kept terms of every history; and what all kinds that release single histories share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.arrow import as_array
from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor, KeptValues, Owners, ReleasedHistories
from queryveil.core.rows import IntArray, gather_rows, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather, sort_rows
from queryveil.kinds.base import KEEPABLE, Counts, DefaultMeasure, Kind, ReleaseContent
from queryveil.kinds.canonical_order import ids_of_order, order_rows, partition_column, rank_texts
from queryveil.kinds.private_folder import PrivateFolder


def decode_histories(rows: pa.Table, unit: Literal["term", "query"]) -> ReleasedHistories:
    """Return the histories of the rows `user, term` or `user, query` (and `query_id`, `partition` where present)."""
    for name in ("user", unit):
        if rows[name].null_count:
            raise ReleaseError(f"the release has rows without a {name}; it is damaged.")
    users, user = np.unique(as_array(rows["user"]), return_inverse=True)
    encoded = rows[unit].combine_chunks().dictionary_encode()
    term = as_array(encoded.indices.cast(pa.int64()))
    terms = tuple(encoded.dictionary.to_pylist())
    keys, counts = np.unique(user * max(len(terms), 1) + term, return_counts=True)
    history, ids = np.divmod(keys, max(len(terms), 1))
    indptr = np.searchsorted(history, np.arange(len(users) + 1)).astype(np.int64)
    partition: NDArray[np.int32] | None = None
    if "partition" in rows.column_names:
        if rows["partition"].null_count or not pa.types.is_string(rows["partition"].type):
            raise ReleaseError("the release has rows without a partition; it is damaged.")
        value = as_array(rows["partition"].combine_chunks().dictionary_encode().indices.cast(pa.int32()))
        partition = np.full(len(users), -1, np.int32)
        partition[user] = value
        if not np.array_equal(partition[user], value):
            raise ReleaseError("the release has a history in two partitions; it is damaged.")
    return ReleasedHistories(users, indptr, ids.astype(np.int32), counts.astype(np.int32), terms, partition, unit)


@dataclass(frozen=True)
class HistoriesKind(Kind):
    """A kind whose rows are items of single histories."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows `user, term` of the kept pairs."""
        mask: NDArray[np.bool_] = outcome.mask
        history = row_numbers(profiles.indptr, np.int32)[mask]
        rank, texts = rank_texts(profiles.vocabulary, profiles.ids[mask])
        starts, terms = gather(history, profiles.ids[mask], profiles.n_histories)
        indptr, ranks, _ = sort_rows(starts, terms, rank, len(texts))
        order = order_rows(indptr, ranks, profiles.partition)
        released, positions = gather_rows(indptr, order)
        columns = {"user": pa.array(row_numbers(released)), "term": texts.take(pa.array(ranks[positions]))}
        if profiles.partition is not None:
            columns["partition"] = partition_column(profiles, order, np.diff(released))
        return ReleaseContent(pa.table(columns), ids_of_order(order, profiles.n_histories))

    def counts(self, outcome: Any, profiles: Profiles, content: ReleaseContent) -> Counts:
        """Count the kept pairs."""
        return Counts.of(profiles, outcome.mask)

    def evidence_of_profiles(self, rows: pa.Table, profiles: Profiles, content: ReleaseContent, floor: int) -> Evidence:
        """Return the decoded rows, and the owners as the profiles have them."""
        n_unreleased = np.count_nonzero(content.release_ids < 0)
        histories = np.argsort(content.release_ids, kind="stable")[n_unreleased:]  # by their release ids
        owners = Owners(profiles.owner[histories], histories, profiles.holders_by_text)
        evidence = Evidence(self.decode(rows), owners, Floor(floor), profiles)
        self._add_kept_columns(evidence, rows)
        return evidence

    def _add_kept_columns(self, evidence: Evidence, rows: pa.Table) -> None:
        """Let verifiers and measures look at the columns that are released besides the items, where there are some."""
        names = [name for name in self.keepable if name in rows.column_names]

        def build() -> KeptValues:
            released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
            history = np.searchsorted(released.users, as_array(rows["user"]))
            part = np.zeros_like(history) if released.partition is None else released.partition[history]
            owner = history if owners is None else owners.person[history]
            columns = {"history": history, "owner": owner, "part": part, **{name: rows[name] for name in names}}
            return KeptValues(pa.table(columns), owners is not None)

        if names:
            evidence.add(KeptValues, build)

    def decode(self, rows: pa.Table) -> Any:
        """Return the rows as histories over numbered items."""
        return decode_histories(rows, self.unit)

    def read_evidence(self, rows: pa.Table, private: PrivateFolder | None, floor: int) -> Evidence:
        """Return the decoded rows, and the owners as the private folder has them."""
        evidence = Evidence(released := self.decode(rows), Floor(floor))
        if private is not None:
            evidence.add(Owners, lambda: Owners(*private.owners(released.users), private.holders))
        self._add_kept_columns(evidence, rows)
        return evidence

    def count_rows(self, evidence: Evidence) -> Mapping[str, int]:
        """Count histories, terms and pairs."""
        released = evidence.get(ReleasedHistories)
        return {"histories": len(released.users), "terms": len(released.terms), "pairs": len(released.ids)}

    def private_faults(
        self, evidence: Evidence, private: PrivateFolder, counts: Mapping[str, int], *, is_intact: bool
    ) -> list[str]:
        """Return whether terms were invented, and whether the manifest gives another number of people."""
        try:
            owners = evidence.get(Owners)
        except ReleaseError:
            if is_intact:
                raise
            evidence.remove(Owners)  # the rows are not those that the folder is about
            return []
        import pyarrow.compute as pc  # slow to import, and commands that list names read no rows

        released, (_, pairs) = evidence.get(ReleasedHistories), private.profiles()
        term = pc.index_in(pairs["term"], pa.array(released.terms, pa.string()))
        is_released = pc.is_valid(term)
        history = as_array(pairs["history"].filter(is_released))
        true = history * len(released.terms) + as_array(term.filter(is_released))
        claimed = np.repeat(owners.history, np.diff(released.indptr)) * len(released.terms) + released.ids
        n_invented = int(np.count_nonzero(~np.isin(claimed, true)))
        return history_faults(n_invented, len(np.unique(owners.person)), counts)

    def crowd_members(self, evidence: Evidence, units: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Return every item of every released history with the person."""
        released = evidence.get(ReleasedHistories)
        users = np.repeat(released.users, np.diff(released.indptr))
        return released.ids.astype(np.int64), person_of_users(units, persons)[users]


def history_faults(n_invented: int, n_people: int, counts: Mapping[str, int]) -> list[str]:
    """Return sentences for released terms that the private folder does not have, and for a wrong number of people."""
    invented = [f"{n_invented:,} released terms were never in the history behind them"] if n_invented else []
    is_same = n_people == counts["people"]
    return invented + ([] if is_same else ["the manifest gives another number of people than the private folder"])


def person_of_users(units: IntArray, persons: IntArray) -> IntArray:
    """Return the person behind every released id."""
    behind = np.zeros(int(units.max(initial=-1)) + 1, np.int64)
    behind[units] = persons
    return behind


HISTORIES_VIEW = "queryveil.kinds.comparison_views:HISTORIES"
HISTORIES_MEASURES = (
    DefaultMeasure("retention"),
    DefaultMeasure("market", frozenset({"market"})),
    *(DefaultMeasure(f"unique(m={m})") for m in (1, 2, 3)),
    *(DefaultMeasure(f"unique(m=1, by={name})", frozenset({name})) for name in KEEPABLE),
)
HISTORIES = HistoriesKind(
    name="histories",
    purpose="the terms that stay of every history, each once",
    columns={"user": "int64", "term": "string"},
    example_claim="km(k=…, m=…)",
    reads_foreign_files=True,
    allows_partitions=True,
    matches=("terms",),
    deletes_terms=True,
    comparison=HISTORIES_VIEW,
    default_measure_specs=HISTORIES_MEASURES,
    report_section="kinds/histories.html.j2",
    frame="queryveil.kinds.frames:HISTORIES",
)
