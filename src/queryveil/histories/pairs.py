"""Pairs an original log with a released one, person by person: what people searched for and what was released of it.

Where queries were changed, `match` decides which query of a person a released one stands for:

- `exact`: the same query, folded.
- `words`: a query with the same set of words; documents are sets of words.
- `partial`: sets of words too. A released set stands for the person's query that contains it: the one with the fewest
  words, ties by how often it was issued, then by its words. A set that no query contains is a document of its own.
- `terms`: documents are single words, each counted once per query that contains it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.evidence import LogPair
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray
from queryveil.engines import QueryLog
from queryveil.histories.profiles import Profiles
from queryveil.histories.tokens import Tokenizer, tokenize
from queryveil.lexicons.word_lists import STOP_WORDS

Match = Literal["exact", "words", "partial", "terms"]
MATCHES: tuple[Match, ...] = get_args(Match)
_QUEUED_BATCHES = 40  # so that the next log is opened while the last is processed, within bounded memory
Sensitivity = Callable[[pa.Array], FloatArray]  # texts → the probability that each is sensitive


@dataclass(frozen=True, eq=False)
class LogDocuments:
    """A log as documents of people; a document is a query, a set of words or a term."""

    person: Int32Array  # (queries,)
    document: Int32Array  # (queries,): numbers that the compared logs share
    persons: tuple[str, ...]  # person → identifier
    times: Int32Array | None = None  # (queries,): how often each was issued; None: once


def read_documents(
    logs: Iterable[QueryLog], n_logs: int, *, charset: str, match: Match = "exact", progress: Progress = silent
) -> tuple[list[LogDocuments], pa.Array]:
    """Return the documents of each log, with common numbers, and their texts; logs are read one after the other."""
    owners: list[Int32Array] = []
    persons: list[tuple[str, ...]] = []
    batches: list[tuple[int, Int32Array]] = []  # the log of every batch, and the person of each query

    def queries() -> Iterator[tuple[int, pa.Array]]:
        for number, log in enumerate(logs):
            owners.append(log.owners_and_partitions()[0])
            persons.append(log.persons())
            for batch in log.batches():
                batches.append((number, owners[number][batch["history"].to_numpy()]))
                yield number, batch["query"]
                progress("finding queries", len(batches), 0)

    tokenizers = [Tokenizer(charset, whole=match != "terms") for _ in range(n_logs)]  # more per log would cost more
    found, texts = tokenize(tokenizers, queries(), queued_batches=_QUEUED_BATCHES)
    none = np.empty(0, np.int32)
    people, documents = [[none] for _ in owners], [[none] for _ in owners]
    for (number, person), (rows, terms) in zip(batches, found, strict=True):
        people[number].append(person[rows])
        documents[number].append(terms)
    parts = zip(map(np.concatenate, people), map(np.concatenate, documents), persons, strict=True)
    return [LogDocuments(*part) for part in parts], texts


def documents_of_texts(
    user: NDArray[np.integer[Any]], texts: pa.Array, persons: tuple[str, ...], known: pa.Array
) -> tuple[LogDocuments, pa.Array]:
    """Return folded texts as documents, numbered after the known texts, and all texts by number."""
    encoded = texts.cast(pa.large_string()).dictionary_encode()
    position = pc.index_in(encoded.dictionary, known)
    is_new = pc.is_null(position).to_numpy(zero_copy_only=False)
    number = pc.fill_null(position, 0).to_numpy().astype(np.int32)
    number[is_new] = len(known) + np.arange(np.count_nonzero(is_new), dtype=np.int32)
    documents = LogDocuments(user.astype(np.int32), number[encoded.indices.to_numpy()], persons)
    return documents, pa.concat_arrays([known, encoded.dictionary.filter(pa.array(is_new))])


def documents_of_profiles(
    original: Profiles, released: Profiles, owner: Int32Array, times: Int32Array
) -> tuple[list[LogDocuments], pa.Array]:
    """Return the terms of two profiles as documents; `owner` and `times` are those of the released rows and pairs."""
    entries = pa.array(original.vocabulary, pa.large_string())
    first = LogDocuments(original.owner_per_pair(), original.ids, original.persons, original.counts)
    terms = pa.array(released.vocabulary, pa.large_string()).take(pa.array(released.ids))
    second, texts = documents_of_texts(np.repeat(owner, np.diff(released.indptr)), terms, original.persons, entries)
    return [first, replace(second, times=times)], texts


def pair_logs(
    original: LogDocuments,
    released: LogDocuments,
    texts: pa.Array,
    *,
    match: Match = "exact",
    original_of: Mapping[str, str] | None = None,
    stop_words: str = "none",
    sensitivity: Sensitivity | None = None,
    progress: Progress = silent,
) -> LogPair:
    """Pair two logs; `original_of` maps the people of the release to those of the original, where identifiers differ.

    Stop words that the release was made without are in no set of words.
    A row's sensitivity is that of the most sensitive document released of it, since a reader sees no more; if nothing
    was, that of the document itself.
    """
    if match in ("words", "partial"):
        number, texts = word_sets(texts, STOP_WORDS if stop_words == "english" else frozenset())
        original, released = (replace(log, document=number[log.document]) for log in (original, released))
    with ThreadPoolExecutor(2) as threads:  # scoring and sorting release the global interpreter lock
        half = len(texts) // 2
        halves = () if sensitivity is None else threads.map(sensitivity, (texts.slice(0, half), texts.slice(half)))
        found = _align(original, released, texts, match, original_of, progress)
        levels = list(halves)
    shown, own = _row_sensitivity(found, np.concatenate(levels)) if levels else (None, None)
    return LogPair(
        np.searchsorted(found.keys, np.arange(len(found.people) + 1) * len(texts)),
        (found.keys % len(texts)).astype(np.int32),
        found.before,
        np.bincount(found.row, found.times, minlength=len(found.keys)).astype(np.int64),
        tuple(original.persons[person] for person in found.people.tolist()),
        shown,
        own,
        found.n_strangers,
        "term" if match == "terms" else "query",
    )


class _Alignment(NamedTuple):
    """Both logs by a common key, which is person · number of documents + document."""

    people: Int32Array  # people who have a query in the original
    keys: IntArray  # (rows,): ascending
    before: IntArray  # (rows,): how often in the original
    released: IntArray  # (released keys,)
    times: IntArray  # (released keys,): how often
    row: IntArray  # (released keys,): the row that each stands for
    n_strangers: int


def _align(
    original: LogDocuments,
    released: LogDocuments,
    texts: pa.Array,
    match: Match,
    original_of: Mapping[str, str] | None,
    progress: Progress,
) -> _Alignment:
    """Return the common rows of both logs and their counts."""
    has_query = np.bincount(original.person, minlength=len(original.persons)) > 0
    people = np.flatnonzero(has_query).astype(np.int32)
    person = _identify(original, released, people, original_of)[released.person]
    before, n_before = _count_keys((np.cumsum(has_query) - 1)[original.person], original, len(texts))
    after, n_after = _count_keys(person, released, len(texts))
    target = _match_partially(before, n_before, after, texts, progress) if match == "partial" else after
    n_strangers = len(np.unique(released.person[person < 0]))
    row, is_found = _find(target, before)
    if is_found.all():
        return _Alignment(people, before, n_before, after, n_after, row, n_strangers)
    keys = np.sort(np.concatenate((before, target[~is_found])))  # an unmatched document gets a row of its own
    counts = np.zeros(len(keys), np.int64)
    counts[np.searchsorted(keys, before)] = n_before
    return _Alignment(people, keys, counts, after, n_after, np.searchsorted(keys, target), n_strangers)


def _find(keys: IntArray, ascending: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the position of every key in a sorted array, and whether it is there; np.isin would sort again."""
    position = np.searchsorted(ascending, keys)
    return position, np.equal(ascending[np.minimum(position, len(ascending) - 1)], keys)


def _row_sensitivity(found: _Alignment, by_document: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sensitivity of what was released of each row's document, and that of the document itself."""
    own = by_document[found.keys % len(by_document)]
    shown = own.copy()
    shown[found.row] = 0.0
    np.maximum.at(shown, found.row, by_document[found.released % len(by_document)])
    return shown, own


def _identify(
    original: LogDocuments, released: LogDocuments, people: Int32Array, original_of: Mapping[str, str] | None
) -> IntArray:
    """Return the position of every released person among the original people, −1 for strangers."""
    number = {original.persons[person]: position for position, person in enumerate(people.tolist())}
    names = released.persons if original_of is None else [original_of.get(name, "") for name in released.persons]
    positions = np.array([number.get(name, -1) for name in names], np.int64)
    if len(positions) and (positions < 0).all():
        hint = "give --map with the columns original, released" if original_of is None else "check --map"
        raise InputError(f"no person of the release is in the original log; {hint}.")
    return positions


def _count_keys(person: IntArray, log: LogDocuments, width: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys (person and document as one number), ascending, and how often each occurs."""
    is_known = person >= 0
    keys = (person * width + log.document)[is_known]
    if log.times is None:
        return np.unique(keys, return_counts=True)
    keys, inverse = np.unique(keys, return_inverse=True)
    return keys, np.bincount(inverse, log.times[is_known]).astype(np.int64)


def _match_partially(
    before: IntArray, n_before: IntArray, after: IntArray, texts: pa.Array, progress: Progress
) -> IntArray:
    """Return the key of the original document that every released key stands for, by `partial` matching."""
    width, words = len(texts), [tuple(text.split()) for text in texts.to_pylist()]
    target, changed = after.copy(), np.flatnonzero(~_find(after, before)[1])
    people, starts = np.unique(after[changed] // width, return_index=True)
    bounds = np.searchsorted(before, np.stack((people, people + 1)) * width).T
    for number, positions in enumerate(np.split(changed, starts[1:])[: len(people)]):
        progress("matching queries", number, len(people))
        first, end = bounds[number]
        issued = [words[key % width] for key in before[first:end].tolist()]
        matcher = _PartialMatcher(issued, n_before[first:end].tolist())
        for position in positions.tolist():
            found = matcher.find(words[after[position] % width])
            target[position] = after[position] if found is None else before[first + found]
    return target


def word_sets(texts: pa.Array, ignored: frozenset[str] = frozenset()) -> tuple[Int32Array, pa.Array]:
    """Return the number of every text's set of words, without ignored words, and the sets as texts by number."""
    sets = [" ".join(sorted({*text.split()} - ignored)) for text in texts.to_pylist()]
    encoded = pa.array(sets, pa.large_string()).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary


class _PartialMatcher:
    """Finds the query of a person that a released set of words stands for."""

    def __init__(self, issued: Sequence[tuple[str, ...]], times: Sequence[int]) -> None:
        """Index the person's queries, given as sorted distinct words, and how often each was issued."""
        best_first = sorted(range(len(issued)), key=lambda i: (len(issued[i]), -times[i], issued[i]))
        self._sets = [frozenset(words) for words in issued]
        self._postings: dict[str, list[int]] = {}  # word → queries that contain it, the best match first
        for query in best_first:
            for word in issued[query]:
                self._postings.setdefault(word, []).append(query)

    def find(self, words: tuple[str, ...]) -> int | None:
        """Return the position of the best query that contains all the words, or None."""
        candidates = min((self._postings.get(word, []) for word in words), key=len, default=[])
        return next((query for query in candidates if self._sets[query].issuperset(words)), None)
