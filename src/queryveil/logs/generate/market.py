"""A market table for the terms of a synthetic log: what advertisers bid, how often ads are shown and clicked.

The table covers as large a share of the terms as the one in Burghardt, Böhm, Guttman, Clifton: Anonymous Search
Histories Featuring Personalized Advertisement, 2010, and its columns correlate with those of the log, in sign and
significance, as in all cells of their Table 3. Long sums are numpy's own, not those of a linear algebra library, whose
last digits depend on the number of its threads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, IntArray
from queryveil.logs.generate.writer import TermUsage

HEADER = "term,bid,clicks,impressions\n"
_STAGE = "pricing the terms"
_COVERED = 117_916 / 251_115  # of the terms of the log, more of the frequent ones; N in Table 3
_WITH_CLICKS = 64_694 / 117_916  # of those
_ATTEMPTS = 40  # about every second succeeds

# Correlations of Table 3 that are significant; users stand for term frequency too, with which they correlate
_USERS_IMPRESSIONS, _USERS_CLICKS, _CLICKS_IMPRESSIONS = 0.151, 0.031, 0.400
_SIGNIFICANT = 5.0  # z-score that makes the same cells significant in small logs
_INSIGNIFICANT = 0.6  # z-score of those that are not

_IMPRESSIONS = 5.5, 0.5, 1.8  # logarithm: at one user, per logarithm of users, standard deviation
_CLICK_RATE = -4.5, 1.3, 0.5  # logarithm: mean and standard deviation; the highest rate
_BID = -0.6, 0.8  # logarithm: mean and standard deviation, in dollars
_LEAST_BID, _LARGEST_BID = 0.01, 999.0
_PRECIOUS = 4e-4, 3.5, 0.9  # share of the terms with bids far above all others; logarithm: mean, standard deviation
_GOLDEN = 5e-5, 4.5, 0.9  # share of the terms with such bids and many clicks; logarithm: mean, standard deviation
_RARE = 5  # people, at most, who use a precious term
_MANY_CLICKS = 0.01  # of the terms with clicks

# Columns of Table 3 → bounds of the z-score of their correlation. A cell is significant at the 0.01 level (one-tailed)
# from 2.33 on; the distance to it, and to 0, lets any formula for the significance come to the same result.
_SIGNIFICANT_CELL, _INSIGNIFICANT_CELL = (2.7, math.inf), (0.05, 2.0)
_CELLS = {
    **{("frequency", other): _SIGNIFICANT_CELL for other in ("impressions", "clicks", "users")},
    **{("users", other): _SIGNIFICANT_CELL for other in ("impressions", "clicks")},
    **{(other, "revenue"): _SIGNIFICANT_CELL for other in ("bid", "clicks", "impressions")},
    ("clicks", "impressions"): _SIGNIFICANT_CELL,
    **{(one, other): _INSIGNIFICANT_CELL for one in ("frequency", "users") for other in ("revenue", "bid")},
    ("bid", "impressions"): _INSIGNIFICANT_CELL,
    ("bid", "clicks"): (-2.0, -0.05),
}

_STEPS = 30  # of Newton's method
_CLOSE_ENOUGH = 0.1  # relative error of a correlation
_LARGEST_STEP = 3.0  # of a value's logarithm
_SHORTEST_STEP = 1e-3
_RIDGE = 1e-4  # keeps the equations solvable where two columns are nearly the same
_FEWEST = 30  # values; fewer are not adjusted


def market_table(terms: TermUsage, rng: np.random.Generator, progress: Progress) -> bytes:
    """Return the table as CSV; where clicks are not known the cell is empty.

    Markets are drawn until one agrees with Table 3; for a log too small for that, the one that agrees most is returned.
    """
    covered = _choose(terms.users, _COVERED, rng)
    frequency, users = terms.frequency[covered].astype(np.float64), terms.users[covered].astype(np.float64)
    has_clicks = np.zeros(len(covered), np.bool_)
    has_clicks[_choose(users, _WITH_CLICKS, rng)] = True
    best = MarketDraw(frequency, users, has_clicks, rng)
    fewest = best.n_wrong_cells()
    for attempt in range(1, _ATTEMPTS):
        if not fewest:
            break
        progress(_STAGE, attempt, 0)
        drawn = MarketDraw(frequency, users, has_clicks, rng)
        if (n_wrong := drawn.n_wrong_cells()) < fewest:
            best, fewest = drawn, n_wrong
    return best.csv([terms.texts[term] for term in covered.tolist()])


def _choose(users: NDArray[np.number], share: float, rng: np.random.Generator) -> IntArray:
    """Choose a share of the terms, at least one, those of many people more often: waiting times draw by weight."""
    waiting = rng.standard_exponential(len(users)) / np.sqrt(users)
    first = np.argsort(waiting, kind="stable")[: max(1, round(share * len(users)))]
    return np.sort(first)


class MarketDraw:
    """A random market close to Table 3; where a correlation is small there, its sign may still be wrong.

    Each column has one entry per term; `clicks` is 0 where they are not known.
    """

    def __init__(
        self, frequency: FloatArray, users: FloatArray, has_clicks: BoolArray, rng: np.random.Generator
    ) -> None:
        self.frequency, self.users, self.has_clicks = frequency, users, has_clicks
        base, growth, deviation = _IMPRESSIONS
        impressions = np.exp(base + growth * np.log(users) + deviation * rng.standard_normal(len(users)))
        target = CorrelationTarget(users, _at_least(_USERS_IMPRESSIONS, len(users)))
        self.impressions = np.rint(adjust(impressions, [target]))
        self.clicks = self._draw_clicks(rng)
        self.bid = self._draw_bids(rng)

    def n_wrong_cells(self) -> int:
        """Count the cells of Table 3 that have another sign or significance here."""
        return sum(not low < self._z_score(*columns) < high for columns, (low, high) in _CELLS.items())

    def csv(self, texts: list[str]) -> bytes:
        """Return the table for terms with these texts."""
        columns = (self.bid, self.clicks, self.impressions, self.has_clicks)
        lines = (
            f"{term},{bid:.2f},{f'{clicks:.0f}' if known else ''},{impressions:.0f}\n"
            for term, bid, clicks, impressions, known in zip(texts, *(c.tolist() for c in columns), strict=True)
        )
        return "".join((HEADER, *lines)).encode()

    def _z_score(self, *names: str) -> float:
        """Return the correlation of two columns in standard deviations of that of unrelated ones."""
        first, second = (self.bid * self.clicks if name == "revenue" else getattr(self, name) for name in names)
        if {"clicks", "revenue"} & set(names):
            first, second = first[self.has_clicks], second[self.has_clicks]
        return float((_direction(first) * _direction(second)).sum()) * math.sqrt(len(first))

    def _draw_clicks(self, rng: np.random.Generator) -> FloatArray:
        """Draw clicks for the terms that have any, never more than impressions."""
        mean, deviation, highest = _CLICK_RATE
        rates = np.minimum(np.exp(mean + deviation * rng.standard_normal(len(self.users))), highest)
        n = int(self.has_clicks.sum())
        targets = [
            CorrelationTarget(self.users, _at_least(_USERS_CLICKS, n), self.has_clicks),
            CorrelationTarget(self.impressions, _at_least(_CLICKS_IMPRESSIONS, n), self.has_clicks),
        ]
        clicks = np.rint(adjust((self.impressions + 1) * rates, targets))
        return np.where(self.has_clicks, np.minimum(clicks, self.impressions), 0.0)

    def _draw_bids(self, rng: np.random.Generator) -> FloatArray:
        """Draw bids: very high ones for a few precious terms, hardly correlated with anything else."""
        n, known = len(self.users), self.has_clicks
        mean, deviation = _BID
        bids = np.exp(mean + deviation * rng.standard_normal(n))
        is_rare = self.users <= _RARE
        with_clicks = np.flatnonzero(is_rare & known)
        many = with_clicks[np.argsort(-self.clicks[with_clicks], kind="stable")][: max(10, round(_MANY_CLICKS * n))]
        for among, (share, mean, deviation), fewest in ((np.flatnonzero(is_rare), _PRECIOUS, 3), (many, _GOLDEN, 2)):
            expensive = rng.permutation(among)[: max(fewest, round(share * n))]
            bids[expensive] = np.exp(mean + deviation * rng.standard_normal(len(expensive)))
        small, small_known = (_INSIGNIFICANT / math.sqrt(count) for count in (n, max(int(known.sum()), 1)))
        targets = [
            *(CorrelationTarget(other, small) for other in (self.frequency, self.users, self.impressions)),
            CorrelationTarget(self.clicks, -small_known, known),
            *(CorrelationTarget(other, small_known, known, self.clicks) for other in (self.frequency, self.users)),
        ]
        adjusted = adjust(np.clip(bids, 2 * _LEAST_BID, _LARGEST_BID), targets, floor=_LEAST_BID)
        return np.clip(np.round(adjusted, 2), _LEAST_BID, _LARGEST_BID)


def _at_least(correlation: float, n: int) -> float:
    """Return the correlation, raised where needed so that it is significant over n terms."""
    return max(correlation, min(_SIGNIFICANT / math.sqrt(max(n, 1)), 0.9))


@dataclass(frozen=True, eq=False)
class CorrelationTarget:
    """The correlation to reach between the values, times a factor, and another column, over some of the entries."""

    other: FloatArray
    correlation: float
    where: BoolArray | EllipsisType = ...
    factor: FloatArray | float = 1.0

    def row(self) -> FloatArray:
        """Return the row whose product with the values is their correlation times their spread."""
        row = np.zeros(len(self.other))
        row[self.where] = _direction(self.other[self.where])
        return row * self.factor

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
    correlations = np.array([target.correlation for target in targets])
    excess = values - floor
    errors, spreads = _relative_errors(rows, targets, excess + floor)
    for _ in range(_STEPS):
        if np.abs(errors).max() < _CLOSE_ENOUGH:
            break
        slopes = np.einsum("in,jn->ij", rows * excess, bends) / (spreads * np.abs(correlations))[:, None]
        # By least squares, preferring small weights
        ridge = _RIDGE * np.abs(slopes).max() * np.eye(len(slopes))
        weights = np.linalg.lstsq(np.concatenate((slopes, ridge)), np.append(-errors, np.zeros(len(errors))))[0]
        bend = np.einsum("in,i->n", bends, weights)
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
    correlations = np.array([target.correlation for target in targets])
    return ((rows * values).sum(axis=1) / spreads - correlations) / np.abs(correlations), spreads


def _direction(column: FloatArray) -> FloatArray:
    """Return the deviations from the mean as a vector of length 1, or of 0s where nothing varies."""
    centred: FloatArray = column - column.mean()
    length = _spread(column)
    return centred / length if length else np.zeros_like(column)


def _spread(column: FloatArray) -> float:
    """Return the length of the vector of the deviations from the mean."""
    return float(np.sqrt(np.square(column - column.mean()).sum()))
