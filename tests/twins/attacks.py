"""Crowds, beliefs and deletions in plain Python: the slow, obvious twins of the attacks' kernels."""

from collections.abc import Mapping, Sequence
from itertools import combinations

Unit = tuple[int, frozenset[int]]  # owner, and the names that the unit shows
Names = Mapping[int, Mapping[int, float]]  # names for several items → how likely each is held; others are items
NONE: Names = {}


def items_of(name: int, names: Names) -> Mapping[int, float]:
    """Return the items that a name may stand for."""
    return names.get(name, {name: 1.0})


def crowd(
    units: Sequence[Unit],
    right: Sequence[int],
    wrong: Sequence[int],
    weights: Sequence[float],
    *,
    exact: bool,
    names: Names = NONE,
) -> list[int]:
    """Return the numbers of the units that match best, or that show everything known."""
    known = [*right, *wrong]
    if exact:
        meant = [{item for name in shown for item in items_of(name, names)} for _, shown in units]
        return [n for n, items in enumerate(meant) if items >= set(known)]
    scores = []
    for _, shown in units:
        score = 0.0
        for item in known:
            score += max((weights[name] for name in shown if item in items_of(name, names)), default=0.0)
        scores.append(score)
    return [n for n, score in enumerate(scores) if score == max(scores) and score > 0]


def without(units: Sequence[Unit], me: int) -> list[Unit]:
    """Return the units with the histories of an owner emptied."""
    return [(owner, frozenset() if owner == me else shown) for owner, shown in units]


def beliefs(
    units: Sequence[Unit],
    known: Sequence[int],
    weights: Sequence[float],
    prior: Mapping[int, float],
    names: Names = NONE,
) -> tuple[dict[int, float], int]:
    """Return the share of the crowd that holds each item, and the item whose belief rose most, -1 for none."""
    found = crowd(units, known, (), weights, exact=False, names=names)
    people = {units[n][0] for n in found}
    if not people:
        return dict(prior), -1
    holders = {name: {units[n][0] for n in found if name in units[n][1]} for name in prior}
    shown = {item for n in found for name in units[n][1] for item in items_of(name, names)}
    share = {
        item: min(
            1.0,
            sum(len(holders[name]) * items_of(name, names).get(item, 0.0) for name in prior) / len(people),
        )
        for item in prior
    }
    rises = [(-(share[item] - prior[item]), item) for item in shown - set(known) if share[item] > prior[item]]
    return share, min(rises)[1] if rises else -1


def is_blocked(units: Sequence[Unit], me: int, item: int, k: int, m: int) -> bool:
    """Return whether the item would make a combination of at most m items with a unit that fewer than k owners hold."""
    owner, shown = units[me]
    for size in range(min(m - 1, len(shown)) + 1):
        for others in combinations(sorted(shown), size):
            holders = {o for o, row in units if o != owner and row >= {item, *others}}
            if len(holders) + 1 < k:
                return True
    return False
