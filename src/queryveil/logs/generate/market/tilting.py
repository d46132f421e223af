"""Bending random values gently until they correlate with other columns as wanted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.market.columns import Column, direction, spread

_STEPS = 30
_NEAR = 0.1  # of a wanted correlation: near enough
_LARGEST_STEP = 3.0  # of a value's logarithm
_SHORTEST_STEP = 1e-3
_RIDGE = 1e-4  # keeps the equations solvable where two columns are nearly the same
_FEWEST = 30  # values; of fewer, no correlation is worth the effort


@dataclass(frozen=True, eq=False)
class Aim:
    """A correlation wanted between the values, times a factor, and another column, over some of the entries."""

    other: Column
    correlation: float
    where: NDArray[np.bool_]
    factor: Column

    def row(self) -> Column:
        """Return what the values are to be multiplied by: the sum is their correlation times their spread."""
        row = np.zeros(len(self.other))
        row[self.where] = direction(self.other[self.where]) * self.factor[self.where]
        return row

    def spread(self, values: Column) -> float:
        """Return the spread of the values, times the factor, over the entries."""
        return spread((values * self.factor)[self.where])


def tilt(values: Column, aims: Sequence[Aim], floor: float = 0.0) -> Column:
    """Multiply values, as far as they exceed the floor, by factors near 1 until all aims are met, or nearly so.

    The logarithms of the factors are combinations of the columns aimed at, compressed by a square root, so that many
    values change a little rather than a few outliers much. Newton's method finds the weights of the combination.
    """
    rows = np.array([aim.row() for aim in aims])
    if len(values) < _FEWEST or not rows.any(axis=1).all():
        return values
    bends = np.sign(rows) * np.sqrt(np.abs(rows))
    bends /= np.abs(bends).max(axis=1, keepdims=True)
    wanted = np.array([aim.correlation for aim in aims])
    excess = values - floor
    missing, spreads = _miss(rows, aims, excess + floor)
    for _ in range(_STEPS):
        if np.abs(missing).max() < _NEAR:
            break
        slopes = np.einsum("in,jn->ij", rows * excess, bends) / (spreads * np.abs(wanted))[:, None]
        bend = np.einsum("in,i->n", bends, _solve(slopes, -missing))
        length = min(1.0, _LARGEST_STEP / max(float(np.abs(bend).max()), 1e-9))
        while length > _SHORTEST_STEP:
            bent = excess * np.exp(length * bend)
            bent *= excess.sum() / bent.sum()
            now, spreads_now = _miss(rows, aims, bent + floor)
            if np.abs(now).sum() < np.abs(missing).sum() * (1 - length / 10):
                break
            length /= 2
        else:
            break
        excess, missing, spreads = bent, now, spreads_now
    tilted: Column = excess + floor
    return tilted


def _miss(rows: NDArray[np.float64], aims: Sequence[Aim], values: Column) -> tuple[Column, Column]:
    """Return by how much each aim is missed, in multiples of what is wanted, and the spreads of the values."""
    spreads = np.array([aim.spread(values) for aim in aims])
    wanted = np.array([aim.correlation for aim in aims])
    return ((rows * values).sum(axis=1) / spreads - wanted) / np.abs(wanted), spreads


def _solve(slopes: NDArray[np.float64], change: Column) -> Column:
    """Solve linear equations, preferring small weights."""
    ridge = _RIDGE * np.abs(slopes).max() * np.eye(len(slopes))
    weights: Column = np.linalg.lstsq(np.concatenate((slopes, ridge)), np.append(change, np.zeros(len(change))))[0]
    return weights
