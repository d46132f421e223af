"""Kind `log`: the kept terms query by query, with times, ranks and URLs where these are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array, take_texts
from queryveil.core.errors import InternalError
from queryveil.core.rows import BoolArray, Int32Array, IntArray, count_holders, gather_rows, indptr_of, row_numbers
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import NOTHING_KEPT, KeptColumns
from queryveil.histories.pieces import Occurrences, cut_into_pieces, cut_queries
from queryveil.histories.pieces import find_occurrences as find_query_occurrences
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather, sort_rows
from queryveil.kinds.base import KEEPABLE, Kind, ReleaseContent
from queryveil.kinds.canonical_order import ids_of_order, order_by_keys, partition_column, rank_texts, sort_keys
from queryveil.kinds.histories import HISTORIES_MEASURES, HISTORIES_VIEW, TOGETHER, HistoriesKind

_END = b"\xff\xff\xff\xff"  # after the terms of a query: no rank has these bytes


def find_occurrences(kind: Kind, log: QueryLog | None, profiles: Profiles, kept: KeptColumns) -> Occurrences:
    """Return the single queries of a log, and the columns to keep."""
    if log is None:
        raise InternalError(f"a release of kind {kind.name} is made from an open log; please report this.")
    return find_query_occurrences(log, profiles, kept.columns, unit=kind.unit)


def suppress_rare_values(
    queries: Occurrences, profiles: Profiles, mask: BoolArray, floor: int
) -> tuple[Occurrences, Mapping[str, int]]:
    """Empty the kept values that fewer people than the floor share in a partition; count the emptied of each column.

    People are counted by what is released, so that the release itself shows that the floor holds.
    """
    import pyarrow.compute as pc  # slow to import, and commands that list names release nothing

    released = np.unique(queries.query[mask[queries.pair]])  # the queries that keep an item
    history = queries.history[released]
    part = np.int64(0) if profiles.partition is None else profiles.partition[history].astype(np.int64)
    shown, n_rare = dict(queries.extra), {}
    for name, column in queries.extra.items():
        encoded = column.take(pa.array(released)).dictionary_encode()
        n_values = len(encoded.dictionary)
        value = as_array(encoded.indices.fill_null(n_values))
        code = part * (n_values + 1) + value
        people = count_holders(profiles.owner[history], code, int(code.max(initial=0)) + 1)
        is_rare = (value < n_values) & (people[code] < floor)
        is_shown = np.ones(len(column), np.bool_)
        is_shown[released[is_rare]] = False
        shown[name] = pc.if_else(pa.array(is_shown), column, pa.scalar(None, column.type))
        n_rare[name] = int(np.count_nonzero(is_rare))
    return replace(queries, extra=shown), n_rare


def kept_column_keys(queries: Occurrences) -> list[bytes]:
    """Return the kept times, ranks and URLs of every query as bytes that can be compared; b"" where none are kept."""
    keys = [b""] * len(queries.history)
    for values in queries.extra.values():
        texts = values.cast(pa.string()).to_pylist()
        keys = [key + _prefix_free(text) for key, text in zip(keys, texts, strict=True)]
    return keys


def _prefix_free(text: str | None) -> bytes:
    """Return a text as bytes that are no prefix of another text's, nor of those of a missing text."""
    if text is None:
        return b"\x00"
    return b"\x01" + text.encode().replace(b"\x00", b"\x00\x01") + b"\x00\x00"


@dataclass(frozen=True)
class LogKind(HistoriesKind):
    """The kept terms of every query."""

    def encode(
        self, outcome: Any, profiles: Profiles, log: QueryLog | None = None, kept: KeptColumns = NOTHING_KEPT
    ) -> ReleaseContent:
        """Return the rows `user, query_id, term` of the kept pairs, query by query."""
        queries = find_occurrences(self, log, profiles, kept)
        if outcome.piece is None:
            return encode_log(profiles, outcome.mask, queries, kept.floor)
        pieces = cut_into_pieces(profiles, outcome.piece)
        is_kept = np.ones(len(pieces.profiles.ids), np.bool_)
        content = encode_log(pieces.profiles, is_kept, cut_queries(queries, pieces), kept.floor)
        return replace(content, history_of=pieces.history)

    def released_queries(self, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Return the released id of every query, and its terms joined by spaces."""
        import pyarrow.compute as pc

        queries = rows.group_by(["user", "query_id"], use_threads=False).aggregate([("term", "list")])
        return queries["user"].combine_chunks(), pc.binary_join(queries["term_list"], " ").combine_chunks()


def encode_log(profiles: Profiles, mask: BoolArray, queries: Occurrences, floor: int = 1) -> ReleaseContent:
    """Return the rows `user, query_id, term` of the masked pairs, query by query, with the kept columns."""
    rank, texts = rank_texts(profiles.vocabulary, profiles.ids[mask])
    is_kept = mask[queries.pair]
    queries, suppressed = suppress_rare_values(queries, profiles, mask, floor)
    starts, terms = gather(queries.query[is_kept], profiles.ids[queries.pair[is_kept]], len(queries.history))
    indptr, ranks, _ = sort_rows(starts, terms, rank, len(texts))
    in_order, release_ids = _order_queries(profiles, queries, indptr, ranks)
    released, positions = gather_rows(indptr, in_order)
    lengths = np.diff(released)
    columns: dict[str, pa.Array] = {
        "user": pa.array(np.repeat(release_ids[queries.history[in_order]], lengths)),
        "query_id": pa.array(row_numbers(indptr_of(lengths))),
        "term": take_texts(texts, ranks[positions]),
    }
    query = pa.array(np.repeat(in_order, lengths))
    columns |= {name: values.take(query) for name, values in queries.extra.items()}
    if profiles.partition is not None:
        columns["partition"] = partition_column(profiles, queries.history[in_order], lengths)
    return ReleaseContent(pa.table(columns), release_ids, suppressed)


def _order_queries(
    profiles: Profiles, queries: Occurrences, indptr: IntArray, ranks: Int32Array
) -> tuple[IntArray, IntArray]:
    """Return the queries that keep a term in canonical order, and the release ids of the histories."""
    keys = [a + _END + b for a, b in zip(sort_keys(indptr, ranks), kept_column_keys(queries), strict=True)]
    non_empty = np.flatnonzero(np.diff(indptr))
    by_history = sorted(non_empty.tolist(), key=lambda query: (queries.history[query], keys[query]))
    contents: list[list[bytes]] = [[] for _ in range(profiles.n_histories)]
    for query in by_history:
        contents[queries.history[query]].append(keys[query])
    parts = np.zeros(0) if profiles.partition is None else profiles.partition
    prefixes = [int(part).to_bytes(4, "big") for part in parts] or [b""] * len(contents)
    history_keys = [prefix + b"".join(keys) for prefix, keys in zip(prefixes, contents, strict=True)]
    released = order_by_keys(history_keys, np.array([bool(keys) for keys in contents]))
    release_ids = ids_of_order(released, profiles.n_histories)
    in_order = np.array(by_history, np.int64)
    return in_order[np.argsort(release_ids[queries.history[in_order]], kind="stable")], release_ids


LOG = LogKind(
    name="log",
    purpose="the terms that stay, query by query",
    columns={"user": "int64", "query_id": "int64", "term": "string"},
    sorted_by=("user", "query_id", "term"),
    example_claim="km(k=…, m=…)",
    keepable=KEEPABLE,
    has_occurrences=True,
    allows_partitions=True,
    is_order_lost=True,
    matches=("partial", "words", "terms"),
    deletes_terms=True,
    comparison=HISTORIES_VIEW,
    default_measure_specs=(*HISTORIES_MEASURES, TOGETHER),
    report_section="kinds/histories.html.j2",
)
