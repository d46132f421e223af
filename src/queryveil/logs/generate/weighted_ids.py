"""Random draws of ids by popularity, a million at a time and without a table of probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, IntArray, indptr_of

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Zipf:
    """A Zipf-Mandelbrot law: the item of rank r (from 1) is drawn in proportion to 1 / (r + shift) ** exponent."""

    exponent: float  # not exactly 1, whose distribution has another inverse
    shift: float


@dataclass(frozen=True, eq=False)
class WeightedIds:
    """Ids in one or several groups, each group in order of popularity, all drawn by the same law."""

    ids: Ids  # group after group
    starts: IntArray  # (groups,)
    sizes: IntArray  # (groups,), each at least 1
    law: Zipf

    def draw(self, groups: IntArray, rng: np.random.Generator) -> Ids:
        """Draw one id of each given group; where there is only one group, all draws are from it."""
        return self.pick(groups, rng.random(len(groups)))

    def pick(self, groups: IntArray, uniform: FloatArray) -> Ids:
        """Map uniform numbers in [0, 1) to ids of the given groups."""
        picked: Ids = self.ids[self.pick_positions(groups, uniform)]
        return picked

    def pick_positions(self, groups: IntArray, uniform: FloatArray) -> IntArray:
        """Map uniform numbers in [0, 1) to positions in `ids`."""
        if len(self.sizes) == 1:
            return _ranks(self.sizes[0], self.law, uniform)
        return self.starts[groups] + _ranks(self.sizes[groups], self.law, uniform)


def weighted_ids(groups: Sequence[Ids], law: Zipf) -> WeightedIds:
    """Return a sampler over groups of ids, each in order of popularity."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return WeightedIds(np.concatenate(groups), indptr_of(sizes)[:-1], sizes, law)


def _ranks(sizes: IntArray | np.int64, law: Zipf, uniform: FloatArray) -> IntArray:
    """Map uniform numbers to ranks, from 0, of a Zipf-Mandelbrot law over `sizes` items.

    The law is read as a density between rank - 1/2 and rank + 1/2, whose distribution function has an inverse in
    closed form.
    """
    power = 1 - law.exponent
    low = law.shift + 0.5
    floor = low**power
    place = (floor + uniform * ((sizes + low) ** power - floor)) ** (1 / power)
    ranks: IntArray = np.minimum((place - low).astype(np.int64), sizes - 1)
    return ranks
