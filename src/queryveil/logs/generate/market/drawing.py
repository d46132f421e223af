"""Drawing impressions, clicks and bids for the terms of a log."""

import math

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.market.columns import Column, Columns
from queryveil.logs.generate.market.tilting import Aim, tilt

# Correlations of Table 3 that are significant; users stand for term frequency too, with which they correlate
_USERS_IMPRESSIONS, _USERS_CLICKS, _CLICKS_IMPRESSIONS = 0.151, 0.031, 0.400
_SIGNIFICANT = 5.0  # z-score: what small logs need so that the same cells are significant
_INSIGNIFICANT = 0.6  # z-score of those that are not

_IMPRESSIONS = 5.5, 0.5, 1.8  # logarithm: at one user, per logarithm of users, deviation
_CLICK_RATE = -4.5, 1.3, 0.5  # logarithm: mean and deviation; the highest rate
_BID = -0.6, 0.8  # logarithm: mean and deviation, in dollars
_LEAST_BID, _LARGEST_BID = 0.01, 999.0
_PRECIOUS = 4e-4, 3.5, 0.9  # of the terms: bids far above all others; logarithm: mean and deviation
_GOLDEN = 5e-5, 4.5, 0.9  # of the terms: such bids and many clicks
_RARE = 5  # people at most: who use a precious term
_MANY_CLICKS = 0.01  # of the terms with clicks


def draw_columns(frequency: Column, users: Column, has_clicks: NDArray[np.bool_], rng: np.random.Generator) -> Columns:
    """Draw a market near Table 3; where a correlation is small there, its sign may still be wrong."""
    impressions = _impressions(users, rng)
    clicks = _clicks(impressions, users, has_clicks, rng)
    bid = _bids(Columns(frequency, users, impressions, clicks, np.ones(len(users)), has_clicks), rng)
    return Columns(frequency, users, impressions, clicks, bid, has_clicks)


def _impressions(users: Column, rng: np.random.Generator) -> Column:
    base, growth, deviation = _IMPRESSIONS
    drawn = np.exp(base + growth * np.log(users) + deviation * rng.standard_normal(len(users)))
    everywhere = np.ones(len(users), np.bool_)
    aim = Aim(users, _at_least(_USERS_IMPRESSIONS, len(users)), everywhere, np.ones(len(users)))
    return np.rint(tilt(drawn, [aim]))


def _clicks(impressions: Column, users: Column, has_clicks: NDArray[np.bool_], rng: np.random.Generator) -> Column:
    """Draw clicks for the terms that have any, never more than impressions."""
    mean, deviation, highest = _CLICK_RATE
    rates = np.minimum(np.exp(mean + deviation * rng.standard_normal(len(users))), highest)
    n, factor = int(has_clicks.sum()), np.ones(len(users))
    aims = [
        Aim(users, _at_least(_USERS_CLICKS, n), has_clicks, factor),
        Aim(impressions, _at_least(_CLICKS_IMPRESSIONS, n), has_clicks, factor),
    ]
    clicks = np.rint(tilt((impressions + 1) * rates, aims))
    return np.where(has_clicks, np.minimum(clicks, impressions), 0.0)


def _bids(market: Columns, rng: np.random.Generator) -> Column:
    """Draw bids: a few precious terms, and next to nothing to do with anything else."""
    n, known, factor = len(market.users), market.has_clicks, np.ones(len(market.users))
    mean, deviation = _BID
    bids = np.exp(mean + deviation * rng.standard_normal(n))
    is_rare = market.users <= _RARE
    with_clicks = np.flatnonzero(is_rare & known)
    many = with_clicks[np.argsort(-market.clicks[with_clicks], kind="stable")][: max(10, round(_MANY_CLICKS * n))]
    _raise(bids, np.flatnonzero(is_rare), _PRECIOUS, 3, rng)
    _raise(bids, many, _GOLDEN, 2, rng)
    small, small_known = (_INSIGNIFICANT / math.sqrt(count) for count in (n, max(int(known.sum()), 1)))
    everywhere = np.ones(n, np.bool_)
    aims = [
        Aim(market.frequency, small, everywhere, factor),
        Aim(market.users, small, everywhere, factor),
        Aim(market.impressions, small, everywhere, factor),
        Aim(market.clicks, -small_known, known, factor),
        Aim(market.frequency, small_known, known, market.clicks),
        Aim(market.users, small_known, known, market.clicks),
    ]
    tilted = tilt(np.clip(bids, 2 * _LEAST_BID, _LARGEST_BID), aims, floor=_LEAST_BID)
    return np.clip(np.round(tilted, 2), _LEAST_BID, _LARGEST_BID)


def _raise(
    bids: Column, among: NDArray[np.int64], law: tuple[float, float, float], fewest: int, rng: np.random.Generator
) -> None:
    """Make the bids of a few terms very high."""
    share, mean, deviation = law
    chosen = rng.permutation(among)[: max(fewest, round(share * len(bids)))]
    bids[chosen] = np.exp(mean + deviation * rng.standard_normal(len(chosen)))


def _at_least(correlation: float, n: int) -> float:
    """Return a correlation that is significant over n terms."""
    return max(correlation, min(_SIGNIFICANT / math.sqrt(max(n, 1)), 0.9))
