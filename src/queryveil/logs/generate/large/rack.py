"""Numbered things in groups, ranked by popularity, drawn a million at a time without a table of their shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.shape import Zipf

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Rack:
    """Things of one or several groups, the most popular first; popularity falls by one law in all of them."""

    things: Numbers  # group after group
    starts: NDArray[np.int64]  # (groups,)
    sizes: NDArray[np.int64]  # (groups,), each at least 1
    law: Zipf

    def draw(self, groups: NDArray[np.int64], rng: np.random.Generator) -> Numbers:
        """Draw one thing of each group asked for; a rack of one group serves all of them."""
        return self.pick(groups, rng.random(len(groups)))

    def pick(self, groups: NDArray[np.int64], luck: NDArray[np.float64]) -> Numbers:
        """Return the thing of each group that a number between 0 and 1 leads to."""
        if len(self.sizes) == 1:
            places = _ranks(self.sizes[0], self.law, luck)
        else:
            places = self.starts[groups] + _ranks(self.sizes[groups], self.law, luck)
        picked: Numbers = self.things[places]
        return picked


def make_rack(groups: Sequence[Numbers], law: Zipf) -> Rack:
    """Put up groups of things, each in the order of popularity."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return Rack(np.concatenate(groups), np.cumsum(sizes) - sizes, sizes, law)


def _ranks(sizes: NDArray[np.int64] | np.int64, law: Zipf, luck: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn uniform numbers into ranks, from 0, of a Zipf-Mandelbrot law over so many things.

    The law is read as a density between rank - 1/2 and rank + 1/2, whose distribution has an inverse in closed form;
    an exponent of exactly 1 would need another.
    """
    power = 1 - law.exponent
    low = law.shift + 0.5
    floor = low**power
    place = (floor + luck * ((sizes + low) ** power - floor)) ** (1 / power)
    ranks: NDArray[np.int64] = np.minimum((place - low).astype(np.int64), sizes - 1)
    return ranks
