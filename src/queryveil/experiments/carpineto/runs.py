"""The releases behind the figures: selected by a strategy, verified if it makes a claim, and measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

import numpy as np
import pyarrow as pa

from queryveil.core.errors import GuaranteeError
from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import resolve
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, IntArray, gather_rows, indptr_of, row_numbers, row_sums
from queryveil.experiments.liu.grid import VocabularySetup, publish
from queryveil.experiments.paper import RunTally, confirm_kept, mean_figures, run_method
from queryveil.experiments.zhu.grid import group_people
from queryveil.histories.build import assemble
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.pairs import Sensitivity, documents_of_profiles, pair_logs
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.semantics.network import wordnet

MEASURES = ("impressions", "jsd", "spi", "pel", "pel(estimate=joint)", "exposed")
HEAVY_PEOPLE = 10_000  # drawn at random from those with more queries than the mean

Mask = BoolArray  # (pairs of the profiles,)
UNITS = 1_000  # occurrences that a weight of 1 of a group's term counts as


@dataclass(frozen=True, eq=False)
class QuerySetup:
    """What all runs share."""

    profiles: Profiles  # people × whole queries
    sensitivity: FloatArray  # (entries,)
    lists: PersonalWordLists
    rng: np.random.Generator
    progress: Progress
    tally: RunTally = field(default_factory=RunTally)

    @cached_property
    def n_issued(self) -> int:
        """Count the queries that were issued."""
        return int(self.profiles.counts.sum(dtype=np.int64))

    def count_within(self, issued: IntArray | FloatArray, size: float) -> int:
        """Return how many cumulative counts are at most a share (%) of the issued queries, with a tolerance."""
        return int(np.searchsorted(issued, size / 100.0 * self.n_issued + 1e-9, side="right"))

    def of_people(self, people: IntArray) -> "tuple[QuerySetup, IntArray]":
        """Return the setup of some people, in ascending order, and the positions of their pairs."""
        profiles, pairs = take_people(self.profiles, people)
        return replace(self, profiles=profiles), pairs

    def compare(self, mask: Mask) -> LogPair:
        """Return the log before and after only the masked pairs are kept."""
        profiles, counts = self.profiles, self.profiles.counts.astype(np.int64)
        level = self.sensitivity[profiles.ids]
        after = np.where(mask, counts, 0)
        return LogPair(profiles.indptr, profiles.ids, counts, after, profiles.persons, level, level)


@dataclass(frozen=True)
class QueryRun:
    """A release and its figures."""

    strategy: str
    k: int | None  # the smallest number of people who issued a released query, for k-anonymity
    figures: Mapping[str, float]  # measure → its first figure: % for impressions, PEL and exposed
    nothing: float  # % of people of whom nothing was released
    people: int


BySize = Mapping[float, Sequence[QueryRun]]  # size of the releases (%) → a run per strategy that has so many queries


@dataclass(frozen=True, eq=False)
class QueryResults:
    """All releases of the evaluation."""

    setup: QuerySetup
    shares: Mapping[str, float]  # pool of Figure 2 → % of the queries
    first: Sequence[QueryRun]  # Figure 1, by rising k
    steady: Sequence[QueryRun]  # the same over people of whom something is released at every k at which anything is
    samples: Mapping[int, QueryRun]  # people of a sample → run, by rising size
    draws: Sequence[BySize]  # Figure 2, repeated
    others: Sequence[QueryRun]  # methods that change terms

    @cached_property
    def by_size(self) -> BySize:
        """Return the means of Figure 2 over its draws."""
        return mean_of(self.draws)


def mean_of(draws: Sequence[BySize]) -> BySize:
    """Return the mean of every figure over the draws; k is that of the first draw."""
    return {
        size: [
            replace(
                repeats[0],
                figures=mean_figures([run.figures for run in repeats]),
                nothing=fmean(run.nothing for run in repeats),
            )
            for repeats in zip(*(draw[size] for draw in draws), strict=True)
        ]
        for size in draws[0]
    }


def select_heavy_users(profiles: Profiles, rng: np.random.Generator) -> Profiles:
    """Return the profiles of people with more queries than the mean, at most as many as in the paper."""
    issued = row_sums(profiles.counts, profiles.indptr)
    heavy = np.flatnonzero(issued > issued.mean())
    if len(heavy) > HEAVY_PEOPLE:
        heavy = np.sort(rng.choice(heavy, HEAVY_PEOPLE, replace=False))
    return take_people(profiles, heavy)[0]


def take_people(profiles: Profiles, people: IntArray) -> tuple[Profiles, IntArray]:
    """Return the profiles of some people, each with one history, and the positions of their pairs."""
    indptr, pairs = gather_rows(profiles.indptr, people)
    taken = replace(
        profiles,
        indptr=indptr,
        ids=profiles.ids[pairs],
        counts=profiles.counts[pairs],
        owner=np.arange(len(people), dtype=np.int32),
        persons=tuple(profiles.persons[person] for person in profiles.owner[people].tolist()),
        log_history=profiles.log_history[people],
    )
    return taken, pairs


def release(setup: QuerySetup, name: str) -> Mask:
    """Return what a method keeps, verified."""
    method = resolve("method", name)
    kept: KeptPairs = run_method(method, setup.profiles, setup.rng, setup.lists, progress=setup.progress)
    confirm_kept(method, setup.profiles, kept.mask, setup.tally, setup.lists, unit="query")
    return kept.mask


def release_common(setup: QuerySetup, k: int) -> Mask:
    """Return what query k-anonymity keeps, verified; if no query has k people, that is nothing."""
    try:
        return release(setup, f"query_k(k={k})")
    except GuaranteeError:
        setup.tally.empty += 1
        return np.zeros(len(setup.profiles.ids), np.bool_)


def measure(setup: QuerySetup, strategy: str, mask: Mask, k: int | None = None) -> QueryRun:
    """Measure a release."""
    return measure_pair(setup.compare(mask), strategy, setup.rng, k)


def measure_pair(pair: LogPair, strategy: str, rng: np.random.Generator, k: int | None = None) -> QueryRun:
    """Measure a log before and after."""
    figures = {}
    for name in MEASURES:
        resolved = resolve("measure", name)
        figures[name] = float(resolved.declaration.load()(Evidence(pair), resolved, rng=rng)[0].value or 0.0)
    return QueryRun(strategy, k, figures, 100.0 * float((pair.n_after == 0).mean()), pair.n_people)


def take_share(setup: QuerySetup, order: IntArray, size: float) -> Mask:
    """Return the longest prefix of an order of pairs that makes up at most a share (%) of the issued queries."""
    issued = np.cumsum(setup.profiles.counts[order], dtype=np.int64)
    mask = np.zeros(len(setup.profiles.ids), np.bool_)
    mask[order[: setup.count_within(issued, size)]] = True
    return mask


class CommonQueriesFirst:
    """Queries by descending number of people who issued them, ties in random order."""

    def __init__(self, setup: QuerySetup) -> None:
        profiles = setup.profiles
        self._setup = setup
        self._people = profiles.holder_counts()
        self._order = np.lexsort((setup.rng.random(len(self._people)), -self._people))
        issued = np.bincount(profiles.ids, profiles.counts, minlength=len(self._people))
        self._issued = np.cumsum(issued[self._order])

    def take_share(self, size: float) -> tuple[Mask, int]:
        """Return the most common queries, at most a share (%) of all that were issued, and the k they satisfy."""
        profiles = self._setup.profiles
        n_kept = self._setup.count_within(self._issued, size)
        is_kept = np.zeros(len(self._people), np.bool_)
        is_kept[self._order[:n_kept]] = True
        mask: Mask = is_kept[profiles.ids]
        k = int(self._people[self._order[n_kept - 1]]) if n_kept else profiles.n_people
        confirm_kept(resolve("method", f"query_k(k={k})"), profiles, mask, self._setup.tally, unit="query")
        return mask, k


def words_of(profiles: Profiles) -> Profiles:
    """Return profiles of words from profiles of whole queries; a word counts once per query that holds it.

    Vocabularies and groups are compared by them: releases that change terms are matched by words in the paper.
    """
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
