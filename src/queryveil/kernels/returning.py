"""Putting terms back into the histories of an anonymous log, for combinations of up to four."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.pairs import children
from queryveil.kernels.state import Log, Rule, Scratch
from queryveil.kernels.supports import Tree
from queryveil.kernels.updates import update


@jit
def _n_frequent_with(
    tree: Tree, k: int, m: int, current: NDArray[np.int32], n: int, place: int, scratch: Scratch
) -> int:
    """Count the frequent combinations of two to m of the current terms that hold the one at a place."""
    place_of = scratch.place_of
    places2, places3, places4 = scratch.places[0], scratch.places[1], scratch.places[2]
    nodes2, nodes3, nodes4 = scratch.nodes[0], scratch.nodes[1], scratch.nodes[2]
    for i in range(n):
        place_of[current[i]] = i
    found = 0
    for c in range(place, n):
        n2 = children(tree.start2, tree.term2, current[c], current, c, place_of, places2, nodes2)
        for i in range(n2):
            b = places2[i]
            if b < place < c or tree.support2[nodes2[i]] < k:
                continue  # the tree goes down: the place cannot come any more
            found += b == place or c == place
            if m < 3:
                continue
            n3 = children(tree.start3, tree.term3, nodes2[i], current, b, place_of, places3, nodes3)
            for j in range(n3):
                a = places3[j]
                if (a < place < b) or tree.support3[nodes3[j]] < k:
                    continue
                found += a == place or b == place or c == place
                if m < 4:
                    continue
                n4 = children(tree.start4, tree.term4, nodes3[j], current, a, place_of, places4, nodes4)
                for x in range(n4):
                    holds = a == place or b == place or c == place or places4[x] == place
                    found += holds and tree.support4[nodes4[x]] >= k
    for i in range(n):
        place_of[current[i]] = -1
    return found


@jit
def _put_back_into(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], gain: NDArray[np.float64], h: int, s: Scratch
) -> int:
    """Put terms back into a history, those of most gain first, where no combination would be infrequent."""
    begin, end = log.indptr[h], log.indptr[h + 1]
    n_back = 0
    for i in begin + np.argsort(-gain[begin:end]):
        if log.alive[i] or gain[i] < 0 or support1[log.ids[i]] < rule.k:
            continue
        n, place = 0, -1
        for j in range(begin, end):
            if log.alive[j] or j == i:
                s.current[n], s.gone[n] = log.ids[j], j == i
                place = n if j == i else place
                n += 1
        others = n - 1
        needed = others
        if rule.m > 2:
            needed += others * (others - 1) // 2
        if rule.m > 3:
            needed += others * (others - 1) * (others - 2) // 6
        if _n_frequent_with(tree, rule.k, rule.m, s.current, n, place, s) == needed:
            update(log, tree, rule, support1, h, s.current, n, s.gone, 1, False, s)
            log.alive[i] = True
            n_back += 1
    return n_back


@jit
def put_back(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], gain: NDArray[np.float64], first: int, budget: int,
    scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Put terms back into the histories from `first` on until the budget of work is used up.

    In an anonymous log a combination is held by nobody or by k people, so one more does no harm. Return the next
    history and how many pairs came back.
    """
    n_back = work = 0
    h = first
    while h < len(log.indptr) - 1 and work < budget:
        length = log.indptr[h + 1] - log.indptr[h]
        work += 10 + length * length * length
        n_back += _put_back_into(log, tree, rule, support1, gain, h, scratch)
        h += 1
    return h, n_back
