"""Fill the pieces of histories: terms that are not published yet join terms with which they are frequent already.

A combination that k people hold in the pieces may be in another piece as well, since supports only add. So a term may
join a piece of its history if all combinations of up to m terms that this makes are in the tree, whoever else does so,
and the terms left over form new pieces: sets all of whose combinations are in the tree, large ones first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import ONE, Tree, find_node, lowest


class PieceScratch(NamedTuple):
    """Scratch space for one history, allocated once; terms are given by their positions in it."""

    adjacent: NDArray[np.uint64]  # (n · words,): bit j of row i says that positions i and j are a frequent pair
    free: NDArray[np.uint64]  # (words,): terms in no piece
    candidates: NDArray[np.uint64]  # (words,): free terms that are frequent with every member
    members: NDArray[np.int64]  # positions of the terms of the piece that is being filled
    size: NDArray[np.int64]  # (n,): terms of each piece
    position_of: NDArray[np.int32]  # (terms,): -1


def make_piece_scratch(longest: int, n_terms: int) -> PieceScratch:
    """Return scratch space for histories of up to `longest` terms."""
    words = (longest + 63) >> 6
    return PieceScratch(
        np.zeros(longest * words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.empty(longest, np.int64),
        np.zeros(longest + 1, np.int64),
        np.full(n_terms, -1, np.int32),
    )


@jit
def count_bits(x: np.uint64) -> int:
    """Return the number of bits that are set."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def _mark_pairs(ids: NDArray[np.int32], low: int, n: int, tree: Tree, s: PieceScratch) -> int:
    """Mark the frequent pairs of the n terms of a history that begins at `low`; return the work done."""
    words = (n + 63) >> 6
    for i in range(n * words):
        s.adjacent[i] = np.uint64(0)
    work = 0
    for j in range(n):
        first, end = tree.start2[ids[low + j]], tree.start2[ids[low + j] + 1]
        if end - first <= 20 * j:  # either the partners are looked up among the terms or the terms among the partners
            work += end - first
            for node in range(first, end):
                i = s.position_of[tree.term2[node]]
                if i >= 0:
                    s.adjacent[i * words + (j >> 6)] |= ONE << np.uint64(j & 63)
                    s.adjacent[j * words + (i >> 6)] |= ONE << np.uint64(i & 63)
        else:
            work += 20 * j
            for i in range(j):
                if find_node(tree.term2, first, end, ids[low + i]) >= 0:
                    s.adjacent[i * words + (j >> 6)] |= ONE << np.uint64(j & 63)
                    s.adjacent[j * words + (i >> 6)] |= ONE << np.uint64(i & 63)
        s.position_of[ids[low + j]] = j
    for j in range(n):
        s.position_of[ids[low + j]] = -1
    return work


@jit
def _node_of_pair(tree: Tree, a: int, b: int) -> int:
    """Return the node of a pair, or -1."""
    rarer, other = max(a, b), min(a, b)
    return find_node(tree.term2, tree.start2[rarer], tree.start2[rarer + 1], other)


@jit
def _are_larger_frequent(tree: Tree, m: int, ids: NDArray[np.int32], low: int, j: int, s: PieceScratch, n: int) -> bool:
    """Return whether all combinations of three to m terms of position j and n members are frequent; all pairs are.

    The members ascend by position, and so by id: the rarest term of a combination is the last.
    """
    term = ids[low + j]
    for c in range(1, n):
        for b in range(c):
            x, y, z = int(ids[low + s.members[b]]), int(ids[low + s.members[c]]), int(term)
            if z < y:
                y, z = z, y
            if y < x:
                x, y = y, x
            node = _node_of_pair(tree, y, z)
            node = find_node(tree.term3, tree.start3[node], tree.start3[node + 1], x)
            if node < 0:
                return False
            for a in range(b if m > 3 else 0):
                if not _is_quadruple(tree, int(ids[low + s.members[a]]), x, y, z):
                    return False
    return True


@jit
def _is_quadruple(tree: Tree, w: int, x: int, y: int, z: int) -> bool:
    """Return whether four terms are frequent together; x < y < z, and w is anywhere among them."""
    if w > x:
        w, x = x, w
        if x > y:
            x, y = y, x
            if y > z:
                y, z = z, y
    node = _node_of_pair(tree, y, z)
    node = find_node(tree.term3, tree.start3[node], tree.start3[node + 1], x)
    return node >= 0 and find_node(tree.term4, tree.start4[node], tree.start4[node + 1], w) >= 0


@jit
def _insert_member(s: PieceScratch, n: int, j: int, words: int) -> None:
    """Insert a position into the n ascending members, and keep the candidates that are frequent with it."""
    place = n
    while place > 0 and s.members[place - 1] > j:
        s.members[place] = s.members[place - 1]
        place -= 1
    s.members[place] = j
    bit = ONE << np.uint64(j & 63)
    s.free[j >> 6] &= ~bit
    s.candidates[j >> 6] &= ~bit
    for word in range(words):
        s.candidates[word] &= s.adjacent[j * words + word]


@jit
def _best_candidate(s: PieceScratch, words: int) -> int:
    """Return the candidate that is frequent with most other candidates, then the commonest; -1 if there is none."""
    best, most = -1, -1
    for word in range(words):
        bits = s.candidates[word]
        while bits:
            j = (word << 6) + lowest(bits)
            bits &= bits - ONE
            n = 0
            for other in range(words):
                n += count_bits(s.adjacent[j * words + other] & s.candidates[other])
            if n > most:
                best, most = j, n
    return best


@jit
def _fill(
    number: int,
    n_members: int,
    ids: NDArray[np.int32],
    low: int,
    words: int,
    tree: Tree,
    m: int,
    piece: NDArray[np.int32],
    s: PieceScratch,
) -> int:
    """Let candidates join a piece of a history until there is none; return the number of its terms."""
    while True:
        j = _best_candidate(s, words)
        if j < 0:
            return n_members
        if m > 2 and n_members > 1 and not _are_larger_frequent(tree, m, ids, low, j, s, n_members):
            s.candidates[j >> 6] &= ~(ONE << np.uint64(j & 63))
            continue
        _insert_member(s, n_members, j, words)
        piece[low + j] = number
        n_members += 1


@jit
def fill_pieces(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    piece: NDArray[np.int32],  # (pairs,): the piece of the history that holds the term, -1 where none does; updated
    n_pieces: NDArray[np.int32],  # (histories,): updated
    may_join: NDArray[np.bool_],  # (pairs,): which of those in no piece may be published
    tree: Tree,
    m: int,
    history: int,
    budget: int,
    s: PieceScratch,
) -> int:
    """Fill the pieces of histories from one on, within a budget of work; return the history to go on with."""
    n_terms, work = len(s.position_of), 0
    while history < len(n_pieces) and work < budget:
        low, n, n_free = indptr[history], 0, 0
        while low + n < indptr[history + 1] and ids[low + n] < n_terms:
            n_free += piece[low + n] < 0 and may_join[low + n]
            n += 1
        history += 1
        work += n
        if n_free == 0 or n < 2:
            continue
        words = (n + 63) >> 6
        work += _mark_pairs(ids, low, n, tree, s) + n * n
        for word in range(words):
            s.free[word] = np.uint64(0)
        for number in range(n_pieces[history - 1]):
            s.size[number] = 0
        for j in range(n):
            if piece[low + j] >= 0:
                s.size[piece[low + j]] += 1
            elif may_join[low + j]:
                s.free[j >> 6] |= ONE << np.uint64(j & 63)
        _fill_old(ids, low, n, words, n_pieces[history - 1], tree, m, piece, s)
        n_pieces[history - 1] = _fill_new(ids, low, words, n_pieces[history - 1], tree, m, piece, s)
    return history


@jit
def _fill_old(
    ids: NDArray[np.int32],
    low: int,
    n: int,
    words: int,
    n_pieces: int,
    tree: Tree,
    m: int,
    piece: NDArray[np.int32],
    s: PieceScratch,
) -> None:
    """Let free terms join the pieces of a history, the largest first."""
    for _ in range(n_pieces):
        number = 0
        for other in range(1, n_pieces):
            if s.size[other] > s.size[number]:
                number = other
        n_members = 0
        for word in range(words):
            s.candidates[word] = s.free[word]
        for j in range(n):
            if piece[low + j] == number:
                _insert_member(s, n_members, j, words)
                n_members += 1
        s.size[number] = -1  # done
        _fill(number, n_members, ids, low, words, tree, m, piece, s)


@jit
def _fill_new(
    ids: NDArray[np.int32],
    low: int,
    words: int,
    n_pieces: int,
    tree: Tree,
    m: int,
    piece: NDArray[np.int32],
    s: PieceScratch,
) -> int:
    """Form new pieces of at least two free terms of a history; return the number of its pieces."""
    while True:
        for word in range(words):
            s.candidates[word] = s.free[word]
        n_members = _fill(n_pieces, 0, ids, low, words, tree, m, piece, s)
        if n_members < 2:
            if n_members == 1:
                piece[low + s.members[0]] = -1  # the best one is frequent with no other, so none is
            return n_pieces
        n_pieces += 1
