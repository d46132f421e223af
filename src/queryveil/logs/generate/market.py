"""A market table for the terms of a synthetic log: what advertisers bid, how often ads are shown and clicked.

The table covers as large a share of the terms as the one in Burghardt, Böhm, Guttman, Clifton: Anonymous Search
Histories Featuring Personalized Advertisement, 2010, and its columns correlate with those of the log, in sign and
significance, as in all cells of their Table 3.
"""

import math

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import FloatArray, IntArray
from queryveil.logs.generate.correlation import CorrelationTarget, MarketColumns, adjust
from queryveil.logs.generate.counts import TermUsage

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


def market_table(terms: TermUsage, rng: np.random.Generator, progress: Progress) -> bytes:
    """Return the table as CSV; where clicks are not known the cell is empty."""
    covered = _choose(terms.users, _COVERED, rng)
    frequency, users = terms.frequency[covered].astype(np.float64), terms.users[covered].astype(np.float64)
    has_clicks = np.zeros(len(covered), np.bool_)
    has_clicks[_choose(users, _WITH_CLICKS, rng)] = True
    market = _draw_until_consistent(frequency, users, has_clicks, rng, progress)
    return _csv([terms.texts[term] for term in covered.tolist()], market)


def _choose(users: NDArray[np.number], share: float, rng: np.random.Generator) -> IntArray:
    """Choose a share of the terms, at least one, those of many people more often: waiting times draw by weight."""
    waiting = rng.standard_exponential(len(users)) / np.sqrt(users)
    first = np.argsort(waiting, kind="stable")[: max(1, round(share * len(users)))]
    return np.sort(first)


def _draw_until_consistent(
    frequency: FloatArray,
    users: FloatArray,
    has_clicks: NDArray[np.bool_],
    rng: np.random.Generator,
    progress: Progress,
) -> MarketColumns:
    """Draw markets until one agrees with Table 3; for a log too small for that, return the one that agrees most."""
    best = _draw_market(frequency, users, has_clicks, rng)
    fewest = best.n_wrong_cells()
    for attempt in range(1, _ATTEMPTS):
        if not fewest:
            break
        progress(_STAGE, attempt, 0)
        drawn = _draw_market(frequency, users, has_clicks, rng)
        if (n_wrong := drawn.n_wrong_cells()) < fewest:
            best, fewest = drawn, n_wrong
    return best


def _draw_market(
    frequency: FloatArray, users: FloatArray, has_clicks: NDArray[np.bool_], rng: np.random.Generator
) -> MarketColumns:
    """Draw a market close to Table 3; where a correlation is small there, its sign may still be wrong."""
    impressions = _draw_impressions(users, rng)
    clicks = _draw_clicks(impressions, users, has_clicks, rng)
    bid = _draw_bids(MarketColumns(frequency, users, impressions, clicks, np.ones(len(users)), has_clicks), rng)
    return MarketColumns(frequency, users, impressions, clicks, bid, has_clicks)


def _draw_impressions(users: FloatArray, rng: np.random.Generator) -> FloatArray:
    base, growth, deviation = _IMPRESSIONS
    drawn = np.exp(base + growth * np.log(users) + deviation * rng.standard_normal(len(users)))
    everywhere = np.ones(len(users), np.bool_)
    target = CorrelationTarget(users, _at_least(_USERS_IMPRESSIONS, len(users)), everywhere, np.ones(len(users)))
    return np.rint(adjust(drawn, [target]))


def _draw_clicks(
    impressions: FloatArray, users: FloatArray, has_clicks: NDArray[np.bool_], rng: np.random.Generator
) -> FloatArray:
    """Draw clicks for the terms that have any, never more than impressions."""
    mean, deviation, highest = _CLICK_RATE
    rates = np.minimum(np.exp(mean + deviation * rng.standard_normal(len(users))), highest)
    n, factor = int(has_clicks.sum()), np.ones(len(users))
    targets = [
        CorrelationTarget(users, _at_least(_USERS_CLICKS, n), has_clicks, factor),
        CorrelationTarget(impressions, _at_least(_CLICKS_IMPRESSIONS, n), has_clicks, factor),
    ]
    clicks = np.rint(adjust((impressions + 1) * rates, targets))
    return np.where(has_clicks, np.minimum(clicks, impressions), 0.0)


def _draw_bids(market: MarketColumns, rng: np.random.Generator) -> FloatArray:
    """Draw bids: very high ones for a few precious terms, hardly correlated with anything else."""
    n, known, factor = len(market.users), market.has_clicks, np.ones(len(market.users))
    mean, deviation = _BID
    bids = np.exp(mean + deviation * rng.standard_normal(n))
    is_rare = market.users <= _RARE
    with_clicks = np.flatnonzero(is_rare & known)
    many = with_clicks[np.argsort(-market.clicks[with_clicks], kind="stable")][: max(10, round(_MANY_CLICKS * n))]
    _raise_bids(bids, np.flatnonzero(is_rare), _PRECIOUS, 3, rng)
    _raise_bids(bids, many, _GOLDEN, 2, rng)
    small, small_known = (_INSIGNIFICANT / math.sqrt(count) for count in (n, max(int(known.sum()), 1)))
    everywhere = np.ones(n, np.bool_)
    targets = [
        CorrelationTarget(market.frequency, small, everywhere, factor),
        CorrelationTarget(market.users, small, everywhere, factor),
        CorrelationTarget(market.impressions, small, everywhere, factor),
        CorrelationTarget(market.clicks, -small_known, known, factor),
        CorrelationTarget(market.frequency, small_known, known, market.clicks),
        CorrelationTarget(market.users, small_known, known, market.clicks),
    ]
    adjusted = adjust(np.clip(bids, 2 * _LEAST_BID, _LARGEST_BID), targets, floor=_LEAST_BID)
    return np.clip(np.round(adjusted, 2), _LEAST_BID, _LARGEST_BID)


def _raise_bids(
    bids: FloatArray, among: IntArray, law: tuple[float, float, float], fewest: int, rng: np.random.Generator
) -> None:
    """Make the bids of a few terms very high."""
    share, mean, deviation = law
    chosen = rng.permutation(among)[: max(fewest, round(share * len(bids)))]
    bids[chosen] = np.exp(mean + deviation * rng.standard_normal(len(chosen)))


def _at_least(correlation: float, n: int) -> float:
    """Return the correlation, raised where needed so that it is significant over n terms."""
    return max(correlation, min(_SIGNIFICANT / math.sqrt(max(n, 1)), 0.9))


def _csv(texts: list[str], market: MarketColumns) -> bytes:
    columns = (market.bid, market.clicks, market.impressions)
    rows = zip(texts, *(column.tolist() for column in columns), market.has_clicks.tolist(), strict=True)
    lines = (
        f"{term},{bid:.2f},{f'{clicks:.0f}' if known else ''},{impressions:.0f}\n"
        for term, bid, clicks, impressions, known in rows
    )
    return "".join((HEADER, *lines)).encode()
