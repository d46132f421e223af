"""Correlations between the columns of a market table: those wanted, and adjusting random values to reach them.

Wanted is Table 3 of Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized
Advertisement, 2010. Long sums are numpy's own, not those of a linear algebra library, whose last digits depend on the
number of its threads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray

# z-scores: a cell is significant at the 0.01 level (one-tailed) from 2.33 on. The distance to it, and to 0, lets any
# formula for the significance come to the same result.
_CLEARLY, _HARDLY, _VISIBLY = 2.7, 2.0, 0.05

_STEPS = 30
_CLOSE_ENOUGH = 0.1  # relative error of a correlation
_LARGEST_STEP = 3.0  # of a value's logarithm
_SHORTEST_STEP = 1e-3
_RIDGE = 1e-4  # keeps the equations solvable where two columns are nearly the same
_FEWEST = 30  # values; fewer are not adjusted


# Pairs of columns → sign of their correlation
_SIGNIFICANT_CELLS = {
    **{("frequency", "impressions"): 1, ("frequency", "clicks"): 1, ("frequency", "users"): 1},
    **{("users", "impressions"): 1, ("users", "clicks"): 1, ("bid", "revenue"): 1},
    **{("clicks", "revenue"): 1, ("clicks", "impressions"): 1, ("impressions", "revenue"): 1},
}
_INSIGNIFICANT_CELLS = {
    **{("frequency", "revenue"): 1, ("frequency", "bid"): 1, ("users", "revenue"): 1},
    **{("users", "bid"): 1, ("bid", "impressions"): 1, ("bid", "clicks"): -1},
}


@dataclass(frozen=True, eq=False)
class MarketColumns:
    """What is known of some terms; each column has one entry per term."""

    frequency: FloatArray
    users: FloatArray
    impressions: FloatArray
    clicks: FloatArray  # 0 where they are not known
    bid: FloatArray
    has_clicks: NDArray[np.bool_]

    def n_wrong_cells(self) -> int:
        """Count the cells of Table 3 that have another sign or significance here."""
        significant = (sign * self._z_score(*pair) for pair, sign in _SIGNIFICANT_CELLS.items())
        insignificant = (sign * self._z_score(*pair) for pair, sign in _INSIGNIFICANT_CELLS.items())
        n_right = sum(score > _CLEARLY for score in significant)
        n_right += sum(_VISIBLY < score < _HARDLY for score in insignificant)
        return len(_SIGNIFICANT_CELLS) + len(_INSIGNIFICANT_CELLS) - n_right

    def _z_score(self, *names: str) -> float:
        """Return the correlation of two columns in standard deviations of that of unrelated ones."""
        first, second = (self._column(name) for name in names)
        if {"clicks", "revenue"} & set(names):
            first, second = first[self.has_clicks], second[self.has_clicks]
        return float((_direction(first) * _direction(second)).sum()) * math.sqrt(len(first))

    def _column(self, name: str) -> FloatArray:
        column: FloatArray = self.bid * self.clicks if name == "revenue" else getattr(self, name)
        return column


@dataclass(frozen=True, eq=False)
class CorrelationTarget:
    """A correlation wanted between the values, times a factor, and another column, over some of the entries."""

    other: FloatArray
    correlation: float
    where: NDArray[np.bool_]
    factor: FloatArray

    def row(self) -> FloatArray:
        """Return the row whose product with the values is their correlation times their spread."""
        row = np.zeros(len(self.other))
        row[self.where] = _direction(self.other[self.where]) * self.factor[self.where]
        return row

    def spread(self, values: FloatArray) -> float:
        """Return the spread of the values, times the factor, over the entries."""
        return _spread((values * self.factor)[self.where])


def adjust(values: FloatArray, targets: Sequence[CorrelationTarget], floor: float = 0.0) -> FloatArray:
    """Multiply the part of the values above the floor by factors near 1 until the targets are reached, or nearly so.

    The logarithms of the factors are combinations of the targets' columns, compressed by a square root, so that many
    values change a little rather than a few outliers much. Newton's method finds the weights of the combination.
    """
    rows = np.array([target.row() for target in targets])
    if len(values) < _FEWEST or not rows.any(axis=1).all():
        return values
    bends = np.sign(rows) * np.sqrt(np.abs(rows))
    bends /= np.abs(bends).max(axis=1, keepdims=True)
    wanted = np.array([target.correlation for target in targets])
    excess = values - floor
    errors, spreads = _relative_errors(rows, targets, excess + floor)
    for _ in range(_STEPS):
        if np.abs(errors).max() < _CLOSE_ENOUGH:
            break
        slopes = np.einsum("in,jn->ij", rows * excess, bends) / (spreads * np.abs(wanted))[:, None]
        bend = np.einsum("in,i->n", bends, _solve(slopes, -errors))
        length = min(1.0, _LARGEST_STEP / max(float(np.abs(bend).max()), 1e-9))
        while length > _SHORTEST_STEP:
            bent = excess * np.exp(length * bend)
            bent *= excess.sum() / bent.sum()
            new_errors, new_spreads = _relative_errors(rows, targets, bent + floor)
            if np.abs(new_errors).sum() < np.abs(errors).sum() * (1 - length / 10):
                break
            length /= 2
        else:
            break
        excess, errors, spreads = bent, new_errors, new_spreads
    adjusted: FloatArray = excess + floor
    return adjusted


def _relative_errors(
    rows: FloatArray, targets: Sequence[CorrelationTarget], values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the relative error of each correlation, and the spreads of the values."""
    spreads = np.array([target.spread(values) for target in targets])
    wanted = np.array([target.correlation for target in targets])
    return ((rows * values).sum(axis=1) / spreads - wanted) / np.abs(wanted), spreads


def _solve(slopes: FloatArray, change: FloatArray) -> FloatArray:
    """Solve linear equations by least squares, preferring small weights."""
    ridge = _RIDGE * np.abs(slopes).max() * np.eye(len(slopes))
    weights: FloatArray = np.linalg.lstsq(np.concatenate((slopes, ridge)), np.append(change, np.zeros(len(change))))[0]
    return weights


def _direction(column: FloatArray) -> FloatArray:
    """Return the deviations from the mean as a vector of length 1, or of 0s where nothing varies."""
    centred: FloatArray = column - column.mean()
    length = _spread(column)
    return centred / length if length else np.zeros_like(column)


def _spread(column: FloatArray) -> float:
    """Return the length of the vector of the deviations from the mean."""
    return float(np.sqrt(np.square(column - column.mean()).sum()))
