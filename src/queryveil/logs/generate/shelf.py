"""Things to draw from, grouped and ranked by popularity: the one way in which the generator picks words."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.shape import Zipf


@dataclass(frozen=True, eq=False)
class Shelf:
    """Items of several groups, each group with its own popularity."""

    items: tuple[str, ...] = field(repr=False)  # group after group, the most popular first
    cumulated: NDArray[np.float64]  # (items,): the group's number plus the share of the items up to this one

    def draw(self, groups: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
        """Draw one item of each group asked for."""
        found = np.searchsorted(self.cumulated, groups + rng.random(len(groups)), side="right")
        items = self.items
        return [items[position] for position in found.tolist()]

    def take(self, n: int, rng: np.random.Generator) -> list[str]:
        """Draw from the first group."""
        return self.draw(np.zeros(n, dtype=np.int64), rng)


def by_rank(groups: Sequence[Sequence[str]], law: Zipf) -> Shelf:
    """Put up groups whose items are in the order of popularity, which falls by a Zipf-Mandelbrot law."""
    ranks = [np.arange(1, len(group) + 1, dtype=np.float64) for group in groups]
    weights = [np.power(group_ranks + law.shift, -law.exponent) for group_ranks in ranks]
    return by_weight(groups, weights)


def by_weight(groups: Sequence[Sequence[str]], weights: Sequence[NDArray[np.float64]]) -> Shelf:
    """Put up groups whose items are as popular as their weights say."""
    parts = []
    for number, group_weights in enumerate(weights):
        shares = np.cumsum(group_weights) / group_weights.sum()
        shares[-1] = 1.0  # so that rounding never leads into the next group
        parts.append(number + shares)
    return Shelf(tuple(item for group in groups for item in group), np.concatenate(parts))
