"""What is published of a log, in an order that tells nothing.

A released history's id is its rank among the sorted released contents: no randomness to guess, no original order, and
the same rows on every engine. Query ids of kind `log` are ranks too, within the whole release.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import ranges, row_numbers, row_numbers_of
from queryveil.histories.build import Occurrences
from queryveil.histories.outcomes import Grouping, PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather, sort_rows

_END = b"\xff\xff\xff\xff"
_DECIMALS = 9  # of a published weight: what sums in another order differ by is cut off


@dataclass(frozen=True, eq=False)
class Content:
    """The rows of a release, and which history each released id stands for (private)."""

    kind: str
    rows: pa.Table
    release_id: NDArray[np.int64]  # (histories of the profiles,): -1 where nothing is released


def histories_content(profiles: Profiles, mask: NDArray[np.bool_]) -> Content:
    """Return the rows `user, term` of the kept pairs."""
    history = profiles.row_numbers(dtype=np.int32)[mask]
    rank, texts = _text_order(profiles.vocabulary.entries, profiles.ids[mask])
    starts, terms = gather(history, profiles.ids[mask], profiles.n_histories)
    indptr, ranks, _ = sort_rows(starts, terms, rank, len(texts))
    order = _content_order(indptr, ranks, profiles.partition)
    release_id = np.full(profiles.n_histories, -1, np.int64)
    release_id[order] = np.arange(len(order))
    lengths = np.diff(indptr)[order]
    taken = ranges(indptr[order], lengths)
    columns: dict[str, pa.Array] = {
        "user": pa.array(row_numbers_of(lengths)),
        "term": texts.take(pa.array(ranks[taken])),
    }
    return Content("histories", pa.table(_with_partition(columns, profiles, order, lengths)), release_id)


def log_content(profiles: Profiles, mask: NDArray[np.bool_], occurrences: Occurrences) -> Content:
    """Return the rows `user, query_id, term` of the kept pairs, query by query."""
    kept = mask[occurrences.pair]
    query, pair = occurrences.query[kept], occurrences.pair[kept]
    rank, texts = _text_order(profiles.vocabulary.entries, profiles.ids[mask])
    starts, terms = gather(query, profiles.ids[pair], len(occurrences.history))
    indptr, ranks, _ = sort_rows(starts, terms, rank, len(texts))
    # a query's key: its terms, an end no rank can be, and what else is published of it
    query_keys = [a + _END + b for a, b in zip(_keys(indptr, ranks), _extra_keys(occurrences), strict=True)]
    # queries by history, each history's queries in the order of their content
    full = np.flatnonzero(np.diff(indptr))
    sorted_queries = sorted(full.tolist(), key=lambda q: (occurrences.history[q], query_keys[q]))
    contents: list[list[bytes]] = [[] for _ in range(profiles.n_histories)]
    for q in sorted_queries:
        contents[occurrences.history[q]].append(query_keys[q])
    keys = [_prefix(profiles, h) + b"".join(parts) for h, parts in enumerate(contents)]
    release_id = _ranked(keys, np.array([bool(parts) for parts in contents]))
    in_order = np.array(sorted_queries, np.int64)
    in_order = in_order[np.argsort(release_id[occurrences.history[in_order]], kind="stable")]
    lengths = np.diff(indptr)[in_order]
    user = release_id[occurrences.history[in_order]]
    columns: dict[str, pa.Array] = {
        "user": pa.array(np.repeat(user, lengths)),
        "query_id": pa.array(row_numbers_of(lengths)),
        "term": texts.take(pa.array(ranks[ranges(indptr[in_order], lengths)])),
    }
    place = np.repeat(in_order, lengths)
    columns |= {name: values.take(pa.array(place)) for name, values in occurrences.extra.items()}
    rows = pa.table(_with_partition(columns, profiles, occurrences.history[in_order], lengths))
    return Content("log", rows, release_id)


def queries_content(profiles: Profiles, mask: NDArray[np.bool_], issued: Occurrences | None = None) -> Content:
    """Return the rows `user, query` of the kept pairs, one for each time a query was issued.

    `issued` tells the single queries where times, ranks or URLs are published beside them.
    """
    pair = np.repeat(np.flatnonzero(mask), profiles.counts[mask])
    columns: dict[str, pa.Array] = {}
    history = profiles.row_numbers()[pair]
    rank, texts = _text_order(profiles.vocabulary.entries, profiles.ids[mask])
    if issued is not None:
        query = issued.query[mask[issued.pair]]
        pair, history = issued.pair[mask[issued.pair]], issued.history[query]
        columns = {name: values.take(pa.array(query)) for name, values in issued.extra.items()}
    key = rank[profiles.ids[pair]] if issued is None else _joint_ranks(rank[profiles.ids[pair]], issued, query)
    by_content = np.lexsort((key, history))
    indptr = np.searchsorted(history[by_content], np.arange(profiles.n_histories + 1)).astype(np.int64)
    order = _content_order(indptr, key[by_content], profiles.partition)
    release_id = np.full(profiles.n_histories, -1, np.int64)
    release_id[order] = np.arange(len(order))
    lengths = np.diff(indptr)[order]
    taken = by_content[ranges(indptr[order], lengths)]
    columns = {
        "user": pa.array(row_numbers_of(lengths)),
        "query": texts.take(pa.array(rank[profiles.ids[pair[taken]]])),
        **{name: values.take(pa.array(taken)) for name, values in columns.items()},
    }
    return Content("queries", pa.table(columns), release_id)


def _joint_ranks(rank: NDArray[np.int32], issued: Occurrences, query: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rank of every issued query by its text and then by what else is published of it."""
    extra = _extra_keys(issued)
    _, number = np.unique(np.array([extra[q] for q in query.tolist()], object), return_inverse=True)
    _, joint = np.unique(rank.astype(np.int64) * (len(query) + 1) + number, return_inverse=True)
    ranks: NDArray[np.int32] = joint.astype(np.int32)
    return ranks


def groups_content(profiles: Profiles, grouped: Grouping) -> Content:
    """Return the rows `group, term, weight` of the groups, terms in the order of their texts."""
    rank, texts = _text_order(profiles.vocabulary.entries, grouped.ids)
    group = row_numbers(grouped.indptr)
    order = np.lexsort((rank[grouped.ids], group))
    ranks = rank[grouped.ids][order]
    weights = np.maximum(np.round(grouped.weights[order], _DECIMALS), 10.0**-_DECIMALS)
    bounds = list(zip(grouped.indptr[:-1].tolist(), grouped.indptr[1:].tolist(), strict=True))
    keys = [(ranks[a:b].tolist(), weights[a:b].tolist()) for a, b in bounds]
    in_order = sorted(range(grouped.n_groups), key=keys.__getitem__)
    place = np.empty(grouped.n_groups + 1, np.int64)
    place[in_order] = np.arange(grouped.n_groups)
    place[-1] = -1  # whoever has no group is suppressed
    taken = np.concatenate([np.arange(*bounds[g]) for g in in_order])
    lengths = np.diff(grouped.indptr)[in_order]
    rows = pa.table(
        {
            "group": row_numbers_of(lengths),
            "term": texts.take(pa.array(ranks[taken])),
            "weight": weights[taken],
        }
    )
    return Content("groups", rows, place[grouped.group])


def vocabularies_content(published: PublishedVocabularies) -> Content:
    """Return the rows `user, term, count, level` of what is published, terms in the order of their texts."""
    rank, texts = _text_order(published.terms, published.ids)
    history = row_numbers(published.indptr)
    order = np.lexsort((published.levels, rank[published.ids], history))
    columns = (rank[published.ids][order], published.levels[order], published.counts[order])
    indptr, cells = published.indptr, np.stack(columns, axis=1).ravel()
    release_id = _ranked(_keys(3 * indptr, cells), np.diff(indptr) > 0)
    in_order = np.argsort(release_id, kind="stable")[np.count_nonzero(release_id < 0) :]
    lengths = np.diff(indptr)[in_order]
    taken = ranges(indptr[in_order], lengths)
    return Content(
        "vocabularies",
        pa.table(
            {
                "user": row_numbers_of(lengths),
                "term": texts.take(pa.array(columns[0][taken])),
                "count": columns[2][taken].astype(np.int32),
                "level": columns[1][taken].astype(np.int32),
            }
        ),
        release_id,
    )


def _text_order(entries: tuple[str, ...], ids: NDArray[np.int32]) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the rank of every entry among the ids in the order of the texts, -1 for others, and these texts."""
    released = np.flatnonzero(np.bincount(ids, minlength=len(entries))).tolist()
    order = np.array(sorted(released, key=entries.__getitem__), np.int64)
    rank = np.full(len(entries), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank, pa.array([entries[i] for i in order], pa.string())


def _content_order(
    indptr: NDArray[np.int64], ranks: NDArray[np.int32], partition: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    """Return the rows that are not empty in the order of their part of the log and of their ranks, equal ones as given.

    The first two ranks settle nearly all; only longer rows that begin alike are compared as bytes.
    """
    row = np.flatnonzero(np.diff(indptr))
    length = indptr[row + 1] - indptr[row]
    first = ranks[indptr[row]].astype(np.int64)
    second = np.where(length > 1, ranks[np.minimum(indptr[row] + 1, len(ranks) - 1)], -1)
    beginning = 2 * ((first << 31) + second + 1) + (length > 2)  # of two that begin alike the shorter one is first
    part = np.zeros(len(row), np.int32) if partition is None else partition[row]
    order = np.lexsort((beginning, part))
    row, length, beginning, part = row[order], length[order], beginning[order], part[order]
    is_like_next = (beginning[1:] == beginning[:-1]) & (part[1:] == part[:-1])
    is_tied = np.append(is_like_next, False) | np.insert(is_like_next, 0, False)
    tied = np.flatnonzero(is_tied[: len(row)] & (length > 2))
    run = np.cumsum(~np.insert(is_like_next, 0, False))[tied].tolist()
    data = ranks.astype(">u4").tobytes()
    bounds = zip((4 * indptr[row[tied]]).tolist(), (4 * indptr[row[tied] + 1]).tolist(), strict=True)
    keys = [(number, data[a:b]) for number, (a, b) in zip(run, bounds, strict=True)]
    settled = sorted(range(len(tied)), key=keys.__getitem__)
    row[tied] = row[tied[settled]]
    return row


def _keys(indptr: NDArray[np.int64], ranks: NDArray[np.int32]) -> list[bytes]:
    """Return each row as bytes that sort as its ranks do."""
    data = ranks.astype(">u4").tobytes()
    bounds = (4 * indptr).tolist()
    return [data[a:b] for a, b in pairwise(bounds)]


def _prefix(profiles: Profiles, history: int) -> bytes:
    return b"" if profiles.partition is None else int(profiles.partition[history]).to_bytes(4, "big")


def _extra_keys(occurrences: Occurrences) -> list[bytes]:
    """Return the published times, ranks and URLs of every query as bytes; b"" where nothing is published of it."""
    keys = [b""] * len(occurrences.history)
    for values in occurrences.extra.values():
        texts = values.cast(pa.string()).to_pylist()
        keys = [key + _key(text) for key, text in zip(keys, texts, strict=True)]
    return keys


def _key(text: str | None) -> bytes:
    """Return a text as bytes that no other text, nor the lack of one, begins with."""
    if text is None:
        return b"\x00"
    return b"\x01" + text.encode().replace(b"\x00", b"\x00\x01") + b"\x00\x00"


def _ranked(keys: list[bytes], is_released: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rank of every released history by its key, -1 for the others."""
    released = np.flatnonzero(is_released).tolist()
    release_id = np.full(len(keys), -1, np.int64)
    release_id[sorted(released, key=keys.__getitem__)] = np.arange(len(released))
    return release_id


def _with_partition(
    columns: dict[str, pa.Array], profiles: Profiles, histories: NDArray[np.int64], lengths: NDArray[np.int64]
) -> dict[str, pa.Array]:
    if profiles.partition is None:
        return columns
    values = pa.array(profiles.partition_values, pa.string())
    return columns | {"partition": values.take(pa.array(np.repeat(profiles.partition[histories], lengths)))}
