"""Released groups and their members from plain lists, and the slow, obvious check of what is claimed of them."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName

Row = tuple[int, str, float]  # group, term, weight
Person = tuple[int | None, Mapping[str, float]]  # group, profile


def arrays(rows: Sequence[Row], people: Sequence[Person]) -> tuple[ReleasedGroups, GroupMembers]:
    """Return rows and people as they are read from a release: rows keep their order within a group."""
    groups = sorted({group for group, _, _ in rows})
    terms = sorted({term for _, term, _ in rows})
    by_group = [[row for row in rows if row[0] == group] for group in groups]
    released = ReleasedGroups(
        np.array(groups, np.int64),
        np.cumsum([0, *map(len, by_group)]),
        np.array([terms.index(term) for some in by_group for _, term, _ in some], np.int32),
        np.array([weight for some in by_group for _, _, weight in some], np.float64),
        tuple(terms),
    )
    every = [*terms, *sorted({term for _, profile in people for term in profile} - set(terms), reverse=True)]
    profiles = [sorted((every.index(term), weight) for term, weight in profile.items()) for _, profile in people]
    members = GroupMembers(
        np.array([groups.index(group) if group in groups else -1 for group, _ in people], np.int32),
        np.cumsum([0, *map(len, profiles)]),
        np.array([term for profile in profiles for term, _ in profile], np.int32),
        np.array([weight for profile in profiles for _, weight in profile], np.float64),
        tuple(every),
    )
    return released, members


def count_violations(
    method: ResolvedName, rows: Sequence[Row], people: Sequence[Person], floor: int, average: str
) -> int:
    """Return how often the claim is broken in the first way in which it is; 0 where it holds."""
    return next((n for n in _violations(method, rows, people, floor, average) if n), 0)


def _violations(
    method: ResolvedName, rows: Sequence[Row], people: Sequence[Person], floor: int, average: str
) -> Iterator[int]:
    published = {group: [term for g, term, _ in rows if g == group] for group, _, _ in rows}
    yield sum(one == other for terms in published.values() for one, other in pairwise(terms))
    yield sum(one > other for terms in published.values() for one, other in pairwise(terms))
    yield sum(not (math.isfinite(weight) and weight > 0) for _, _, weight in rows)
    support = Counter(term for _, profile in people for term in profile)
    common = [(group, [term for term in profile if support[term] >= floor]) for group, profile in people]
    crowds = {group: [terms for g, terms in common if g == group and terms] for group in published}
    p = Fraction(str(method.real("p")))
    yield sum(len(crowd) < 1 / p for crowd in crowds.values())
    yield sum(support[term] < floor for term in {term for _, term, _ in rows})
    held = {group: [sum(t in terms for terms in crowds[group]) for t in published[group]] for group in published}
    yield sum(count == 0 for counts in held.values() for count in counts)
    total = Counter(term for _, terms in common for term in terms)
    profiles = [terms for _, terms in common if terms]
    for_each = [(group, len(crowds[group]), dict(zip(published[group], held[group], strict=True))) for group in held]
    yield sum(_broken(method, p, n, counts, total, profiles, len(people), average) for _, n, counts in for_each)


def _broken(
    method: ResolvedName,
    p: Fraction,
    n: int,
    held: Mapping[str, int],
    total: Mapping[str, int],
    profiles: Sequence[Sequence[str]],
    n_people: int,
    average: str,
) -> int:
    """Return how often one group breaks the principle."""
    principle, pairs = method.word("principle"), sum(held.values())
    if principle == "posterior":
        return sum(Fraction(count, n) > p for count in held.values())
    if principle == "belief":
        return sum(Fraction(count, n) - Fraction(total[term], n_people) > p for term, count in held.items())
    if principle == "mean" and average == "global":
        return len(held) < Fraction(sum(map(len, profiles)), len(profiles)) / p
    if principle == "mean":
        return Fraction(sum(Fraction(count, n) for count in held.values()), len(held)) > p
    if principle == "diversity":
        entropy = -sum(count / pairs * math.log(count / pairs) for count in held.values())
        return math.exp(entropy) < method.real("l") * (1 - 1e-9)
    everything = sum(total.values())
    apart = sum(abs(Fraction(held.get(term, 0), pairs) - Fraction(total[term], everything)) for term in total)
    return apart / 2 > Fraction(str(method.real("t")))
