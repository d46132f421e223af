"""Builds `Profiles` from a cleaned log, and the occurrences of their entries in single queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.errors import LogError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.engines import QueryLog, Step
from queryveil.histories.assembly import WORKERS, assemble
from queryveil.histories.profiles import Profiles
from queryveil.histories.tokens import Tokenizer, TokenizerPool, WholeTexts
from queryveil.lexicons.word_lists import STOP_WORDS

Unit = Literal["term", "query", "entry"]


class NoTermsError(LogError):
    """No query of a log contains a term."""


NO_TERMS = "no query of the log holds a term; check --columns, --charset and the cleaning options."


@dataclass(frozen=True, eq=False)
class Occurrences:
    """The entries of every single query, each as a pair of `Profiles`: the content of a release of kind `log`."""

    history: IntArray  # (queries,): the history of each query in the profiles
    query: NDArray[np.int32]  # (occurrences,)
    pair: IntArray  # (occurrences,): position in the profiles' `ids`
    extra: Mapping[str, pa.Array]  # (queries,): times, ranks, URLs that are kept


def build(log: QueryLog, *, unit: Unit = "term", progress: Progress = silent) -> Profiles:
    """Return the profiles of a log; entries are terms, folded queries or unchanged queries, counted once per query."""
    history, term, words = _tokenize(log, unit, progress)
    owner, partition = log.histories()
    if unit == "term":
        log.record(Step("terms", len(term), "terms found in queries", f"charset {log.source.cleaning.charset}"))
        history, term = _drop_stop_words(log, history, term, words)
    if not len(term):
        raise NoTermsError(NO_TERMS)
    return assemble(
        history, term, words, owner, log.persons(), partition=partition, partition_values=log.partition_values
    )


def _drop_stop_words(
    log: QueryLog, history: NDArray[np.int32], term: NDArray[np.int32], words: pa.Array
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    unit = "stop words left out"
    if log.source.cleaning.stop_words == "none":
        log.record(Step("stop words", 0, unit, "off"))
        return history, term
    kept = pc.invert(pc.is_in(words, pa.array(STOP_WORDS, words.type))).to_numpy(zero_copy_only=False)[term]
    log.record(Step("stop words", int(len(term) - np.count_nonzero(kept)), unit))
    return history[kept], term[kept]


def tokenizer_of(log: QueryLog, unit: Unit) -> Tokenizer | WholeTexts:
    """Return a new tokenizer of a log's queries for a unit."""
    if unit == "entry":
        return WholeTexts()
    return Tokenizer(log.source.cleaning.charset, whole=unit == "query")


def _tokenize(log: QueryLog, unit: Unit, progress: Progress) -> tuple[NDArray[np.int32], NDArray[np.int32], pa.Array]:
    """Return the history and entry number of every occurrence, and the entries by number."""
    histories: list[NDArray[np.int32]] = []
    with TokenizerPool([tokenizer_of(log, unit) for _ in range(WORKERS)]) as pool:
        for n_batches, batch in enumerate(log.batches()):
            histories.append(batch["history"].to_numpy().astype(np.int32))
            pool.add(batch["query"])
            progress("finding terms", n_batches, 0)
        found, words = pool.finish()
    history = [numbers[rows] for numbers, (rows, _) in zip(histories, found, strict=True)]
    term = [terms for _, terms in found]
    if not found:
        return np.empty(0, np.int32), np.empty(0, np.int32), words
    return np.concatenate(history), np.concatenate(term), words


def find_occurrences(
    log: QueryLog, profiles: Profiles, keep: Sequence[str] = (), *, unit: Unit = "term"
) -> Occurrences:
    """Stream the log again and find the pair of every entry of every query; `keep` names the columns to add."""
    tokenizer = tokenizer_of(log, unit)
    queries, terms, histories = [], [], []
    extra: dict[str, list[pa.Array]] = {name: [] for name in keep}
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
    history = _history_positions(log, profiles)[np.concatenate(histories)]
    ids = {entry: number for number, entry in enumerate(profiles.vocabulary.entries)}
    known = np.array([ids.get(word, -1) for word in tokenizer.vocabulary().to_pylist()], np.int64)[term]
    is_known = known >= 0  # false for stop words
    query, known = query[is_known], known[is_known]
    return Occurrences(
        history,
        query,
        find_pairs(profiles, history[query], known),
        {name: pa.concat_arrays(parts) for name, parts in extra.items()},
    )


def _history_positions(log: QueryLog, profiles: Profiles) -> IntArray:
    """Return the position in the profiles of every history of the log, −1 for empty ones."""
    position = np.full(len(log.histories()[0]), -1, np.int64)
    position[profiles.log_history] = np.arange(profiles.n_histories)
    return position


def find_pairs(profiles: Profiles, history: IntArray, term: IntArray) -> IntArray:
    """Return the position in `ids` of every (history, term)."""
    n_terms = len(profiles.vocabulary)
    keys = profiles.row_numbers() * n_terms + profiles.ids  # sorted: rows ascend, ids ascend within a row
    return np.searchsorted(keys, history * n_terms + term)
