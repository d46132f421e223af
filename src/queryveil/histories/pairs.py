"""Setting two logs beside each other, person by person: what people searched for, and what was released of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.evidence import LogPair
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.engines import QueryLog
from queryveil.histories.matching import Finder, Issued, Match, word_sets
from queryveil.histories.profiles import Profiles
from queryveil.histories.tokens import Crew, Tokeniser
from queryveil.lexicons.stop_words import ENGLISH

WAITING = 40  # batches: so that the next log is opened while the last is worked on, and memory is bounded
Sensitivity = Callable[[pa.Array], NDArray[np.float64]]  # texts → how likely each is sensitive


@dataclass(frozen=True, eq=False)
class Side:
    """One of two logs, as documents of people."""

    person: NDArray[np.int32]  # (queries,)
    document: NDArray[np.int32]  # (queries,): a number that both sides share
    persons: tuple[str, ...]  # person → identifier
    times: NDArray[np.int32] | None = None  # (queries,): how often each was issued; None: once


def read_sides(
    logs: Iterable[QueryLog], n_logs: int, *, charset: str, match: Match = "exact", progress: Progress = silent
) -> tuple[list[Side], pa.Array]:
    """Go through logs one after the other; return the documents of each, numbered alike, and their texts."""
    owners: list[NDArray[np.int32]] = []
    persons: list[tuple[str, ...]] = []
    histories: list[tuple[int, NDArray[np.int32]]] = []  # of every batch: which log, and the history of each query
    # a tokeniser for each log: of one log alone, to number queries of several alike takes longer than it saves
    with Crew([Tokeniser(charset, whole=match != "terms") for _ in range(n_logs)], waiting=WAITING) as crew:
        for number, log in enumerate(logs):
            owners.append(log.histories()[0])
            persons.append(log.persons())
            for batch in log.batches():
                histories.append((number, batch["history"].to_numpy()))
                crew.add(batch["query"], member=number)
                progress("finding queries", len(histories), 0)
        found, texts = crew.finish()
    people: list[list[NDArray[np.int32]]] = [[] for _ in owners]
    documents: list[list[NDArray[np.int32]]] = [[] for _ in owners]
    for (number, history), (rows, terms) in zip(histories, found, strict=True):
        people[number].append(owners[number][history[rows]])
        documents[number].append(terms)
    return [
        Side(_joined(people[number]), _joined(documents[number]), names) for number, names in enumerate(persons)
    ], texts


def _joined(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate([np.empty(0, np.int32), *parts])


def side_of(
    user: NDArray[np.integer[Any]], texts: pa.Array, persons: tuple[str, ...], known: pa.Array
) -> tuple[Side, pa.Array]:
    """Return texts that are folded already as a side whose numbers go on from known ones, and all texts by number."""
    encoded = texts.cast(pa.large_string()).dictionary_encode()
    place = pc.index_in(encoded.dictionary, known)
    is_new = pc.is_null(place).to_numpy(zero_copy_only=False)
    number = pc.fill_null(place, 0).to_numpy().astype(np.int32)
    number[is_new] = len(known) + np.arange(np.count_nonzero(is_new), dtype=np.int32)
    side = Side(user.astype(np.int32), number[encoded.indices.to_numpy()], persons)
    return side, pa.concat_arrays([known, encoded.dictionary.filter(pa.array(is_new))])


def sides_of_profiles(
    original: Profiles, released: Profiles, owner: NDArray[np.int32], times: NDArray[np.int32]
) -> tuple[list[Side], pa.Array]:
    """Return the terms of two profiles as sides; of the released ones it is told who owns and how often each was."""
    entries = pa.array(original.vocabulary.entries, pa.large_string())
    first = Side(original.owner[_rows(original)], original.ids, original.persons, original.counts)
    terms = pa.array(released.vocabulary.entries, pa.large_string()).take(pa.array(released.ids))
    second, texts = side_of(owner[_rows(released)], terms, original.persons, entries)
    return [first, replace(second, times=times)], texts


def _rows(profiles: Profiles) -> IntArray:
    return profiles.row_numbers()


def pair_sides(
    original: Side,
    released: Side,
    texts: pa.Array,
    *,
    match: Match = "exact",
    original_of: Mapping[str, str] | None = None,
    stop_words: str = "none",
    sensitivity: Sensitivity | None = None,
    progress: Progress = silent,
) -> LogPair:
    """Set two logs beside each other; `original_of` tells who a person of the release is, where ids differ.

    Stop words that the release was made without are in no set of words.
    A row's sensitivity is that of the document, or, where other words were released of it, of the most sensitive of
    what was: a reader sees no more.
    """
    if match in ("words", "partial"):
        number, texts = word_sets(texts, ENGLISH if stop_words == "english" else frozenset())
        original, released = (replace(side, document=number[side.document]) for side in (original, released))
    with ThreadPoolExecutor(2) as beside:  # all leave Python's lock
        halves = () if sensitivity is None else beside.map(sensitivity, _halves(texts))
        found = _align(original, released, texts, match, original_of, progress)
        levels = list(halves)
    shown, own = _levels(found, np.concatenate(levels)) if levels else (None, None)
    return LogPair(
        np.searchsorted(found.keys, np.arange(len(found.people) + 1) * len(texts)),
        (found.keys % len(texts)).astype(np.int32),
        found.before,
        np.bincount(found.place, found.times, minlength=len(found.keys)).astype(np.int64),
        tuple(original.persons[person] for person in found.people.tolist()),
        shown,
        own,
        found.n_strangers,
        "term" if match == "terms" else "query",
    )


def _halves(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    return texts.slice(0, len(texts) // 2), texts.slice(len(texts) // 2)


class _Aligned(NamedTuple):
    """Both sides by one key, which is person · number of documents + document."""

    people: NDArray[np.int32]  # who has a query in the original
    keys: IntArray  # (rows,): ascending
    before: IntArray  # (rows,): how often in the original
    released: IntArray  # (released keys,)
    times: IntArray  # (released keys,): how often
    place: IntArray  # (released keys,): the row that each stands for
    n_strangers: int


def _align(
    original: Side,
    released: Side,
    texts: pa.Array,
    match: Match,
    original_of: Mapping[str, str] | None,
    progress: Progress,
) -> _Aligned:
    """Find the people, rows and counts of both sides."""
    is_there = np.bincount(original.person, minlength=len(original.persons)) > 0
    people = np.flatnonzero(is_there).astype(np.int32)
    mine = _places(original, released, people, original_of)[released.person]
    before, n_before = _count((np.cumsum(is_there) - 1)[original.person], original, len(texts))
    after, n_after = _count(mine, released, len(texts))
    target = _stands_for(before, n_before, after, texts, progress) if match == "partial" else after
    n_strangers = len(np.unique(released.person[mine < 0]))
    place, is_among = _find(target, before)
    if is_among.all():
        return _Aligned(people, before, n_before, after, n_after, place, n_strangers)
    keys = np.sort(np.concatenate((before, target[~is_among])))  # one that was not there is its own
    counts = np.zeros(len(keys), np.int64)
    counts[np.searchsorted(keys, before)] = n_before
    return _Aligned(people, keys, counts, after, n_after, np.searchsorted(keys, target), n_strangers)


def _find(keys: IntArray, ascending: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return where every key is among others, and whether it is; np.isin would put both into a table first."""
    place = np.searchsorted(ascending, keys)
    return place, np.equal(ascending[np.minimum(place, len(ascending) - 1)], keys)


def _levels(found: _Aligned, by_document: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how sensitive what was released of each row's document is, and how sensitive the document itself."""
    own = by_document[found.keys % len(by_document)]
    shown = own.copy()
    shown[found.place] = 0.0
    np.maximum.at(shown, found.place, by_document[found.released % len(by_document)])
    return shown, own


def _places(
    original: Side, released: Side, people: NDArray[np.int32], original_of: Mapping[str, str] | None
) -> NDArray[np.int64]:
    """Return the place among the people of the original of everybody in the release, −1 where there is none."""
    number = {original.persons[person]: place for place, person in enumerate(people.tolist())}
    names = released.persons if original_of is None else [original_of.get(name, "") for name in released.persons]
    places = np.array([number.get(name, -1) for name in names], np.int64)
    if len(places) and (places < 0).all():
        hint = "give --map with the columns original, released" if original_of is None else "check --map"
        raise InputError(f"no person of the release is in the original log; {hint}.")
    return places


def _count(person: IntArray, side: Side, width: int) -> tuple[IntArray, IntArray]:
    """Return person and document of every query as one number, ascending and unique, and how often each is there."""
    is_known = person >= 0
    keys = (person * width + side.document)[is_known]
    if side.times is None:
        return np.unique(keys, return_counts=True)
    keys, inverse = np.unique(keys, return_inverse=True)
    return keys, np.bincount(inverse, side.times[is_known]).astype(np.int64)


def _stands_for(before: IntArray, n_before: IntArray, after: IntArray, texts: pa.Array, progress: Progress) -> IntArray:
    """Return for every document of a person in the release that which it stands for."""
    width, words = len(texts), [tuple(text.split()) for text in texts.to_pylist()]
    target, changed = after.copy(), np.flatnonzero(~_find(after, before)[1])
    people, starts = np.unique(after[changed] // width, return_index=True)
    bounds = np.searchsorted(before, np.stack((people, people + 1)) * width).T
    for number, places in enumerate(np.split(changed, starts[1:])[: len(people)]):
        progress("matching queries", number, len(people))
        first, end = bounds[number]
        finder = Finder([Issued(words[key % width], n) for key, n in _listed(before[first:end], n_before[first:end])])
        for place in places.tolist():
            found = finder.find(words[after[place] % width])
            target[place] = after[place] if found is None else before[first + found]
    return target


def _listed(keys: IntArray, counts: IntArray) -> Iterator[tuple[int, int]]:
    return zip(keys.tolist(), counts.tolist(), strict=True)
