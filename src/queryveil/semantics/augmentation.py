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
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.kernels.semantics.senses import add_up, choose, count_dimensions
from queryveil.semantics.expansion import Expansion, Unknown, Weighting, expand
from queryveil.semantics.network import Network

Weights = Literal["paper", "counts", "tfidf"]
_PAIRS_PER_CHUNK = 200_000
_STAGE = "augmenting"


def weighted(profiles: Profiles, weights: Weights) -> Profiles:
    """Return the profiles with weights of a kind instead of their own; tf-idf weights are above 0."""
    if weights == "paper":
        return replace(profiles, weights=None)
    counts = profiles.counts.astype(np.float64)
    if weights == "counts":
        return replace(profiles, weights=counts)
    rarity = np.log((profiles.n_people + 1) / np.maximum(profiles.holders(), 1))
    return replace(profiles, weights=(1.0 + np.log(counts)) * rarity[profiles.ids])


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
    expansion = expand(profiles.vocabulary, network, a, weighting, unknown)
    weights = _weights_or_ones(profiles)
    chosen, census = _choose_meanings(profiles, weights, expansion, progress)
    content = np.ones(expansion.n_dimensions)
    if weighting == "content":
        content = information_content(census.people, profiles.n_people)
    return _add_up(profiles, weights, expansion, chosen, census, content, progress)


@dataclass(frozen=True, eq=False)
class PartialFeatures:
    """The features of some of all people: nodes are weighted once the holders among all people are counted."""

    features: FeatureMatrix  # with nodes not weighted yet
    dimensions: NDArray[np.int32]  # a node of the network, or after the nodes an entry of the vocabulary
    people: NDArray[np.int64]  # (dimensions,): how many of these people hold it


def augment_part(
    profiles: Profiles, network: Network, *, a: int, weighting: Weighting, content: NDArray[np.float64]
) -> PartialFeatures:
    """Return the features of some of all people; `content` is the information content of their terms in the log."""
    expansion = expand(profiles.vocabulary, network, a, weighting, "keep")
    weights = _weights_or_ones(profiles)
    chosen, census = _choose_meanings(profiles, weights, expansion, silent)
    by_dimension = np.ones(expansion.n_dimensions)
    by_dimension[network.n_nodes :] = content
    features = _add_up(profiles, weights, expansion, chosen, census, by_dimension, silent)
    used = np.flatnonzero(census.is_used).astype(np.int32)
    return PartialFeatures(features, used, census.people[used])


def _weights_or_ones(profiles: Profiles) -> NDArray[np.float64]:
    return np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights


def information_content(people: NDArray[np.int64], n_people: int) -> NDArray[np.float64]:
    """Return the information content of dimensions from the number of people who hold each."""
    content: NDArray[np.float64] = np.log((n_people + 1) / np.maximum(people, 1)) / np.log(n_people + 1)
    return content


@dataclass(frozen=True, eq=False)
class _Census:
    """Counts after the meaning of every term was chosen."""

    lengths: NDArray[np.int64]  # (histories,): number of dimensions
    people: NDArray[np.int64]  # (dimensions,): people who hold it
    is_used: NDArray[np.bool_]  # (dimensions,)


def _choose_meanings(
    profiles: Profiles, weights: NDArray[np.float64], expansion: Expansion, progress: Progress
) -> tuple[NDArray[np.int32], _Census]:
    """Return the candidate chosen for every pair, and the resulting counts of dimensions."""
    chosen = np.empty(len(profiles.ids), np.int32)
    lengths, people = np.empty(profiles.n_histories, np.int64), np.zeros(expansion.n_dimensions, np.int64)
    mass = np.zeros(len(expansion.candidate_indptr) - 1)
    seen, person = np.full(expansion.n_dimensions, -1), np.full(expansion.n_dimensions, -1)
    rows = (profiles.indptr, profiles.ids, weights)
    slots, candidates = expansion.slots, expansion.candidate_indptr
    evidence = (expansion.evidence_indptr, expansion.evidence, expansion.sizes)
    outputs = (expansion.output_indptr, expansion.outputs, expansion.is_held)
    for first, last in _chunks(profiles):
        progress(_STAGE, first, 2 * profiles.n_histories)
        choose(*rows, slots, candidates, *evidence, first, last, mass, chosen)
        count_dimensions(
            *rows, profiles.owner, expansion.own, chosen, *outputs, first, last, seen, person, people, lengths
        )
    return chosen, _Census(lengths, people, seen >= 0)


def _add_up(
    profiles: Profiles,
    weights: NDArray[np.float64],
    expansion: Expansion,
    chosen: NDArray[np.int32],
    census: _Census,
    content: NDArray[np.float64],
    progress: Progress,
) -> FeatureMatrix:
    """Return the sums of weights per used dimension; dimensions are renumbered in order."""
    number = (np.cumsum(census.is_used) - 1).astype(np.int32)
    n_dimensions = int(np.count_nonzero(census.is_used))
    own = np.where(expansion.own < 0, np.int32(-1), number[expansion.own])
    own_factors = content[expansion.own]  # arbitrary if the entry has no dimension
    outputs = (expansion.output_indptr, number[expansion.outputs], expansion.factors * content[expansion.outputs])
    indptr = indptr_of(census.lengths)
    ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    seen, total = np.full(n_dimensions, -1), np.empty(n_dimensions)
    rows = (profiles.indptr, profiles.ids, weights)
    for first, last in _chunks(profiles):
        progress(_STAGE, profiles.n_histories + first, 2 * profiles.n_histories)
        add_up(*rows, own, own_factors, chosen, *outputs, first, last, seen, total, indptr, ids, values)
    progress(_STAGE, 2 * profiles.n_histories, 2 * profiles.n_histories)
    return FeatureMatrix(indptr, ids, values, n_dimensions)


def _chunks(profiles: Profiles) -> Iterator[tuple[int, int]]:
    """Yield runs of histories with about _PAIRS_PER_CHUNK pairs each."""
    chunk = profiles.indptr[:-1] // _PAIRS_PER_CHUNK
    cuts = [*np.flatnonzero(np.diff(chunk, prepend=-1)).tolist(), profiles.n_histories]
    return pairwise(cuts)
