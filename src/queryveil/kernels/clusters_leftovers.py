"""How far a vocabulary is from a finished cluster, whose distances from all words are no longer there."""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clusters import NO_LIMIT, Bags, Rule, price_of
from queryveil.kernels.matching import assign, make_sides
from queryveil.kernels.matching_distances import FAR


@jit
def distance_to(
    terms: NDArray[np.int32],  # (bags, members)
    units: NDArray[np.int64],  # (bags,)
    rule: Rule,
    bags: Bags,
    t: int,
    table: NDArray[np.uint8],  # (…, words): distances
    slots: NDArray[np.int64],  # (known terms of the vocabulary,): the row of each in the table
    most: int,
) -> int:
    """Return how far it is; where that is more than `most`, something that is more too."""
    price = price_of(rule, terms.shape[1], units.sum())
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    columns = begin + np.flatnonzero(bags.word[bags.ids[begin:end]] >= 0)
    cost = np.zeros((len(units), len(columns)), np.int64)
    total = price[1] * bags.sizes[t]
    for b in range(len(units)):
        total += price[0] * units[b]
        if bags.word[terms[b, 0]] < 0:
            total -= 0 if rule.is_maximum else price[2] * min(units[b], _count(bags, t, terms[b, 0]))
        else:
            for c in range(len(columns)):
                cost[b, c] = _steps(terms[b], bags.word, table[slots[c]], price[2]) - price[2]
    room = bags.counts[columns].astype(np.int64)
    sides = make_sides(cost, units, room)
    if rule.is_maximum:
        saved, _ = assign(sides, -NO_LIMIT, NO_LIMIT)
        return saved + price[2] * sides.used.sum()
    saved, _ = assign(sides, -NO_LIMIT, most - total)
    return total + saved


@jit
def _count(bags: Bags, t: int, term: int) -> int:
    """Return how often a vocabulary holds a term."""
    begin, end = bags.indptr[t], bags.indptr[t + 1]
    i = begin + np.searchsorted(bags.ids[begin:end], term)
    return bags.counts[i] if i < end and bags.ids[i] == term else 0


@jit
def _steps(bag: NDArray[np.int32], word: NDArray[np.int32], row: NDArray[np.uint8], most: int) -> int:
    """Return the distances of a word, whose row this is, from the terms of a bag, added up; `most` if that is more."""
    steps = 0
    for term in bag:
        away = row[word[term]]
        steps = most if away == FAR else steps + away
        if steps >= most:
            return most
    return steps
