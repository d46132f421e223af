"""A slow, obvious twin of SSC: every distance is SciPy's assignment on the padded problem, by decision 18."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

Distance = Callable[[int, int], float]  # between terms; infinity where nothing connects them
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


def mix(x: int) -> int:
    """Return the number that splitmix64 draws for a state."""
    x = (x + 0x9E3779B97F4A7C15) & _64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64
    return x ^ (x >> 31)


def tie_number(bag: Bag, term: int) -> int:
    """Return the tie number of a pair: 24 bits."""
    return mix((sum(mix(member + 1) for member in bag) + 3 * mix(term + 1)) & _64) >> 40


def match(
    bags: Sequence[Bag], vocabulary: Sequence[int], far: Distance, twin: Twin
) -> tuple[int, list[tuple[int, int]]]:
    """Return the distance of a centre and a vocabulary, and the pairs of the canonical matching."""
    m, n = len(bags), len(vocabulary)
    if not m or not n:
        return (0 if twin.is_maximum else twin.omega * (n + sum(map(len, bags)))), []
    size = len(bags[0])
    # by the maximum model a pair more outweighs whatever the others cost
    alone = (size * twin.eps + 1) * (m + n) if twin.is_maximum else twin.omega
    bag_alone = alone if twin.is_maximum else size * twin.omega
    steps = np.array([[_steps(bag, term, far, twin.eps) for term in vocabulary] for bag in bags])
    is_pair = steps < bag_alone + alone
    ties = np.array([[tie_number(bag, term) for term in vocabulary] for bag in bags])
    scale = 1 << (24 + (m + n).bit_length())
    cost = np.zeros((m + n, m + n))
    cost[:m, :n] = np.where(
        is_pair, np.where(is_pair, steps, 0) * scale + ties, (m + n + 1) * (bag_alone + alone) * scale
    )
    cost[:m, n:] = bag_alone * scale
    cost[m:, :n] = alone * scale
    rows, columns = linear_sum_assignment(cost)
    pairs = [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if i < m and j < n]
    matched = int(sum(steps[i, j] for i, j in pairs))
    if twin.is_maximum:
        return matched, pairs
    return matched + (m - len(pairs)) * bag_alone + (n - len(pairs)) * alone, pairs


def _steps(bag: Bag, term: int, far: Distance, eps: int) -> float:
    away = [far(member, term) for member in bag]
    return sum(away) if max(away) <= eps else np.inf


def join(bags: Sequence[Bag], vocabulary: Sequence[int], far: Distance, twin: Twin) -> list[Bag]:
    """Return the bags that found a term, each with it."""
    _, pairs = match(bags, vocabulary, far, twin)
    return [(*bags[i], vocabulary[j]) for i, j in pairs]


def clusters(
    vocabularies: Sequence[Sequence[int]], owners: Sequence[int], far: Distance, twin: Twin
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
            found = min(free, key=lambda t: match(bags, vocabularies[t], far, twin)[0])
            bags = join(bags, vocabularies[found], far, twin)
            alive.remove(found)
            members.append(found)
        made.append((members, bags))
        seed = 0
        if twin.is_farthest and alive:
            away = [match(begun, vocabularies[t], far, twin)[0] for t in alive]
            seed = away.index(max(away))
    for t in alive:
        away = [match(bags, vocabularies[t], far, twin)[0] for _, bags in made]
        members, bags = made[away.index(min(away))]
        made[away.index(min(away))] = ([*members, t], join(bags, vocabularies[t], far, twin))
    return made
