"""Algorithm 1 of Burghardt et al. 2010 in plain Python: the slow, obvious twin of the kernels.

Reference order: users in log order; combinations by size, then lexicographic in term ids; combinations that hold a
term already deleted are skipped; among terms of equal lowest utility the largest id goes, or a random one, drawn as
they are met: the n-th tied term replaces the one before with a chance of 1 in n; supports are updated at once; passes
are repeated to the fixpoint. Support counts people: histories of one owner count once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

MASK = (1 << 64) - 1

Combination = tuple[int, ...]


class Draws:
    """The splitmix64 generator, as in the kernel."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n


class Supports:
    """In how many owners' histories each combination of at most m terms is."""

    def __init__(self, histories: Sequence[Iterable[int]], owners: Sequence[int], m: int) -> None:
        self.m = m
        several = {owner for owner, n in Counter(owners).items() if n > 1}
        self.support: Counter[Combination] = Counter()
        self.holding: Counter[tuple[int, Combination]] = Counter()  # only of owners with several histories
        self.several = several
        for history, owner in zip(histories, owners, strict=True):
            if owner not in several:
                self.support.update(self.of(history))
                continue
            for combination in self.of(history):
                self.holding[owner, combination] += 1
                if self.holding[owner, combination] == 1:
                    self.support[combination] += 1

    def of(self, history: Iterable[int]) -> Iterable[Combination]:
        terms = sorted(history)
        for size in range(1, self.m + 1):
            yield from combinations(terms, size)

    def remove(self, term: int, history: set[int], owner: int) -> None:
        """Update after `term` was deleted from what is now `history`."""
        for size in range(self.m):
            for others in combinations(sorted(history), size):
                combination = tuple(sorted((*others, term)))
                if owner in self.several:
                    self.holding[owner, combination] -= 1
                    if self.holding[owner, combination] > 0:
                        continue
                self.support[combination] -= 1


def algorithm_1(
    histories: Sequence[Iterable[int]],
    owners: Sequence[int],
    k: int,
    m: int,
    target: str,
    utility: Sequence[float] = (),
    seed: int = 0,
    ties: str = "last",
) -> tuple[list[set[int]], int]:
    """Return what is left of each history, and the number of passes: line 4 of the paper, the last one included."""
    current = [set(history) for history in histories]
    supports = Supports(histories, owners, m)
    draws = Draws(seed)
    changed, passes = any(current), 0
    while changed:
        changed = False
        passes += 1
        for history, owner in zip(current, owners, strict=True):
            for combination in list(supports.of(history)):
                if history.issuperset(combination) and supports.support[combination] < k:
                    victim = choose(combination, target, utility, supports, k, m, draws, ties)
                    history.remove(victim)
                    supports.remove(victim, history, owner)
                    changed = True
    return current, passes


def choose(
    combination: Combination,
    target: str,
    utility: Sequence[float],
    supports: Supports,
    k: int,
    m: int,
    draws: Draws,
    ties: str,
) -> int:
    """Return the term that goes (Algorithm 2); a single term needs no draw."""
    if len(combination) == 1:
        return combination[0]
    if target == "random":
        return combination[draws.below(len(combination))]
    is_fis = target == "fis"
    figures = {t: fis_figures(t, supports.support, k, m) if is_fis else (utility[t],) for t in combination}
    victim, n_tied = combination[0], 1
    for term in combination[1:]:
        if figures[term] < figures[victim]:
            victim, n_tied = term, 1
        elif figures[term] == figures[victim]:
            n_tied += 1
            if ties == "last" or draws.below(n_tied) == 0:
                victim = term
    return victim


def fis_figures(term: int, support: Counter[Combination], k: int, m: int) -> tuple[int, ...]:
    """Return in how many frequent combinations a term is, for sizes m, m−1, …, 2, and at last its support."""
    frequent = [c for c, n in support.items() if n >= k and term in c]
    return (*(sum(len(c) == size for c in frequent) for size in range(m, 1, -1)), support[(term,)])
