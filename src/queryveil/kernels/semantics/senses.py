"""What the terms of a profile mean: ways through a network, the sense that fits a profile, sums over dimensions.

One-to-many is held in compressed sparse rows. A *slot* is a word of the network that some entry of the vocabulary is
a form of; a *candidate* is one way to read a slot: a path from one of its senses to a root.

Terms that the same people search for: each term's strongest neighbours, and what is near over several steps.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit


@jit
def with_room(values: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the array, or a copy at least twice as long where it is shorter than asked for."""
    if length <= len(values):
        return values
    longer = np.zeros(max(length, 2 * len(values)), np.int64)
    longer[: len(values)] = values
    return longer


@jit
def paths_up(
    starts: NDArray[np.int32], edge_indptr: NDArray[np.int64], edges: NDArray[np.int32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the ways from each start to a root: start → paths, path → nodes with both ends.

    Depth first, edges in their order, at most `limit` paths of a start; a node is never entered twice on one path, so
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
                hops[hop_indptr[n_paths] : end] = node[: depth + 1]
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
    slot_of_word: NDArray[np.int32],  # (words,): −1 where the vocabulary has no form of the word
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
        if candidate_indptr[slot + 1] - candidate_indptr[slot] < 2:
            for c in range(candidate_indptr[slot], candidate_indptr[slot + 1]):
                indptr[c + 1] = end
            continue
        for c in range(candidate_indptr[slot], candidate_indptr[slot + 1]):
            sizes[c] = 0
            for h in range(hop_indptr[c], hop_indptr[c + 1]):
                for w in range(word_indptr[hops[h]], word_indptr[hops[h] + 1]):
                    word = node_words[w]
                    if seen[word] == c:
                        continue
                    seen[word] = c
                    sizes[c] += 1
                    if slot_of_word[word] >= 0 and slot_of_word[word] != slot:
                        found = with_room(found, end + 1)
                        found[end] = slot_of_word[word]
                        end += 1
            indptr[c + 1] = end
    return indptr, found[:end].copy(), sizes


@jit
def choose(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.float64],
    slots: NDArray[np.int32],  # (entries,): −1 where the network does not know the entry
    candidate_indptr: NDArray[np.int64],  # (slots + 1,)
    evidence_indptr: NDArray[np.int64],  # (candidates + 1,)
    evidence: NDArray[np.int32],  # the slots of words on the candidate's path
    sizes: NDArray[np.int64],  # (candidates,): all words on the path
    first: int,
    last: int,
    mass: NDArray[np.float64],  # (slots,): all 0, before and after
    chosen: NDArray[np.int32],  # (pairs,): out: the candidate, −1 where the entry has no slot
) -> None:
    """Choose, in histories from `first` to before `last`, the candidate of each term that is most like the profile.

    The cosine of profile and path is Σ weights of the path's words in the profile / √(words on the path), but for the
    profile's norm, the same for all; squares are compared, which is exact for whole weights. Ties: the first.
    """
    for h in range(first, last):
        for i in range(indptr[h], indptr[h + 1]):
            if slots[ids[i]] >= 0:
                mass[slots[ids[i]]] += weights[i]
        for i in range(indptr[h], indptr[h + 1]):
            slot = slots[ids[i]]
            if slot < 0:
                chosen[i] = -1
                continue
            best = candidate_indptr[slot]
            if candidate_indptr[slot + 1] - best > 1:
                best_sum, best_size = 0.0, 1
                for c in range(best, candidate_indptr[slot + 1]):
                    total = 0.0
                    for e in range(evidence_indptr[c], evidence_indptr[c + 1]):
                        total += mass[evidence[e]]
                    if total * total * best_size > best_sum * best_sum * sizes[c]:
                        best, best_sum, best_size = c, total, sizes[c]
            chosen[i] = best
        for i in range(indptr[h], indptr[h + 1]):
            if slots[ids[i]] >= 0:
                mass[slots[ids[i]]] = 0.0


@jit
def count_dimensions(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.float64],
    owner: NDArray[np.int32],
    own: NDArray[np.int32],  # (entries,): the dimension of the entry itself, −1 where it has none
    chosen: NDArray[np.int32],
    output_indptr: NDArray[np.int64],  # (candidates + 1,)
    outputs: NDArray[np.int32],  # candidate → dimensions
    is_held: NDArray[np.bool_],  # (outputs,): whether who has the term has the dimension, or is only near it
    first: int,
    last: int,
    seen: NDArray[np.int64],  # (dimensions,): the history that had the dimension last, −1 at the beginning
    person: NDArray[np.int64],  # (dimensions,): the person who held the dimension last, −1 at the beginning
    people: NDArray[np.int64],  # (dimensions,): out: how many people hold the dimension
    lengths: NDArray[np.int64],  # (histories,): out: how many dimensions each history has
) -> None:
    """Count the different dimensions of histories, and the people behind each dimension."""
    for h in range(first, last):
        lengths[h] = 0
        for i in range(indptr[h], indptr[h + 1]):
            if weights[i] <= 0.0:
                continue
            dimension = own[ids[i]]
            if dimension >= 0:
                seen[dimension] = h
                lengths[h] += 1
                if person[dimension] != owner[h]:
                    person[dimension] = owner[h]
                    people[dimension] += 1
            if chosen[i] < 0:
                continue
            for o in range(output_indptr[chosen[i]], output_indptr[chosen[i] + 1]):
                dimension = outputs[o]
                if seen[dimension] != h:
                    seen[dimension] = h
                    lengths[h] += 1
                if is_held[o] and person[dimension] != owner[h]:
                    person[dimension] = owner[h]
                    people[dimension] += 1


@jit
def add_up(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.float64],
    own: NDArray[np.int32],
    own_factors: NDArray[np.float64],  # (entries,)
    chosen: NDArray[np.int32],
    output_indptr: NDArray[np.int64],
    outputs: NDArray[np.int32],
    factors: NDArray[np.float64],  # (outputs,)
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
        for i in range(indptr[h], indptr[h + 1]):
            if weights[i] <= 0.0:
                continue
            dimension = own[ids[i]]
            if dimension >= 0:  # no other term has it
                total[dimension] = weights[i] * own_factors[ids[i]]
                out_ids[end] = dimension
                end += 1
            if chosen[i] < 0:
                continue
            for o in range(output_indptr[chosen[i]], output_indptr[chosen[i] + 1]):
                dimension = outputs[o]
                if seen[dimension] != h:
                    seen[dimension] = h
                    total[dimension] = 0.0
                    out_ids[end] = dimension
                    end += 1
                total[dimension] += weights[i] * factors[o]
        out_ids[out_indptr[h] : end].sort()
        for o in range(out_indptr[h], end):
            out_values[o] = total[out_ids[o]]


@jit
def neighbours(
    indptr: NDArray[np.int64],  # person → terms
    ids: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],  # term → people
    holders: NDArray[np.int32],
    n_people: int,
    least: int,  # people who must have both terms
    first: int,
    last: int,
    shared: NDArray[np.int64],  # (terms,): all 0, before and after
    found: NDArray[np.int32],  # (terms, most): out: neighbours, the strongest first, −1 behind them
    strengths: NDArray[np.float64],  # (terms, most): out
) -> None:
    """Find, for terms from `first` to before `last`, the terms with the highest normalised mutual information.

    It is ln(n(t, u) · N / (n(t) · n(u))) / ln(N / n(t, u)), n counting people out of N; only what is above 0 is a
    neighbour. Ties: the term with the smaller id.
    """
    touched = np.empty(len(shared), np.int64)
    most = found.shape[1]
    for t in range(first, last):
        n_touched = 0
        for h in range(holder_indptr[t], holder_indptr[t + 1]):
            person = holders[h]
            for i in range(indptr[person], indptr[person + 1]):
                if shared[ids[i]] == 0:
                    touched[n_touched] = ids[i]
                    n_touched += 1
                shared[ids[i]] += 1
        n_found = 0
        n_holders = holder_indptr[t + 1] - holder_indptr[t]
        for u in touched[:n_touched]:
            both = shared[u]
            shared[u] = 0
            n_others = holder_indptr[u + 1] - holder_indptr[u]
            if u == t or both < least or both * n_people <= n_holders * n_others:
                continue
            strength = np.log(both * n_people / (n_holders * n_others)) / np.log(n_people / both)
            place = min(n_found, most)
            while place > 0 and (
                strength > strengths[t, place - 1] or (strength == strengths[t, place - 1] and u < found[t, place - 1])
            ):
                if place < most:
                    found[t, place], strengths[t, place] = found[t, place - 1], strengths[t, place - 1]
                place -= 1
            if place < most:
                found[t, place], strengths[t, place] = u, strength
                n_found = min(n_found + 1, most)


@jit
def nearest(
    starts: NDArray[np.int32],
    edge_indptr: NDArray[np.int64],
    edges: NDArray[np.int32],
    strengths: NDArray[np.float64],
    steps: int,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return, for each start, itself and the `most` nodes strongest tied to it by at most so many edges.

    A tie over several edges is as strong as the product of theirs, by the best way. Ties: the smaller node.
    """
    n_nodes = len(edge_indptr) - 1
    tie, before, queue = np.zeros(n_nodes), np.zeros(n_nodes), np.empty(n_nodes, np.int64)
    indptr = np.zeros(len(starts) + 1, np.int64)
    nodes, ties = np.empty(len(starts) * (most + 1), np.int32), np.empty(len(starts) * (most + 1))
    for s in range(len(starts)):
        tie[starts[s]], queue[0], n_known = 1.0, starts[s], 1
        for _ in range(steps):
            n_before = n_known
            for node in queue[:n_before]:
                before[node] = tie[node]
            for node in queue[:n_before]:
                for e in range(edge_indptr[node], edge_indptr[node + 1]):
                    if tie[edges[e]] == 0.0:
                        queue[n_known] = edges[e]
                        n_known += 1
                    tie[edges[e]] = max(tie[edges[e]], before[node] * strengths[e])
        begin = indptr[s]
        end = begin
        for node in queue[:n_known]:
            place = min(end, begin + most + 1)
            while place > begin and (
                tie[node] > ties[place - 1] or (tie[node] == ties[place - 1] and node < nodes[place - 1])
            ):
                if place <= begin + most:
                    nodes[place], ties[place] = nodes[place - 1], ties[place - 1]
                place -= 1
            if place <= begin + most:
                nodes[place], ties[place] = node, tie[node]
                end = min(end + 1, begin + most + 1)
        for node in queue[:n_known]:
            tie[node] = 0.0
        indptr[s + 1] = end
    return indptr, nodes[: indptr[len(starts)]].copy(), ties[: indptr[len(starts)]].copy()
