"""Kind `queries`: whole queries, one row for each time one was issued."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import take_texts
from queryveil.core.rows import gather_rows, indptr_of_sorted, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import KEEPABLE, PAIR_MEASURES, DefaultMeasure, ReleaseContent
from queryveil.kinds.canonical_order import ids_of_order, order_rows, rank_texts
from queryveil.kinds.histories import HISTORIES_MEASURES, HISTORIES_VIEW, HistoriesKind
from queryveil.kinds.log import find_occurrences, kept_column_keys, suppress_rare_values


@dataclass(frozen=True)
class QueriesKind(HistoriesKind):
    """The kept queries of every history."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows `user, query` of the kept pairs, one for each time a query was issued."""
        mask = outcome.mask
        rank, texts = rank_texts(profiles.vocabulary, profiles.ids[mask])
        extra: dict[str, pa.Array] = {}
        suppressed: Mapping[str, int] = {}
        if kept.columns:
            queries = find_occurrences(self, log, profiles, kept)
            queries, suppressed = suppress_rare_values(queries, profiles, mask, kept.floor)
            query = queries.query[mask[queries.pair]]
            pair, history = queries.pair[mask[queries.pair]], queries.history[query]
            # the rank of every issued query by its text and then by the columns that are kept of it
            keys = kept_column_keys(queries)
            _, number = np.unique(np.array([keys[q] for q in query.tolist()], object), return_inverse=True)
            joint = rank[profiles.ids[pair]].astype(np.int64) * (len(query) + 1) + number
            key = np.unique(joint, return_inverse=True)[1].astype(np.int32)
            extra = {name: values.take(pa.array(query)) for name, values in queries.extra.items()}
        else:
            pair = np.repeat(np.flatnonzero(mask), profiles.counts[mask])
            history, key = row_numbers(profiles.indptr)[pair], rank[profiles.ids[pair]]
        by_content = np.lexsort((key, history))
        indptr = indptr_of_sorted(history[by_content], profiles.n_histories)
        order = order_rows(indptr, key[by_content], profiles.partition)
        released, positions = gather_rows(indptr, order)
        taken = by_content[positions]
        columns = {
            "user": pa.array(row_numbers(released)),
            "query": take_texts(texts, rank[profiles.ids[pair[taken]]]),
            **{name: values.take(pa.array(taken)) for name, values in extra.items()},
        }
        return ReleaseContent(pa.table(columns), ids_of_order(order, profiles.n_histories), suppressed)

    def released_queries(self, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Return the released id and the text of every query."""
        return rows["user"].combine_chunks(), rows["query"].combine_chunks()


QUERIES = QueriesKind(
    name="queries",
    needs_profiles_only=True,
    purpose="whole queries, each as often as it was issued",
    columns={"user": "int64", "query": "string"},
    sorted_by=("user", "query"),
    has_equal_rows=True,
    unit="query",
    content="whole queries",
    example_claim="query_k(k=…)",
    crowd="query",
    keepable=KEEPABLE,
    has_occurrences=True,
    reads_foreign_files=True,
    matches=("exact", "words", "partial", "terms"),
    checked="Different queries checked",
    comparison=HISTORIES_VIEW,
    comparison_note="Of methods that release whole queries, what is known are queries in place of terms.",
    # pair measures need to know who is who; their sensitivity model would take longer than making the release
    default_measure_specs=(
        *HISTORIES_MEASURES,
        *(DefaultMeasure(name, frozenset({"private", "map"}), when_made=False) for name in PAIR_MEASURES),
    ),
    report_section="kinds/histories.html.j2",
    frame="queryveil.kinds.frames:QUERIES",
)
