"""Kind `histories`: the kept terms of every history; and what all kinds that release single histories share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import arrow_numbers, arrow_texts, as_array, encode_texts, take_texts
from queryveil.core.display import counted
from queryveil.core.errors import ReleaseError
from queryveil.core.evidence import Evidence, Floor, KeptValues, Owners, ReleasedHistories
from queryveil.core.rows import Int32Array, IntArray, gather_rows, row_numbers, select_entries
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.pieces import cut_into_pieces
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import sort_rows
from queryveil.kinds.base import KEEPABLE, PLURALS, Counts, DefaultMeasure, Kind, ReleaseContent, wrong_counts
from queryveil.kinds.canonical_order import ids_of_order, order_rows, partition_column, rank_texts
from queryveil.kinds.private_folder import PrivateFolder


def decode_histories(rows: pa.Table, unit: Literal["term", "query"]) -> ReleasedHistories:
    """Return the histories of the rows `user, term` or `user, query` (and `query_id`, `partition` where present)."""
    for name in ("user", unit):
        if rows[name].null_count:
            raise ReleaseError(f"the release has rows without a {name}; it is damaged.")
    user, (term, terms) = as_array(rows["user"]), encode_texts(rows[unit])
    users, indptr, ids, counts = _sort_items(user, term, len(terms))
    partition: Int32Array | None = None
    if "partition" in rows.column_names:
        if rows["partition"].null_count or not pa.types.is_string(rows["partition"].type):
            raise ReleaseError("the release has rows without a partition; it is damaged.")
        value = as_array(rows["partition"].combine_chunks().dictionary_encode().indices.cast(pa.int32()))
        partition, history = np.full(len(users), -1, np.int32), np.searchsorted(users, user)
        partition[history] = value
        if not np.array_equal(partition[history], value):
            raise ReleaseError("the release has a history in two partitions; it is damaged.")
    return ReleasedHistories(users, indptr, ids, counts, terms, partition, unit)


def _sort_items(user: IntArray, item: Int32Array, n_items: int) -> tuple[IntArray, IntArray, Int32Array, Int32Array]:
    """Return the users, ascending, and where each one's items begin; their items, ascending, and how often each is."""
    is_first = np.append(True, user[1:] > user[:-1])[: len(user)]  # of its user
    if (is_first[1:] | ((user[1:] == user[:-1]) & (item[1:] > item[:-1]))).all():  # as rows are written
        indptr = np.append(np.flatnonzero(is_first), len(user))
        return user[is_first], indptr, item, np.ones(len(item), np.int32)
    users, history = np.unique(user, return_inverse=True)
    keys, counts = np.unique(history * max(n_items, 1) + item, return_counts=True)
    history, items = np.divmod(keys, max(n_items, 1))
    indptr = np.searchsorted(history, np.arange(len(users) + 1)).astype(np.int64)
    return users, indptr, items.astype(np.int32), counts.astype(np.int32)


@dataclass(frozen=True)
class HistoriesKind(Kind):
    """A kind whose rows are items of single histories."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows `user, term` of the kept pairs."""
        if outcome.piece is not None:
            pieces = cut_into_pieces(profiles, outcome.piece)
            content = self.encode(KeptPairs(np.ones(len(pieces.profiles.ids), np.bool_)), pieces.profiles)
            return replace(content, history_of=pieces.history)
        terms = profiles.ids[outcome.mask]
        rank, texts = rank_texts(profiles.vocabulary, terms)
        indptr, ranks, _ = sort_rows(select_entries(profiles.indptr, outcome.mask), terms, rank, len(texts))
        order = order_rows(indptr, ranks, profiles.partition)
        released, positions = gather_rows(indptr, order)
        columns = {"user": arrow_numbers(row_numbers(released)), "term": take_texts(texts, ranks[positions])}
        if profiles.partition is not None:
            columns["partition"] = partition_column(profiles, order, np.diff(released))
        return ReleaseContent(pa.table(columns), ids_of_order(order, profiles.n_histories))

    def counts(self, outcome: Any, profiles: Profiles, content: ReleaseContent) -> Counts:
        """Count the kept pairs."""
        return replace(Counts.of(profiles, outcome.mask), histories=int(np.count_nonzero(content.release_ids >= 0)))

    def evidence_of_profiles(self, rows: pa.Table, profiles: Profiles, content: ReleaseContent, floor: int) -> Evidence:
        """Return the decoded rows, and the owners as the profiles have them."""
        released = np.flatnonzero(content.release_ids >= 0)
        histories = np.empty(len(released), np.int64)
        histories[content.release_ids[released]] = released  # by their release ids
        if content.history_of is not None:
            histories = content.history_of[histories]
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
            evidence.add(
                Owners,
                lambda: Owners(*private.owners(released.users), lambda: private.log_profiles.holders_by_text()),
            )
        self._add_kept_columns(evidence, rows)
        return evidence

    def count_rows(self, evidence: Evidence) -> Mapping[str, int]:
        """Count histories, terms and pairs, and occurrences if there is a row for each."""
        released = evidence.get(ReleasedHistories)
        counts = {"histories": len(released.users), "terms": len(released.terms), "pairs": len(released.ids)}
        return counts | ({"occurrences": int(released.counts.sum(dtype=np.int64))} if self.has_occurrences else {})

    def private_faults(
        self, evidence: Evidence, private: PrivateFolder, counts: Mapping[str, int], *, is_intact: bool
    ) -> list[str]:
        """Return whether items were invented or occur too often or too rarely, and which counts are wrong."""
        try:
            owners = evidence.get(Owners)
        except ReleaseError:
            if is_intact:
                raise
            evidence.remove(Owners)  # the rows are not those that the folder is about
            return []
        import pyarrow.compute as pc  # slow to import, and commands that list names read no rows

        released, profiles = evidence.get(ReleasedHistories), private.log_profiles
        number = pc.index_in(arrow_texts(released.terms), arrow_texts(profiles.vocabulary))
        width = len(profiles.vocabulary) + 1  # the last one is for terms that the log does not have
        ids = as_array(pc.fill_null(number, width - 1)).astype(np.int64)[released.ids]
        true = np.append(row_numbers(profiles.indptr) * width + profiles.ids, np.iinfo(np.int64).max)
        claimed = np.repeat(owners.history, np.diff(released.indptr)) * width + ids
        position = np.searchsorted(true, claimed)
        held = np.where(true[position] == claimed, np.append(profiles.counts, 0)[position], 0)
        is_copied = (held > 0) & (held != released.counts) & self.has_occurrences
        found = {"people": len(np.unique(owners.person)), "occurrences": int(held.sum(dtype=np.int64))}
        return history_faults(int((held == 0).sum()), int(is_copied.sum()), found, counts, PLURALS[self.unit])

    def crowd_members(self, evidence: Evidence, units: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Return every item of every released history with the person."""
        released = evidence.get(ReleasedHistories)
        users = np.repeat(released.users, np.diff(released.indptr))
        return released.ids.astype(np.int64), person_of_users(units, persons)[users]


def history_faults(
    n_invented: int, n_copied: int, found: Mapping[str, int], counts: Mapping[str, int], items: str
) -> list[str]:
    """Return sentences for released items that the private folder does not have, or not so often, and wrong counts."""
    numbers = (n_invented, ("was", "were"), "never in"), (n_copied, ("occurs", "occur"), "more or less often than in")
    faults = [
        f"{counted(n, f'released {items}')} {verbs[n > 1]} {what} the history behind {('it', 'them')[n > 1]}"
        for n, verbs, what in numbers
        if n
    ]
    if faults:  # the occurrences follow from them
        found = {"people": found["people"]}
    return faults + wrong_counts(found, counts, "private folder")


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
TOGETHER = DefaultMeasure("together")
HISTORIES = HistoriesKind(
    name="histories",
    needs_profiles_only=True,
    purpose="the terms that stay of every history, each once",
    columns={"user": "int64", "term": "string"},
    sorted_by=("user", "term"),
    example_claim="km(k=…, m=…)",
    reads_foreign_files=True,
    allows_partitions=True,
    matches=("terms",),
    deletes_terms=True,
    comparison=HISTORIES_VIEW,
    default_measure_specs=(*HISTORIES_MEASURES, TOGETHER),
    report_section="kinds/histories.html.j2",
    frame="queryveil.kinds.frames:HISTORIES",
)
