"""The candidate meanings of every term of a vocabulary in a network, with their evidence and dimensions.

An expansion is computed once per vocabulary; the kernels then process the profiles.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import gather_rows, per_entry, select_entries
from queryveil.histories.profiles import Vocabulary
from queryveil.kernels.semantics.senses import nearest, paths_up, words_on_paths
from queryveil.semantics.network import MAX_PATHS, Network

Weighting = Literal["content", "paper"]
Unknown = Literal["drop", "keep"]

RELATED_SHARE = 0.5  # of a term's weight, for related dimensions with weighting=content
MAX_RELATED = 5  # dimensions that neighbours add to a term, over all steps


@dataclass(frozen=True, eq=False)
class Expansion:
    """Entries of a vocabulary → slots → candidates → dimensions.

    Entries with the same lemma share a slot. A candidate is one meaning of a slot: the dimensions that it adds, and
    the slots whose presence in a profile is evidence for it. Dimensions are the nodes of the network, followed by the
    entries themselves.
    """

    slots: NDArray[np.int32]  # (entries,): −1 for entries that the network does not know
    own: NDArray[np.int32]  # (entries,): the dimension of the entry itself, −1 if it has none
    candidate_indptr: NDArray[np.int64]  # (slots + 1,)
    evidence_indptr: NDArray[np.int64]  # (candidates + 1,)
    evidence: NDArray[np.int32]  # candidate → slots of the words on its path
    sizes: NDArray[np.int64]  # (candidates,): number of words on its path, in the vocabulary or not
    output_indptr: NDArray[np.int64]  # (candidates + 1,)
    outputs: NDArray[np.int32]  # candidate → dimensions that it adds
    factors: NDArray[np.float64]  # (outputs,): the share of the term's weight that each gets
    is_held: NDArray[np.bool_]  # (outputs,): whether holders of the term hold the dimension, or only are related to it
    n_dimensions: int


def expand(vocabulary: Vocabulary, network: Network, a: int, weighting: Weighting, unknown: Unknown) -> Expansion:
    """Return the expansion of a vocabulary by at most `a` edges of a network."""
    numbers = network.find_all(vocabulary.entries)
    words, slot = np.unique(numbers[numbers >= 0], return_inverse=True)
    slots = np.full(len(numbers), -1, np.int32)
    slots[numbers >= 0] = slot
    is_content, is_kept = weighting == "content", unknown == "keep"
    if network.strengths is not None:
        own = _own_dimensions(network, (slots < 0) & is_kept)
        return _by_neighbours(slots, own, words, network, network.strengths, a, is_content)
    # a term that two people use in different senses is still the same term, so with content it is a dimension too
    has_own = np.where(slots < 0, is_kept, is_content)
    return _by_paths(slots, _own_dimensions(network, has_own), words, network, a, is_content)


def _own_dimensions(network: Network, has_own: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the dimension of every entry that has one of its own, −1 for the others."""
    return np.where(has_own, network.n_nodes + np.arange(len(has_own)), -1).astype(np.int32)


def _by_paths(
    slots: NDArray[np.int32],
    own: NDArray[np.int32],
    words: NDArray[np.int32],
    network: Network,
    a: int,
    is_content: bool,
) -> Expansion:
    """Return the expansion by paths: a candidate is a path from a sense to a root and adds its first nodes.

    Only senses of the first part of speech count: nouns if the word can be one.
    """
    indptr, positions = gather_rows(network.sense_indptr, words)
    senses = network.senses[positions]
    parts = network.parts[senses]
    is_first = parts == per_entry(parts[indptr[:-1]], indptr)
    path_indptr, hop_indptr, hops = paths_up(senses[is_first], network.edge_indptr, network.edges, MAX_PATHS)
    candidate_indptr = path_indptr[select_entries(indptr, is_first)]
    slot_of_word = np.full(len(network.words), -1, np.int32)
    slot_of_word[words] = np.arange(len(words), dtype=np.int32)
    evidence_indptr, evidence, sizes = words_on_paths(
        candidate_indptr, hop_indptr, hops, network.word_indptr, network.node_words, slot_of_word
    )
    output_indptr, positions = gather_rows(hop_indptr, np.arange(len(sizes)), a + 1)
    return Expansion(
        slots,
        own,
        candidate_indptr,
        evidence_indptr,
        evidence.astype(np.int32),
        sizes,
        output_indptr,
        outputs=hops[positions],
        factors=np.full(len(positions), RELATED_SHARE if is_content else 1.0),
        is_held=np.ones(len(positions), np.bool_),
        n_dimensions=network.n_nodes + len(own),
    )


def _by_neighbours(
    slots: NDArray[np.int32],
    own: NDArray[np.int32],
    words: NDArray[np.int32],
    network: Network,
    strengths: NDArray[np.float64],
    a: int,
    is_content: bool,
) -> Expansion:
    """Return the expansion by neighbours: the only candidate of a word is its node with the neighbours."""
    indptr, nodes, ties = nearest(words, network.edge_indptr, network.edges, strengths, a, MAX_RELATED)
    is_held = nodes == per_entry(words, indptr)
    return Expansion(
        slots,
        own,
        candidate_indptr=np.arange(len(words) + 1),
        evidence_indptr=np.zeros(len(words) + 1, np.int64),
        evidence=np.empty(0, np.int32),
        sizes=np.ones(len(words), np.int64),
        output_indptr=indptr,
        outputs=nodes,
        factors=np.where(is_held, 1.0, RELATED_SHARE * ties) if is_content else np.ones(len(nodes)),
        is_held=is_held,
        n_dimensions=network.n_nodes + len(own),
    )
