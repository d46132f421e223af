"""The terms of every single query: what a release of kind `log` is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.engines import QueryLog
from queryveil.histories.build import Unit, tokeniser_of
from queryveil.histories.profiles import Profiles


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Queries, and for every term of a query the pair of the `Profiles` it belongs to."""

    history: NDArray[np.int64]  # (queries,): the history of each query in the profiles
    query: NDArray[np.int32]  # (occurrences,)
    pair: NDArray[np.int64]  # (occurrences,): position in the profiles' `ids`
    extra: Mapping[str, pa.Array]  # (queries,): times, ranks, URLs that are kept


def occurrences(log: QueryLog, profiles: Profiles, keep: Sequence[str] = (), *, unit: Unit = "term") -> Occurrences:
    """Go through the log again and find the pair that each term of each query, or each query, belongs to."""
    tokeniser = tokeniser_of(log, unit)
    queries, terms, histories = [], [], []
    extra: dict[str, list[pa.Array]] = {name: [] for name in keep}
    n_queries = 0
    for batch in log.batches(keep):
        rows, found = tokeniser.add(batch["query"])
        queries.append(rows + np.int32(n_queries))
        terms.append(found.copy())
        histories.append(batch["history"].to_numpy())
        for name, parts in extra.items():
            parts.append(batch[name])
        n_queries += len(batch)
    query, term = np.concatenate(queries), np.concatenate(terms)
    history = _numbers_in(log, profiles)[np.concatenate(histories)]
    ids = {entry: number for number, entry in enumerate(profiles.vocabulary.entries)}
    known = np.array([ids.get(word, -1) for word in tokeniser.vocabulary().to_pylist()], np.int64)[term]
    is_known = known >= 0  # stop words are not
    query, known = query[is_known], known[is_known]
    return Occurrences(
        history,
        query,
        pair_places(profiles, history[query], known),
        {name: pa.concat_arrays(parts) for name, parts in extra.items()},
    )


def _numbers_in(log: QueryLog, profiles: Profiles) -> NDArray[np.int64]:
    """Return the position in the profiles of every history of the log; empty ones have none."""
    position = np.full(len(log.histories()[0]), -1, np.int64)
    position[profiles.log_history] = np.arange(profiles.n_histories)
    return position


def pair_places(profiles: Profiles, history: NDArray[np.int64], term: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position in `ids` of every (history, term)."""
    n_terms = len(profiles.vocabulary)
    rows = profiles.row_numbers()
    keys = rows * n_terms + profiles.ids  # ascending: rows ascend, ids ascend within a row
    return np.searchsorted(keys, history * n_terms + term)
