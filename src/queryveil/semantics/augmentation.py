"""Profiles augmented by meaning: what histories are compared by.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010 (TR-2010-007), section 3.2. Each term becomes
its synonym set, one dimension per set, and the hypernym sets at most `a` edges above it are added with the term's
weight; weights that fall together add up. Where a term has several senses or paths, the path to the root is taken whose
words are most like the rest of the profile by cosine; without evidence the lowest sense number and the first path.

`weighting=paper` is that. `weighting=content` goes beyond it (docs/decisions/0013 says why): the term itself is a
dimension, with its weight; its synonym set and hypernym sets get half of that; and each dimension d is weighed by its
information content in the log, ln((N + 1) / n(d)) / ln(N + 1), where n(d) of the N people hold it, so that what nearly
everybody has says next to nothing. In a network without hypernyms a term's neighbours take their place, with half its
weight times the strength of the tie; only who has the term itself counts as holding it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.histories.profiles import FeatureMatrix, Profiles
from queryveil.kernels.semantics.senses import add_up, choose, count_dimensions
from queryveil.semantics.expansion import Expansion, Unknown, Weighting, expand
from queryveil.semantics.network import Network

_PAIRS_PER_CHUNK = 200_000
_STAGE = "augmenting"


def augment(
    profiles: Profiles,
    network: Network,
    *,
    a: int = 1,
    weighting: Weighting = "content",
    unknown: Unknown = "keep",
    progress: Progress = silent,
) -> FeatureMatrix:
    """Return the dimensions of meaning of every history; only dimensions that some history has are numbered."""
    if a < 0:
        raise InputError(f"a must be a whole number of at least 0, not {a}; 0 takes synonyms only.")
    expansion = expand(profiles.vocabulary, network, a, weighting, unknown)
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    chosen, census = _choose(profiles, weights, expansion, progress)
    content = np.ones(expansion.n_dimensions)
    if weighting == "content":
        content = content_of(census.people, profiles.n_people)
    return _add_up(profiles, weights, expansion, chosen, census, content, progress)


@dataclass(frozen=True, eq=False)
class Part:
    """What some of all people are compared by: dimensions are weighed once everybody is counted."""

    features: FeatureMatrix  # nodes not weighed yet
    dimensions: NDArray[np.int32]  # what each is: a node of the network, or behind these an entry of the vocabulary
    people: NDArray[np.int64]  # (dimensions,): how many of these people hold it


def augment_part(
    profiles: Profiles, network: Network, *, a: int, weighting: Weighting, content: NDArray[np.float64]
) -> Part:
    """Return the dimensions of meaning of some of all people; `content` is what their terms weigh among everybody's."""
    expansion = expand(profiles.vocabulary, network, a, weighting, "keep")
    weights = np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights
    chosen, census = _choose(profiles, weights, expansion, silent)
    by_dimension = np.ones(expansion.n_dimensions)
    by_dimension[network.n_nodes :] = content
    features = _add_up(profiles, weights, expansion, chosen, census, by_dimension, silent)
    used = np.flatnonzero(census.is_used).astype(np.int32)
    return Part(features, used, census.people[used])


def content_of(people: NDArray[np.int64], n_people: int) -> NDArray[np.float64]:
    """Return the information content of dimensions that so many of all people hold."""
    content: NDArray[np.float64] = np.log((n_people + 1) / np.maximum(people, 1)) / np.log(n_people + 1)
    return content


@dataclass(frozen=True, eq=False)
class _Census:
    """What was counted once every term was read in its sense."""

    lengths: NDArray[np.int64]  # (histories,): dimensions of each
    people: NDArray[np.int64]  # (dimensions,): people who hold it
    is_used: NDArray[np.bool_]  # (dimensions,)


def _choose(
    profiles: Profiles, weights: NDArray[np.float64], expansion: Expansion, progress: Progress
) -> tuple[NDArray[np.int32], _Census]:
    """Return the candidate chosen for every pair, and what comes out of that."""
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
    """Return the sums of weights over the used dimensions, numbered anew in their order."""
    number = (np.cumsum(census.is_used) - 1).astype(np.int32)
    n_dimensions = int(np.count_nonzero(census.is_used))
    own = np.where(expansion.own < 0, np.int32(-1), number[expansion.own])
    own_factors = content[expansion.own]  # whatever it is where there is no such dimension
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
    """Cut the histories into runs of about so many pairs."""
    chunk = profiles.indptr[:-1] // _PAIRS_PER_CHUNK
    cuts = [*np.flatnonzero(np.diff(chunk, prepend=-1)).tolist(), profiles.n_histories]
    return pairwise(cuts)
