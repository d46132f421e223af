"""SPI of releases that change terms: vocabularies and groups, which the paper leaves to exact matching of words."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from queryveil.core.names import resolve
from queryveil.core.rows import gather_rows, indptr_of, row_numbers
from queryveil.experiments.carpineto.runs import QueryRun, QuerySetup, measure_pair
from queryveil.experiments.liu.grid import VocabularySetup, publish
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
    """Measure vocabularies and groups of the people, by their words."""
    words, found = words_of(setup.profiles), []
    for name, make in (("vocabulary(k=5, eps=8)", _vocabularies), ("linkability(p=0.4)", _groups)):
        setup.progress(name, 0, 0)
        released = make(setup, words, name)
        (before, after), texts = documents_of_profiles(words, released, released.owner, released.counts)
        pair = pair_logs(before, after, texts, match="terms", sensitivity=sensitivity)
        found.append(measure_pair(pair, name, setup.rng))
    return found


def _vocabularies(setup: QuerySetup, words: Profiles, name: str) -> Profiles:
    made = publish(VocabularySetup(words, wordnet(), 0, setup.rng, setup.tally), name)[1]
    if made is None:
        return words.select(np.zeros(len(words.ids), np.bool_))
    return replace(words, vocabulary=made.terms, indptr=made.indptr, ids=made.ids, counts=made.counts)


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
    return replace(words, indptr=indptr_of(lengths), ids=grouped.ids[places], counts=times)
