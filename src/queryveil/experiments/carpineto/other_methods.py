"""SPI of releases that change terms: vocabularies and groups, which the paper leaves to exact matching of words."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from queryveil.core.log_pair import LogPair
from queryveil.core.names import resolve
from queryveil.core.rows import Int32Array, IntArray, gather_rows, indptr_of, row_numbers
from queryveil.experiments.carpineto.runs import QueryRun, QuerySetup, measure_pair
from queryveil.experiments.liu.grid import VocabularySetup, publish
from queryveil.experiments.paper import confirm_kept, run_method
from queryveil.experiments.zhu.grid import group_people
from queryveil.histories.build import assemble
from queryveil.histories.pairs import Sensitivity, documents_of_profiles, pair_logs
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import wordnet

UNITS = 1_000  # occurrences that a weight of 1 of a group's term counts as


def words_of(profiles: Profiles) -> Profiles:
    """Return profiles of words from profiles of whole queries; a word counts once per query that holds it."""
    sets = [sorted({*query.split(" ")}) for query in profiles.vocabulary]
    encoded = pa.array([word for words in sets for word in words], pa.large_string()).dictionary_encode()
    indptr, places = gather_rows(indptr_of(np.array([len(words) for words in sets])), profiles.ids)
    n_words = np.diff(indptr)
    times = np.repeat(profiles.counts, n_words)
    history = np.repeat(np.repeat(row_numbers(profiles.indptr), n_words), times).astype(np.int32)
    term = np.repeat(encoded.indices.to_numpy()[places], times).astype(np.int32)
    return assemble(history, term, encoded.dictionary, profiles.owner, profiles.persons)


def measure_others(setup: QuerySetup, sensitivity: Sensitivity) -> list[QueryRun]:
    """Measure (k,m)-anonymity, vocabularies and groups of the people, by their words."""
    words = words_of(setup.profiles)
    methods: dict[str, Callable[[str], Profiles]] = {
        "km(k=5, m=2)": lambda name: _kept(setup, words, name),
        "vocabulary(k=5, eps=8)": lambda name: _vocabularies(setup, words, name),
        "linkability(p=0.4)": lambda name: _groups(setup, words, name),
    }
    found = []
    for number, (name, make) in enumerate(methods.items()):
        setup.progress("other methods", number, len(methods))
        released = make(name)
        found.append(measure_pair(_pair(words, released, sensitivity), name, setup.rng))
    return found


def _pair(words: Profiles, released: Profiles, sensitivity: Sensitivity) -> LogPair:
    (before, after), texts = documents_of_profiles(words, released, released.owner, released.counts)
    return pair_logs(before, after, texts, match="terms", sensitivity=sensitivity)


def _kept(setup: QuerySetup, words: Profiles, name: str) -> Profiles:
    method = resolve("method", name)
    mask = run_method(method, words, setup.rng, progress=setup.progress).mask
    confirm_kept(method, words, mask, setup.tally)
    return words.select(mask)


def _vocabularies(setup: QuerySetup, words: Profiles, name: str) -> Profiles:
    published = publish(VocabularySetup(words, wordnet(), 0, setup.rng, setup.tally), name)[1]
    if published is None:
        return words.select(np.zeros(len(words.ids), np.bool_))
    return _released(words, published.terms, published.indptr, published.ids, published.counts)


def _groups(setup: QuerySetup, words: Profiles, name: str) -> Profiles:
    """Return what is published of every person's group, its weights as occurrences."""
    made = group_people(words, resolve("method", name), setup.rng, setup.tally)
    if made is None:
        return words.select(np.zeros(len(words.ids), np.bool_))
    grouped, member = made[0], np.flatnonzero(made[0].group >= 0)
    indptr, places = gather_rows(grouped.indptr, grouped.group[member])
    lengths = np.zeros(words.n_histories, np.int64)
    lengths[member] = np.diff(indptr)
    times = np.maximum(1, np.rint(UNITS * grouped.weights[places])).astype(np.int32)
    return _released(words, words.vocabulary, indptr_of(lengths), grouped.ids[places], times)


def _released(
    words: Profiles, terms: tuple[str, ...], indptr: IntArray, ids: Int32Array, times: Int32Array
) -> Profiles:
    return replace(words, vocabulary=terms, indptr=indptr, ids=ids, counts=times)
