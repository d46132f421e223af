"""Slow, obvious twins of what `algorithm=best` counts: supports, holders and potentials, with dictionaries."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

Rows = Sequence[Sequence[int]]
People = dict[tuple[int, ...], set[int]]


def people_of(histories: Rows, owners: Sequence[int], m: int) -> People:
    """Return who holds each combination of at most m terms."""
    people: People = defaultdict(set)
    for history, owner in zip(histories, owners, strict=True):
        for size in range(1, m + 1):
            for combination in combinations(sorted(history), size):
                people[combination].add(owner)
    return people


def is_anonymous(histories: Rows, owners: Sequence[int], k: int, m: int) -> bool:
    """Return whether at least k people hold every combination that is there."""
    return all(len(who) >= k for who in people_of(histories, owners, m).values())


def holders_of(histories: Rows, n_terms: int) -> list[list[tuple[int, int]]]:
    """Return, for every term, the histories that hold it and where in the log it stands there."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(n_terms)]
    place = 0
    for h, history in enumerate(histories):
        for t in history:
            if t < n_terms:
                found[t].append((h, place))
            place += 1
    return found


def potentials_of(histories: Rows, owners: Sequence[int], k: int, gain: Sequence[float], n_terms: int) -> list[float]:
    """Return, for every pair of the log, the gain of its term and of all terms there that are frequent with it."""
    people = people_of(histories, owners, 2)
    found: list[float] = []
    for history in histories:
        begin = len(found)
        for i, t in enumerate(history):
            with_it = [
                j for j, x in enumerate(history) if j != i and x < n_terms and len(people[min(t, x), max(t, x)]) >= k
            ]
            found.append(sum(gain[begin + j] for j in (i, *with_it)) if t < n_terms else 0.0)
    return found
