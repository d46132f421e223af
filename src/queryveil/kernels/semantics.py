"""Paths and ancestors in semantic networks, and the sense of a term that fits a profile.

One-to-many relations are CSR rows. A *slot* is a word of the network that some entry of the vocabulary is a form of; a
*candidate* is one way to read a slot: a path from one of its senses to a root.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.order import sort_range


class WeightedHistories(NamedTuple):
    """Histories × entries of the vocabulary, with weights."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,)
    weights: NDArray[np.float64]  # (pairs,)
    owner: NDArray[np.int32]  # (histories,)


class Expansion(NamedTuple):
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


class Ancestry(NamedTuple):
    """The ancestors of terms, themselves included, as CSR rows: a distance is one merge of two short sorted rows."""

    indptr: NDArray[np.int64]  # (terms + 1,): the row of an unknown term is empty
    middle: NDArray[np.int64]  # (terms,): the end of the nouns in each row
    nodes: NDArray[np.int32]  # ascending within a row, nouns first
    heights: NDArray[np.int32]  # the smallest number of edges up to the node
    limit: int  # terms with a larger distance count as unconnected

    def distances(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the distance between the terms of each pair, infinity beyond the limit."""
        fewest = pair_distances(self, ones, others)
        return np.where(fewest < 0, np.inf, fewest)


@jit
def with_room(values: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the array, or a copy at least twice as long if it is shorter than `length`."""
    if length <= len(values):
        return values
    longer = np.zeros(max(length, 2 * len(values)), np.int64)
    for i in range(len(values)):  # assigning slices takes two seconds to compile
        longer[i] = values[i]
    return longer


@jit
def ancestors(
    start_indptr: NDArray[np.int64],  # term → the nodes it may mean
    starts: NDArray[np.int32],
    edge_indptr: NDArray[np.int64],
    edges: NDArray[np.int32],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return CSR rows of the nodes at most `most` edges above a term's, ascending, with the fewest edges to each."""
    n_terms = len(start_indptr) - 1
    height = np.full(len(edge_indptr) - 1, -1, np.int64)
    indptr = np.zeros(n_terms + 1, np.int64)
    nodes, heights = np.zeros(16 * n_terms, np.int64), np.zeros(16 * n_terms, np.int64)
    queue = np.zeros(len(height), np.int64)
    for t in range(n_terms):
        end = done = 0
        for start in starts[start_indptr[t] : start_indptr[t + 1]]:
            if height[start] < 0:
                height[start], queue[end] = 0, start
                end += 1
        while done < end and height[queue[done]] < most:  # breadth first: heights rise along the queue
            here = queue[done]
            done += 1
            for above in edges[edge_indptr[here] : edge_indptr[here + 1]]:
                if height[above] < 0:
                    height[above], queue[end] = height[here] + 1, above
                    end += 1
        begin = indptr[t]
        indptr[t + 1] = begin + end
        nodes, heights = with_room(nodes, begin + end), with_room(heights, begin + end)
        sort_range(queue, 0, end)
        for i in range(begin, begin + end):
            nodes[i] = queue[i - begin]
            heights[i] = height[nodes[i]]
            height[nodes[i]] = -1
    return indptr, nodes[: indptr[n_terms]].copy(), heights[: indptr[n_terms]].copy()


@jit
def term_distance(terms: Ancestry, a: int, b: int) -> int:
    """Return the fewest edges between two terms through a common ancestor; −1 if there is none within the limit.

    Terms that can both be nouns are compared as nouns, others by their other senses.
    """
    one, one_end = terms.middle[a], terms.indptr[a + 1]
    other, other_end = terms.middle[b], terms.indptr[b + 1]
    if one > terms.indptr[a] and other > terms.indptr[b]:
        one, one_end, other, other_end = terms.indptr[a], one, terms.indptr[b], other
    fewest = -1
    while one < one_end and other < other_end:
        if terms.nodes[one] < terms.nodes[other]:
            one += 1
        elif terms.nodes[one] > terms.nodes[other]:
            other += 1
        else:
            steps = terms.heights[one] + terms.heights[other]
            fewest = steps if fewest < 0 or steps < fewest else fewest
            one += 1
            other += 1
    return fewest if fewest <= terms.limit else -1


@jit
def pair_distances(terms: Ancestry, ones: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the distance between the terms of each pair, −1 if they are unconnected."""
    found = np.empty(len(ones), np.int64)
    for pair in range(len(ones)):
        found[pair] = term_distance(terms, ones[pair], others[pair])
    return found


@jit
def paths_up(
    starts: NDArray[np.int32], edge_indptr: NDArray[np.int64], edges: NDArray[np.int32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the paths from each start to a root: start → paths, path → nodes with both ends.

    Depth first, edges in their order, at most `limit` paths per start; a node is never entered twice on one path, so
    that the cycle among WordNet's verbs ends.
    """
    n_nodes = len(edge_indptr) - 1
    node, next_edge = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    is_end, is_on_path = np.empty(n_nodes, np.bool_), np.zeros(n_nodes, np.bool_)
    path_indptr = np.zeros(len(starts) + 1, np.int64)
    hop_indptr, hops = np.zeros(2 * len(starts) + 1, np.int64), np.zeros(16 * len(starts), np.int64)
    n_paths = 0
    for s in range(len(starts)):
        depth = 0
        node[0], next_edge[0], is_end[0] = starts[s], edge_indptr[starts[s]], True
        is_on_path[starts[s]] = True
        while depth >= 0:
            here = node[depth]
            if next_edge[depth] < edge_indptr[here + 1] and n_paths - path_indptr[s] < limit:
                above = edges[next_edge[depth]]
                next_edge[depth] += 1
                if not is_on_path[above]:
                    is_end[depth] = False
                    depth += 1
                    node[depth], next_edge[depth], is_end[depth] = above, edge_indptr[above], True
                    is_on_path[above] = True
                continue
            if is_end[depth] and n_paths - path_indptr[s] < limit:
                end = hop_indptr[n_paths] + depth + 1
                hop_indptr, hops = with_room(hop_indptr, n_paths + 2), with_room(hops, end)
                for step in range(depth + 1):  # assigning slices takes two seconds to compile
                    hops[hop_indptr[n_paths] + step] = node[step]
                n_paths += 1
                hop_indptr[n_paths] = end
            is_on_path[here] = False
            depth -= 1
        path_indptr[s + 1] = n_paths
    return path_indptr, hop_indptr[: n_paths + 1].copy(), hops[: hop_indptr[n_paths]].astype(np.int32)


@jit
def words_on_paths(
    candidate_indptr: NDArray[np.int64],  # (slots + 1,)
    hop_indptr: NDArray[np.int64],  # (candidates + 1,)
    hops: NDArray[np.int32],
    word_indptr: NDArray[np.int64],  # node → words
    node_words: NDArray[np.int32],
    slot_of_word: NDArray[np.int32],  # (words,): −1 if the vocabulary has no form of the word
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the slots, other than its own, of the words on each candidate's path, and how many words are on it.

    A slot with a single candidate needs no evidence and gets none.
    """
    n_candidates = len(hop_indptr) - 1
    seen = np.full(len(slot_of_word), -1, np.int64)
    sizes = np.ones(n_candidates, np.int64)
    indptr, found = np.zeros(n_candidates + 1, np.int64), np.zeros(8 * n_candidates, np.int64)
    end = 0
    for slot in range(len(candidate_indptr) - 1):
        is_ambiguous = candidate_indptr[slot + 1] - candidate_indptr[slot] > 1
        for c in range(candidate_indptr[slot], candidate_indptr[slot + 1]):
            n_words = 0
            for node in hops[hop_indptr[c] : hop_indptr[c + 1] if is_ambiguous else hop_indptr[c]]:
                for word in node_words[word_indptr[node] : word_indptr[node + 1]]:
                    if seen[word] == c:
                        continue
                    seen[word] = c
                    n_words += 1
                    if slot_of_word[word] >= 0 and slot_of_word[word] != slot:
                        found = with_room(found, end + 1)
                        found[end] = slot_of_word[word]
                        end += 1
            sizes[c] = n_words if is_ambiguous else 1
            indptr[c + 1] = end
    return indptr, found[:end].copy(), sizes


@jit
def choose_candidates(
    rows: WeightedHistories,
    expansion: Expansion,
    first: int,
    last: int,
    mass: NDArray[np.float64],  # (slots,): all 0, before and after
    chosen: NDArray[np.int32],  # (pairs,): output: the candidate, −1 if the entry has no slot
) -> None:
    """Choose, in histories from `first` to before `last`, the candidate of each term most similar to the profile.

    The cosine of profile and path is Σ weights of the path's words in the profile / √(words on the path), up to the
    profile's norm, the same for all; squares are compared, which is exact for integer weights. Ties: the first.
    """
    slots, candidate_indptr, sizes = expansion.slots, expansion.candidate_indptr, expansion.sizes
    for h in range(first, last):
        pairs = range(rows.indptr[h], rows.indptr[h + 1])
        for i in pairs:
            if slots[rows.ids[i]] >= 0:
                mass[slots[rows.ids[i]]] += rows.weights[i]
        for i in pairs:
            slot = slots[rows.ids[i]]
            chosen[i] = -1 if slot < 0 else candidate_indptr[slot]
            if slot < 0 or candidate_indptr[slot + 1] - candidate_indptr[slot] < 2:
                continue
            best_sum, best_size = 0.0, 1
            for c in range(candidate_indptr[slot], candidate_indptr[slot + 1]):
                total = 0.0
                for e in range(expansion.evidence_indptr[c], expansion.evidence_indptr[c + 1]):
                    total += mass[expansion.evidence[e]]
                if total * total * best_size > best_sum * best_sum * sizes[c]:
                    chosen[i], best_sum, best_size = c, total, sizes[c]
        for i in pairs:
            if slots[rows.ids[i]] >= 0:
                mass[slots[rows.ids[i]]] = 0.0


@jit
def count_dimensions(
    rows: WeightedHistories,
    expansion: Expansion,
    chosen: NDArray[np.int32],
    first: int,
    last: int,
    seen: NDArray[np.int64],  # (dimensions,): the history that had the dimension last, −1 at the beginning
    person: NDArray[np.int64],  # (dimensions,): the person who held the dimension last, −1 at the beginning
    people: NDArray[np.int64],  # (dimensions,): output: how many people hold the dimension
    lengths: NDArray[np.int64],  # (histories,): output: how many dimensions each history has
) -> None:
    """Count the distinct dimensions of histories, and the people who hold each dimension."""
    for h in range(first, last):
        lengths[h] = 0
        for i in range(rows.indptr[h], rows.indptr[h + 1]):
            if rows.weights[i] <= 0.0:
                continue
            dimension = expansion.own[rows.ids[i]]
            if dimension >= 0:
                lengths[h] += _see(dimension, h, seen)
                people[dimension] += _see(dimension, rows.owner[h], person)
            if chosen[i] < 0:
                continue
            for o in range(expansion.output_indptr[chosen[i]], expansion.output_indptr[chosen[i] + 1]):
                dimension = expansion.outputs[o]
                lengths[h] += _see(dimension, h, seen)
                if expansion.is_held[o]:
                    people[dimension] += _see(dimension, rows.owner[h], person)


@jit
def _see(dimension: int, by: int, last: NDArray[np.int64]) -> int:
    """Return 1 if somebody else saw the dimension last, otherwise 0, and note who sees it now."""
    is_new = last[dimension] != by
    last[dimension] = by
    return 1 if is_new else 0


@jit
def sum_dimensions(
    rows: WeightedHistories,
    expansion: Expansion,  # with numbered dimensions and final factors
    own_factors: NDArray[np.float64],  # (entries,)
    chosen: NDArray[np.int32],
    first: int,
    last: int,
    seen: NDArray[np.int64],  # (dimensions,): as in `count_dimensions`
    total: NDArray[np.float64],  # (dimensions,): scratch
    out_indptr: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_values: NDArray[np.float64],
) -> None:
    """Write the dimensions of histories, ascending, with the sum over terms of weight · factor."""
    for h in range(first, last):
        end = out_indptr[h]
        for i in range(rows.indptr[h], rows.indptr[h + 1]):
            if rows.weights[i] <= 0.0:
                continue
            dimension = expansion.own[rows.ids[i]]
            if dimension >= 0:  # no other term has it
                total[dimension] = rows.weights[i] * own_factors[rows.ids[i]]
                out_ids[end] = dimension
                end += 1
            if chosen[i] < 0:
                continue
            for o in range(expansion.output_indptr[chosen[i]], expansion.output_indptr[chosen[i] + 1]):
                dimension = expansion.outputs[o]
                if _see(dimension, h, seen):
                    total[dimension] = 0.0
                    out_ids[end] = dimension
                    end += 1
                total[dimension] += rows.weights[i] * expansion.factors[o]
        sort_range(out_ids, out_indptr[h], end)
        for o in range(out_indptr[h], end):
            out_values[o] = total[out_ids[o]]
