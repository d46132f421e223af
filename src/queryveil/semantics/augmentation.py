"""Weights of terms, and profiles augmented by meaning: the features by which histories are compared.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010 (TR-2010-007), section 3.2. Each term becomes
its synonym set, one dimension per set, and the hypernym sets at most `a` edges above it are added with the term's
weight; the weights of a dimension add up. If a term has several senses or paths, the path to the root is chosen whose
words are most similar to the rest of the profile by cosine; without evidence, the lowest sense number and first path.

`weighting=paper` is that. `weighting=content` goes beyond it (docs/decisions/0013 says why): the term itself is a
dimension, with its weight; its synonym set and hypernym sets get half of that; and each dimension d is weighted by its
information content in the log, ln((N + 1) / n(d)) / ln(N + 1), where n(d) of the N people hold it, so that dimensions
that nearly everybody holds hardly count. In a network without hypernyms a term's neighbours take their place, with half
its weight times the strength of the tie; only people who have the term itself count as holders of a neighbour.

Weights of terms: `paper` is 1 for every term (Zhu and Xiong 2010, section 4); `counts` the queries of the history that
contain the term; `tfidf` (1 + ln c) · ln((N + 1) / n), where c is that count and n of the N people hold the term.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray, gather_rows, indptr_of, select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels import semantics
from queryveil.kernels.cooccurrence import strongest_related
from queryveil.semantics.network import MAX_PATHS, Network

Weights = Literal["paper", "counts", "tfidf"]
Weighting = Literal["content", "paper"]
Unknown = Literal["drop", "keep"]
RELATED_SHARE = 0.5  # of a term's weight, for related dimensions with weighting=content
MAX_RELATED = 5  # dimensions that neighbours add to a term, over all steps
_PAIRS_PER_CHUNK = 200_000
_STAGE = "augmenting"


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """Histories × semantic dimensions in compressed sparse rows: what histories are compared by; never published."""

    indptr: IntArray  # (histories + 1,)
    ids: Int32Array  # (pairs,): ascending and unique within a row
    values: FloatArray  # (pairs,): above 0
    n_dimensions: int


def weighted(profiles: Profiles, weights: Weights) -> Profiles:
    """Return the profiles with weights of a kind instead of their own; tf-idf weights are above 0."""
    if weights == "paper":
        return replace(profiles, weights=None)
    frequency = term_frequency(weights, profiles.counts)
    rarity = inverse_frequency(weights, profiles.holder_counts(), profiles.n_people)
    return replace(profiles, weights=frequency * rarity[profiles.ids])


def term_frequency(weights: str, counts: Int32Array) -> FloatArray:
    """Return the weights of terms by how often each occurs in its profile."""
    if weights == "paper":
        return np.ones(len(counts))
    return counts.astype(np.float64) if weights == "counts" else np.asarray(1.0 + np.log(counts))


def inverse_frequency(weights: str, people: IntArray, n_people: int) -> FloatArray:
    """Return the inverse document frequency of terms held by `people` of `n_people`; 1 except for tf-idf."""
    return np.asarray(np.log((n_people + 1) / np.maximum(people, 1))) if weights == "tfidf" else np.ones(len(people))


def augment(
    profiles: Profiles,
    network: Network,
    *,
    a: int = 1,
    weighting: Weighting = "content",
    unknown: Unknown = "keep",
    progress: Progress = silent,
) -> FeatureMatrix:
    """Return the semantic dimensions of every history; only dimensions that some history has are numbered."""
    if a < 0:
        raise InputError(f"a must be a whole number of at least 0, not {a}; 0 takes synonyms only.")
    meanings = _choose_meanings(profiles, expand(profiles.vocabulary, network, a, weighting, unknown), progress)
    content = np.ones(len(meanings.people))
    if weighting == "content":
        content = information_content(meanings.people, profiles.n_people)
    return _sum_features(profiles, meanings, content, progress)


@dataclass(frozen=True, eq=False)
class PartialFeatures:
    """The features of some of all people: nodes are weighted once the holders among all people are counted."""

    features: FeatureMatrix  # with nodes not weighted yet
    dimensions: Int32Array  # a node of the network, or after the nodes an entry of the vocabulary
    people: IntArray  # (dimensions,): how many of these people hold it


def augment_part(
    profiles: Profiles, network: Network, *, a: int, weighting: Weighting, content: FloatArray
) -> PartialFeatures:
    """Return the features of some of all people; `content` is the information content of their terms in the log."""
    meanings = _choose_meanings(profiles, expand(profiles.vocabulary, network, a, weighting, "keep"), silent)
    features = _sum_features(profiles, meanings, np.concatenate((np.ones(network.n_nodes), content)), silent)
    used = np.flatnonzero(meanings.is_used).astype(np.int32)
    return PartialFeatures(features, used, meanings.people[used])


def information_content(people: IntArray, n_people: int) -> FloatArray:
    """Return the information content of dimensions from the number of people who hold each."""
    return np.asarray(np.log((n_people + 1) / np.maximum(people, 1)) / np.log(n_people + 1))


def expand(
    vocabulary: tuple[str, ...], network: Network, a: int, weighting: Weighting, unknown: Unknown
) -> semantics.Expansion:
    """Return the candidate meanings of every entry of a vocabulary, up to `a` edges of the network away."""
    numbers = network.find_all(vocabulary)
    words, slot = np.unique(numbers[numbers >= 0], return_inverse=True)
    slots = np.full(len(numbers), -1, np.int32)
    slots[numbers >= 0] = slot
    is_content, is_kept = weighting == "content", unknown == "keep"
    # a term that two people use in different senses is still the same term, so with content it is a dimension too
    has_own = np.where(slots < 0, is_kept, is_content and network.strengths is None)
    own = np.where(has_own, network.n_nodes + np.arange(len(slots)), -1).astype(np.int32)
    if network.strengths is None:
        return _expand_by_paths(slots, own, words, network, a, is_content)
    return _expand_by_neighbours(slots, own, words, network, network.strengths, a, is_content)


def _expand_by_paths(
    slots: Int32Array, own: Int32Array, words: Int32Array, network: Network, a: int, by_content: bool
) -> semantics.Expansion:
    """Return the expansion by paths: a candidate is a path from a sense to a root and adds its first nodes.

    Only senses of the first part of speech count: nouns if the word can be one.
    """
    indptr, positions = gather_rows(network.sense_indptr, words)
    senses = network.senses[positions]
    parts = network.parts[senses]
    is_first = parts == np.repeat(parts[indptr[:-1]], np.diff(indptr))
    path_indptr, hop_indptr, hops = semantics.paths_up(senses[is_first], network.edge_indptr, network.edges, MAX_PATHS)
    candidate_indptr = path_indptr[select_entries(indptr, is_first)]
    slot_of_word = np.full(len(network.words), -1, np.int32)
    slot_of_word[words] = np.arange(len(words), dtype=np.int32)
    evidence_indptr, evidence, sizes = semantics.words_on_paths(
        candidate_indptr, hop_indptr, hops, network.word_indptr, network.node_words, slot_of_word
    )
    output_indptr, positions = gather_rows(hop_indptr, np.arange(len(sizes)), a + 1)
    factors = np.full(len(positions), RELATED_SHARE if by_content else 1.0)
    is_held, n_dimensions = np.ones(len(positions), np.bool_), network.n_nodes + len(own)
    evidence_and_sizes = (evidence_indptr, evidence.astype(np.int32), sizes)
    outputs = hops[positions]
    return semantics.Expansion(
        slots, own, candidate_indptr, *evidence_and_sizes, output_indptr, outputs, factors, is_held, n_dimensions
    )


def _expand_by_neighbours(
    slots: Int32Array,
    own: Int32Array,
    words: Int32Array,
    network: Network,
    strengths: FloatArray,
    a: int,
    by_content: bool,
) -> semantics.Expansion:
    """Return the expansion by neighbours: the only candidate of a word is its node with the neighbours."""
    indptr, nodes, ties = strongest_related(words, network.edge_indptr, network.edges, strengths, a, MAX_RELATED)
    is_held = nodes == np.repeat(words, np.diff(indptr))
    factors = np.where(is_held, 1.0, RELATED_SHARE * ties) if by_content else np.ones(len(nodes))
    no_evidence = (np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32), np.ones(len(words), np.int64))
    n_dimensions = network.n_nodes + len(own)
    return semantics.Expansion(
        slots, own, np.arange(len(words) + 1), *no_evidence, indptr, nodes, factors, is_held, n_dimensions
    )


@dataclass(frozen=True, eq=False)
class _Meanings:
    """The meanings chosen for all terms, and the resulting counts of dimensions."""

    rows: semantics.WeightedHistories
    expansion: semantics.Expansion
    chosen: Int32Array  # (pairs,): candidates
    lengths: IntArray  # (histories,): number of dimensions
    people: IntArray  # (dimensions,): people who hold it
    is_used: BoolArray  # (dimensions,)


def _choose_meanings(profiles: Profiles, expansion: semantics.Expansion, progress: Progress) -> _Meanings:
    """Choose a candidate for every pair and count the dimensions."""
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    rows = semantics.WeightedHistories(profiles.indptr, profiles.ids, weights, profiles.owner)
    chosen = np.empty(len(profiles.ids), np.int32)
    lengths, people = np.empty(profiles.n_histories, np.int64), np.zeros(expansion.n_dimensions, np.int64)
    mass = np.zeros(len(expansion.candidate_indptr) - 1)
    seen, person = np.full(expansion.n_dimensions, -1), np.full(expansion.n_dimensions, -1)
    for first, last in _chunks(profiles):
        progress(_STAGE, first, 2 * profiles.n_histories)
        semantics.choose_candidates(rows, expansion, first, last, mass, chosen)
        semantics.count_dimensions(rows, expansion, chosen, first, last, seen, person, people, lengths)
    return _Meanings(rows, expansion, chosen, lengths, people, seen >= 0)


def _sum_features(profiles: Profiles, meanings: _Meanings, content: FloatArray, progress: Progress) -> FeatureMatrix:
    """Return the sums of weights per used dimension; dimensions are renumbered in order."""
    expansion, n_dimensions = meanings.expansion, int(np.count_nonzero(meanings.is_used))
    number = (np.cumsum(meanings.is_used) - 1).astype(np.int32)
    numbered = expansion._replace(
        own=np.where(expansion.own < 0, np.int32(-1), number[expansion.own]),
        outputs=number[expansion.outputs],
        factors=expansion.factors * content[expansion.outputs],
    )
    own_factors = content[expansion.own]  # arbitrary if the entry has no dimension
    indptr = indptr_of(meanings.lengths)
    ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    scratch = (np.full(n_dimensions, -1), np.empty(n_dimensions))
    for first, last in _chunks(profiles):
        progress(_STAGE, profiles.n_histories + first, 2 * profiles.n_histories)
        semantics.sum_dimensions(
            meanings.rows, numbered, own_factors, meanings.chosen, first, last, *scratch, indptr, ids, values
        )
    progress(_STAGE, 2 * profiles.n_histories, 2 * profiles.n_histories)
    return FeatureMatrix(indptr, ids, values, n_dimensions)


def _chunks(profiles: Profiles) -> Iterator[tuple[int, int]]:
    """Yield ranges of histories with about _PAIRS_PER_CHUNK pairs each."""
    chunk = profiles.indptr[:-1] // _PAIRS_PER_CHUNK
    return pairwise([*np.flatnonzero(np.diff(chunk, prepend=-1)).tolist(), profiles.n_histories])
