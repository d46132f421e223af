"""A slow, obvious twin of SSC: every distance is SciPy's assignment on the padded problem, by decision 18."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Away = NDArray[np.floating[Any]]  # (terms, terms): the distance, infinity where nothing connects them
Bag = tuple[int, ...]  # one term of each member, in the order they joined
_64 = (1 << 64) - 1


@dataclass(frozen=True)
class Twin:
    """The parameters of a run."""

    k: int
    eps: int
    omega: int
    is_maximum: bool = False
    is_farthest: bool = True
    solve: Callable[[NDArray[np.float64]], Any] = linear_sum_assignment


def mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers that splitmix64 draws for states."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def tie_numbers(bags: Sequence[Bag], vocabulary: Sequence[int]) -> NDArray[np.uint64]:
    """Return the tie number of every pair: 24 bits."""
    members, terms = (mix(np.array(ids, np.uint64) + np.uint64(1)) for ids in (bags, vocabulary))
    return mix(members.sum(axis=1)[:, None] + np.uint64(3) * terms) >> np.uint64(40)


def match(bags: Sequence[Bag], vocabulary: Sequence[int], away: Away, twin: Twin) -> tuple[int, list[tuple[int, int]]]:
    """Return the distance of a centre and a vocabulary, and the pairs of the canonical matching."""
    m, n = len(bags), len(vocabulary)
    if not m or not n:
        return (0 if twin.is_maximum else twin.omega * (n + sum(map(len, bags)))), []
    size = len(bags[0])
    # by the maximum model a pair more outweighs whatever the others cost
    alone = (size * twin.eps + 1) * (m + n) if twin.is_maximum else twin.omega
    bag_alone = alone if twin.is_maximum else size * twin.omega
    each = [away[np.ix_([bag[member] for bag in bags], vocabulary)].astype(float) for member in range(size)]
    steps = np.where(np.max(each, axis=0) <= twin.eps, np.sum(each, axis=0), np.inf)
    is_pair = steps < bag_alone + alone
    ties, scale = tie_numbers(bags, vocabulary), 1 << (24 + (m + n).bit_length())
    cost = np.zeros((m + n, m + n))
    never = (m + n + 1) * (bag_alone + alone) * scale
    cost[:m, :n] = np.where(is_pair, np.where(is_pair, steps, 0) * scale + ties, never)
    cost[:m, n:] = bag_alone * scale
    cost[m:, :n] = alone * scale
    rows, columns = twin.solve(cost)
    pairs = [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if i < m and j < n]
    matched = int(sum(steps[i, j] for i, j in pairs))
    if twin.is_maximum:
        return matched, pairs
    return matched + (m - len(pairs)) * bag_alone + (n - len(pairs)) * alone, pairs


def join(bags: Sequence[Bag], vocabulary: Sequence[int], away: Away, twin: Twin) -> list[Bag]:
    """Return the bags that found a term, each with it."""
    _, pairs = match(bags, vocabulary, away, twin)
    return [(*bags[i], vocabulary[j]) for i, j in pairs]


def clusters(
    vocabularies: Sequence[Sequence[int]], owners: Sequence[int], away: Away, twin: Twin
) -> list[tuple[list[int], list[Bag]]]:
    """Return the clusters, each as its members in the order they joined and its bags."""
    alive = [t for t, vocabulary in enumerate(vocabularies) if vocabulary]
    made: list[tuple[list[int], list[Bag]]] = []
    seed = 0
    while len({owners[t] for t in alive}) >= twin.k:
        members = [alive.pop(seed)]
        bags: list[Bag] = [(term,) for term in vocabularies[members[0]]]
        begun = bags
        while len(members) < twin.k:
            people = {owners[t] for t in members}
            free = [t for t in alive if owners[t] not in people]
            # the first of equals: min keeps it
            found = min(free, key=lambda t: match(bags, vocabularies[t], away, twin)[0])
            bags = join(bags, vocabularies[found], away, twin)
            alive.remove(found)
            members.append(found)
        made.append((members, bags))
        seed = 0
        if twin.is_farthest and alive:
            apart = [match(begun, vocabularies[t], away, twin)[0] for t in alive]
            seed = apart.index(max(apart))
    for t in alive:
        apart = [match(bags, vocabularies[t], away, twin)[0] for _, bags in made]
        members, bags = made[apart.index(min(apart))]
        made[apart.index(min(apart))] = ([*members, t], join(bags, vocabularies[t], away, twin))
    return made
