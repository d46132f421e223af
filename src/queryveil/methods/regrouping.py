"""km with `split=pairs`: a person's terms are regrouped so that as many pairs of terms as possible stay together.

At first a pair of terms counts as much to each history, whoever else has it in a piece. Then a pair that fewer than k
histories have together costs more and more, one that just k have counts for all of them, and each term moves to the
piece of its history where its pairs count most (`kernels.km.regroup`). At last no such pair is left. Lowering the cost
again and raising it anew often finds more, and the best of these rounds is taken. This sees pairs and histories only,
so Algorithm 1 goes over the pieces: it deletes what fewer than k people share, in combinations of up to m terms.
"""

from collections.abc import Iterator

import numpy as np

from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, Int32Array, row_numbers
from queryveil.histories.pieces import cut_into_pieces
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.regroup import regroup
from queryveil.kernels.km.supports import Tree
from queryveil.methods.base import MethodTask
from queryveil.methods.deletion import count_combinations, delete, rule_for
from queryveil.methods.targets import TermValues

_BUDGET = 2_000_000  # steps of kernel work between two progress reports: well under a second
_COSTS = np.concatenate(([-1.0, -1.0], np.geomspace(0.1, 64, 20)))  # of an infrequent pair, sweep by sweep
_AGAIN = 12  # the cost with which further rounds begin
_HARD, _SWEEPS = 1e6, 20  # a cost that no gain outweighs, and the most sweeps with it
_ROUNDS = 8
_WORK = 100_000_000  # pairs looked at in a sweep from which on there is one round only


def regroup_terms(task: MethodTask, is_common: BoolArray, n_frequent: int) -> Int32Array:
    """Return for every pair of the log its piece, -1 for none; only common pairs, of the frequent terms, are in one."""
    k, m, source = task.method.integer("k"), task.method.integer("m"), task.profiles.select(is_common)
    tree = count_combinations(source, n_frequent, k, 2, task.progress)
    found = _number_pieces(source, _search(source, tree, k, task.rng, task.progress))
    piece = np.full(len(is_common), -1, np.int32)
    if (found >= 0).any():
        piece[is_common] = _number_pieces(source, _enforce(task, source, found, k, m))
    return piece


def _search(source: Profiles, tree: Tree, k: int, rng: np.random.Generator, progress: Progress) -> Int32Array:
    """Return the piece of every pair: numbers below the length of the history."""
    length = np.diff(source.indptr)
    piece = (np.arange(len(source.ids)) - np.repeat(source.indptr[:-1], length)).astype(np.int32)
    support, long = np.zeros(len(tree.term2), np.int32), np.flatnonzero(length > 1)
    longest = int(length.max(initial=0))
    scratch = np.empty(longest, np.int64), np.empty(longest), np.empty(longest, np.int64)
    best, most = piece.copy(), 0
    for number in range(_ROUNDS if float((length**2).sum()) < _WORK else 1):
        for value in _values(k, support, _COSTS[_AGAIN if number else 0 :]):
            order, turn = rng.permutation(long), 0
            while turn < len(order):
                progress(f"regrouping terms, round {number + 1}", turn, len(order))
                arrays = tree.start2, tree.term2, support, value, *scratch
                turn = regroup(source.indptr, source.ids, piece, order, turn, _BUDGET, *arrays)
        kept = int(support[support >= k].sum())
        if kept > most:
            best, most = piece.copy(), kept
    return best


def _values(k: int, support: Int32Array, costs: FloatArray) -> Iterator[FloatArray]:
    """Yield what the n-th history of a pair is worth in each sweep, up to k + 1; 0 stands for a pair too few hold."""
    for cost in (*costs.tolist(), *[_HARD] * _SWEEPS):
        if cost == _HARD and not ((support > 0) & (support < k)).any():
            return
        yield np.array([-max(cost, 1.0) if cost < _HARD else -_HARD, *[-cost] * (k - 1), k, 1.0])


def _enforce(task: MethodTask, source: Profiles, piece: Int32Array, k: int, m: int) -> Int32Array:
    """Return the pieces after deleting what fewer than k people share."""
    pieces = cut_into_pieces(source, piece)
    support = pieces.profiles.holder_counts()
    support = support[: int(np.flatnonzero(support >= k).max(initial=-1)) + 1]
    tree = count_combinations(pieces.profiles, len(support), k, m, task.progress)
    term_values = task.inputs.find(TermValues) or TermValues()
    rule = rule_for(pieces.profiles, task.method, term_values, tree, len(support), task.rng)
    kept, _ = delete(pieces.profiles, support, tree, rule, task.progress)
    left = np.full(len(piece), -1, np.int32)
    is_left = pieces.position >= 0
    is_left[is_left] = kept[pieces.position[is_left]]
    left[is_left] = piece[is_left]
    return left


def _number_pieces(source: Profiles, piece: Int32Array) -> Int32Array:
    """Return the pieces of two terms or more of each history as 0, 1, and so on; terms of others are in none."""
    kept = np.flatnonzero(piece >= 0)
    row = row_numbers(source.indptr)[kept]
    keys, key, size = np.unique(row * len(piece) + piece[kept], return_inverse=True, return_counts=True)
    keys = keys[size > 1]
    history = keys // len(piece)
    number = np.full(len(size), -1, np.int32)
    number[size > 1] = np.arange(len(keys)) - np.searchsorted(history, history)
    numbered = np.full(len(piece), -1, np.int32)
    numbered[kept] = number[key]
    return numbered
