"""Count the frequent combinations of up to four terms, and find those of one history.

A combination is stored under its *rarest* term (the largest id), then the next rarer: a tree whose lists stay short,
since a rare term has few partners and a common term few partners that are commoner still. The histories that hold a
prefix are scanned into a dense counter of the terms before it; no hash table, no candidate generation.

Only combinations with support ≥ k are stored; all others are infrequent for good, as deletion only lowers supports.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit

LISTED = 1024  # terms of the longest history whose frequent pairs are listed: bounds the room
MARKED = 256  # terms of the longest history whose frequent triples are marked: bounds the room
ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its 64 windows of 6 bits are all different
_PLACES = np.argsort(np.array([(0x03F79D71B4CB0A89 << position & (1 << 64) - 1) >> 58 for position in range(64)]))


class Tree(NamedTuple):
    """Frequent combinations of two, three and four terms, with their supports.

    Children of node i of one size are `term[start[i]:start[i + 1]]` of the next, ascending; nodes of size one are
    the term ids themselves.
    """

    start2: NDArray[np.int64]
    term2: NDArray[np.int32]
    support2: NDArray[np.int32]
    start3: NDArray[np.int64]
    term3: NDArray[np.int32]
    support3: NDArray[np.int32]
    start4: NDArray[np.int64]
    term4: NDArray[np.int32]
    support4: NDArray[np.int32]


class Level(NamedTuple):
    """A growing list of nodes of one size, and where the children of each node of the size before begin."""

    start: NDArray[np.int64]
    term: NDArray[np.int32]
    support: NDArray[np.int32]
    size: NDArray[np.int64]  # (2,): nodes written, and parents closed


@jit
def postings(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for every term below n_terms, the histories that hold it, ascending."""
    start = np.zeros(n_terms + 1, np.int64)
    for t in ids:
        if t < n_terms:
            start[t + 1] += 1
    for t in range(n_terms):
        start[t + 1] += start[t]
    position = start[:-1].copy()
    history = np.empty(start[n_terms], np.int32)
    for h in range(len(indptr) - 1):
        for i in range(indptr[h], indptr[h + 1]):
            t = ids[i]
            if t < n_terms:
                history[position[t]] = h
                position[t] += 1
    return start, history


@jit
def are_distinct(owner: NDArray[np.int32]) -> bool:
    """Return whether each history has a different owner; histories of one owner must be neighbours."""
    for h in range(1, len(owner)):
        if owner[h] == owner[h - 1]:
            return False
    return True


@jit
def _count_partners(
    histories: NDArray[np.int32],
    bound: int,
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    has_one_each: bool,  # every owner has one history
    allowed: NDArray[np.int32],  # a term counts only where this is ≥ 0
    count: NDArray[np.int32],
    last: NDArray[np.int32],
    touched: NDArray[np.int32],  # zeros, -1 and anything
) -> int:
    """Count how many owners of these histories hold each term below `bound`; return how many terms were touched."""
    n_touched = 0
    for h in histories:
        person = owner[h]
        for i in range(indptr[h], indptr[h + 1]):
            t = ids[i]
            if t >= bound:
                break
            if allowed[t] >= 0 and (has_one_each or last[t] != person):
                last[t] = person
                if count[t] == 0:
                    touched[n_touched] = t
                    n_touched += 1
                count[t] += 1
    return n_touched


@jit
def _add_nodes(
    touched: NDArray[np.int32],
    n_touched: int,
    candidates: NDArray[np.int32],  # all that can have been touched, ascending
    k: int,
    count: NDArray[np.int32],
    last: NDArray[np.int32],
    term: NDArray[np.int32],
    support: NDArray[np.int32],
    n: int,
) -> int:
    """Append the touched terms with count ≥ k and their supports at n, sorted by id; reset counts; return the end."""
    end = n
    if 8 * n_touched >= len(candidates):  # going through all costs less than sorting
        for t in candidates:
            if count[t] >= k:
                term[end], support[end] = t, count[t]
                end += 1
    else:
        for i in range(n_touched):
            if count[touched[i]] >= k:
                term[end] = touched[i]
                end += 1
        term[n:end].sort()
        for i in range(n, end):
            support[i] = count[term[i]]
    for i in range(n_touched):
        count[touched[i]] = 0
        last[touched[i]] = -1
    return end


@jit
def _distribute(
    histories: NDArray[np.int32],
    bound: int,
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    position_of: NDArray[np.int32],
    n_positions: int,  # term → its position among the frequent ones, -1 elsewhere
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for every frequent term, which of these histories hold it."""
    start = np.zeros(n_positions + 1, np.int64)
    for h in histories:
        for i in range(indptr[h], indptr[h + 1]):
            if ids[i] >= bound:
                break
            if position_of[ids[i]] >= 0:
                start[position_of[ids[i]] + 1] += 1
    for j in range(n_positions):
        start[j + 1] += start[j]
    position = start[:-1].copy()
    holding = np.empty(start[n_positions], np.int32)
    for h in histories:
        for i in range(indptr[h], indptr[h + 1]):
            if ids[i] >= bound:
                break
            j = position_of[ids[i]]
            if j >= 0:
                holding[position[j]] = h
                position[j] += 1
    return start, holding


@jit
def _with_room(level: Level, n_children: int) -> Level:
    """Return a level with room for the children of one more parent."""
    n, parent = level.size[0], level.size[1]
    start, term, support = level.start, level.term, level.support
    if n + n_children > len(term):
        room = 2 * (n + n_children)
        larger, larger_support = np.empty(room, np.int32), np.empty(room, np.int32)
        for i in range(n):  # assigning slices takes two seconds to compile
            larger[i], larger_support[i] = term[i], support[i]
        term, support = larger, larger_support
    if parent + 2 > len(start):
        longer = np.empty(2 * (parent + 2), np.int64)
        for i in range(len(start)):
            longer[i] = start[i]
        start = longer
    return Level(start, term, support, level.size)


@jit
def _close_parent(level: Level, end: int) -> None:
    """Record where the children of the next parent end."""
    level.start[level.size[1] + 1] = end
    level.size[0], level.size[1] = end, level.size[1] + 1


@jit
def count_frequent(
    first: int,
    end: int,
    n_terms: int,
    k: int,
    m: int,
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    post_start: NDArray[np.int64],
    post_history: NDArray[np.int32],
    level2: Level,
    level3: Level,
    level4: Level,
) -> tuple[Level, Level, Level]:
    """Count all combinations whose rarest term is one from `first` to `end` − 1; ids below n_terms have support ≥ k."""
    count = np.zeros(n_terms, np.int32)
    last = np.full(n_terms, -1, np.int32)
    touched = np.empty(n_terms, np.int32)
    anything = np.zeros(n_terms, np.int32)
    all_terms = np.arange(n_terms).astype(np.int32)
    place2 = np.full(n_terms, -1, np.int32)
    place3 = np.full(n_terms, -1, np.int32)
    has_one_each = are_distinct(owner)
    for t in range(first, end):
        histories = post_history[post_start[t] : post_start[t + 1]]
        n = _count_partners(histories, t, indptr, ids, owner, has_one_each, anything, count, last, touched)
        level2 = _with_room(level2, max(n, t if 8 * n >= t else 0))
        begin2 = level2.size[0]
        end2 = _add_nodes(touched, n, all_terms[:t], k, count, last, level2.term, level2.support, begin2)
        _close_parent(level2, end2)
        if m < 3:
            continue
        terms2 = level2.term[begin2:end2]
        for j in range(len(terms2)):
            place2[terms2[j]] = j
        start, holding = _distribute(histories, t, indptr, ids, place2, len(terms2))
        for j in range(len(terms2)):
            with_b = holding[start[j] : start[j + 1]]
            n = _count_partners(with_b, terms2[j], indptr, ids, owner, has_one_each, place2, count, last, touched)
            level3 = _with_room(level3, j)
            begin3 = level3.size[0]
            end3 = _add_nodes(touched, n, terms2[:j], k, count, last, level3.term, level3.support, begin3)
            _close_parent(level3, end3)
            if m < 4:
                continue
            terms3 = level3.term[begin3:end3]
            for i in range(len(terms3)):
                place3[terms3[i]] = i
            start_, holding_ = _distribute(with_b, terms2[j], indptr, ids, place3, len(terms3))
            for i in range(len(terms3)):
                with_a = holding_[start_[i] : start_[i + 1]]
                n = _count_partners(with_a, terms3[i], indptr, ids, owner, has_one_each, place3, count, last, touched)
                level4 = _with_room(level4, i)
                end4 = _add_nodes(touched, n, terms3[:i], k, count, last, level4.term, level4.support, level4.size[0])
                _close_parent(level4, end4)
            for i in range(len(terms3)):
                place3[terms3[i]] = -1
        for j in range(len(terms2)):
            place2[terms2[j]] = -1
    return level2, level3, level4


def empty_level() -> Level:
    """Return a level without nodes."""
    return Level(np.zeros(1024, np.int64), np.empty(1024, np.int32), np.empty(1024, np.int32), np.zeros(2, np.int64))


def join_levels(parts: Sequence[tuple[Level, Level, Level]]) -> Tree:
    """Join the levels counted for consecutive ranges of terms into one tree."""
    arrays: list[NDArray[np.int64] | NDArray[np.int32]] = []
    for size in range(3):
        levels = [part[size] for part in parts]
        ends = np.cumsum([0, *(level.size[0] for level in levels)])
        starts = [level.start[1 : level.size[1] + 1] + end for level, end in zip(levels, ends, strict=False)]
        arrays.append(np.concatenate([np.zeros(1, np.int64), *starts]))
        arrays.append(np.concatenate([np.empty(0, np.int32), *(level.term[: level.size[0]] for level in levels)]))
        arrays.append(np.concatenate([np.empty(0, np.int32), *(level.support[: level.size[0]] for level in levels)]))
    return Tree(*arrays)  # type: ignore[arg-type]


class TermPairs(NamedTuple):
    """Scratch space for the pairs of one history, allocated once; terms are given by their positions in it."""

    frequent: NDArray[np.uint64]  # (n, words): bit j of row i says that positions i < j are a frequent pair
    rarer: NDArray[np.uint64]  # (words,): bit j says that position j is still there and looked at as the rarer term
    first: NDArray[np.int32]  # the listed pairs: positions first < second, and their node in the tree
    second: NDArray[np.int32]
    node: NDArray[np.int64]
    size: NDArray[np.int64]  # (1,): pairs listed


@jit
def lowest(bits: np.uint64) -> int:
    """Return the place of the lowest bit that is set."""
    return int(_PLACES[((bits & (~bits + ONE)) * _DE_BRUIJN) >> np.uint64(58)])


@jit
def find_node(term: NDArray[np.int32], low: int, high: int, t: int) -> int:
    """Return the node of term t among those from `low` to `high` − 1, or -1."""
    n = high - low
    if n == 0:
        return -1
    while n > 1:  # without a branch to mispredict
        half = n >> 1
        low += half if term[low + half] <= t else 0
        n -= half
    return low if term[low] == t else -1


@jit
def advance(indices: NDArray[np.int64], size: int, n: int, last: int) -> bool:
    """Move to the next combination in lexicographic order that differs at index `last` or before; False at the end."""
    i = last
    while i >= 0:
        if indices[i] + (size - i) < n:
            indices[i] += 1
            for j in range(i + 1, size):
                indices[j] = indices[j - 1] + 1
            return True
        i -= 1
    return False


@jit
def children(
    start: NDArray[np.int64],
    term: NDArray[np.int32],
    parent: int,
    current: NDArray[np.int32],
    n: int,
    position_of: NDArray[np.int32],
    positions: NDArray[np.int32],
    nodes: NDArray[np.int64],
) -> int:
    """Write the positions and nodes of those of the first n current terms that are children of a parent.

    Either the children are looked up among the terms or the terms among the children, whichever are fewer.
    """
    low, high = start[parent], start[parent + 1]
    found = 0
    if high - low <= 20 * n:
        for node in range(low, high):
            position = position_of[term[node]]
            if position >= 0:
                positions[found], nodes[found] = position, node
                found += 1
        return found
    for position in range(n):
        node = find_node(term, low, high, current[position])
        if node >= 0:
            positions[found], nodes[found] = position, node
            found += 1
    return found


@jit
def list_pairs(
    tree: Tree,
    k: int,
    current: NDArray[np.int32],
    n: int,
    is_deleted: NDArray[np.bool_],
    rarest: NDArray[np.bool_],
    position_of: NDArray[np.int32],
    pairs: TermPairs,
) -> int:
    """List the pairs that are in the tree and mark the frequent ones, only with some terms as the rarer one.

    Return the work done.
    """
    start, term, support = tree.start2, tree.term2, tree.support2
    frequent, rarer, first, second, node_of = pairs.frequent, pairs.rarer, pairs.first, pairs.second, pairs.node
    words = (n + 63) >> 6
    is_listed = n <= LISTED
    frequent[: n * words] = np.uint64(0)
    rarer[:words] = np.uint64(0)
    found = work = 0
    for j in range(n):
        position_of[current[j]] = j
        if not rarest[j]:
            continue
        word, bit = j >> 6, ONE << np.uint64(j & 63)
        if not is_deleted[j]:
            rarer[word] |= bit
        low, high = start[current[j]], start[current[j] + 1]
        # Either the children are looked up among the terms or the terms among the children, whichever costs less.
        if high - low <= 20 * j:
            work += high - low
            for node in range(low, high):
                i = position_of[term[node]]
                if i >= 0:
                    if support[node] >= k:
                        frequent[i * words + word] |= bit
                    if is_listed:
                        first[found], second[found], node_of[found] = i, j, node
                        found += 1
        else:
            work += 20 * j
            for i in range(j):
                node = find_node(term, low, high, current[i])
                if node >= 0:
                    if support[node] >= k:
                        frequent[i * words + word] |= bit
                    if is_listed:
                        first[found], second[found], node_of[found] = i, j, node
                        found += 1
    for j in range(n):
        position_of[current[j]] = -1
    pairs.size[0] = found
    return work


def make_term_pairs(longest: int) -> TermPairs:
    """Return scratch space for histories of up to `longest` terms."""
    listed = min(longest, LISTED)
    room = listed * (listed - 1) // 2 + 1
    words = (longest + 63) >> 6
    frequent, rarer = np.zeros(longest * words, np.uint64), np.zeros(words, np.uint64)
    first, second, node = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    return TermPairs(frequent, rarer, first, second, node, size=np.zeros(1, np.int64))
