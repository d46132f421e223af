"""Finds the entries of profiles in the single queries of a log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from queryveil.core.rows import Int32Array, IntArray
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import KeptColumn
from queryveil.histories.profiles import Profiles
from queryveil.logs.user_lists import hold_excluded


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
