"""A market table for the terms of a generated log: what advertisers bid, how often ads are shown and clicked.

The table knows as large a part of the terms as the one in Burghardt et al. 2010, and its figures go together with
those of the log, in sign and significance, as in all cells of their Table 3.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.logs.generate.market.columns import Column, Columns
from queryveil.logs.generate.market.drawing import draw_columns
from queryveil.logs.generate.tally import Terms

__all__ = ["market_table"]

HEADER = "term,bid,clicks,impressions\n"
_STAGE = "pricing the terms"
_COVERED = 117_916 / 251_115  # of the terms of the log, more of the frequent ones; N in Table 3
_WITH_CLICKS = 64_694 / 117_916  # of those
_ATTEMPTS = 40  # about every second succeeds


def market_table(terms: Terms, rng: np.random.Generator, progress: Progress) -> bytes:
    """Return the table as CSV; where clicks are not known the cell is empty."""
    covered = _choose(terms.users, _COVERED, rng)
    frequency, users = terms.frequency[covered].astype(np.float64), terms.users[covered].astype(np.float64)
    has_clicks = np.zeros(len(covered), np.bool_)
    has_clicks[_choose(users, _WITH_CLICKS, rng)] = True
    market = _like_table_3(frequency, users, has_clicks, rng, progress)
    return _csv([terms.texts[term] for term in covered.tolist()], market)


def _like_table_3(
    frequency: Column, users: Column, has_clicks: NDArray[np.bool_], rng: np.random.Generator, progress: Progress
) -> Columns:
    """Draw markets until one agrees with Table 3; of a log too small for that, the one that disagrees least."""
    best = draw_columns(frequency, users, has_clicks, rng)
    fewest = best.n_failing()
    for attempt in range(1, _ATTEMPTS):
        if not fewest:
            break
        progress(_STAGE, attempt, 0)
        drawn = draw_columns(frequency, users, has_clicks, rng)
        if (failing := drawn.n_failing()) < fewest:
            best, fewest = drawn, failing
    return best


def _choose(users: NDArray[np.number], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose a share of the terms, at least one, those of many people more often: waiting times draw by weight."""
    waiting = rng.standard_exponential(len(users)) / np.sqrt(users)
    first = np.argsort(waiting, kind="stable")[: max(1, round(share * len(users)))]
    return np.sort(first)


def _csv(texts: list[str], market: Columns) -> bytes:
    columns = (market.bid, market.clicks, market.impressions)
    rows = zip(texts, *(column.tolist() for column in columns), market.has_clicks.tolist(), strict=True)
    lines = (
        f"{term},{bid:.2f},{f'{clicks:.0f}' if known else ''},{impressions:.0f}\n"
        for term, bid, clicks, impressions, known in rows
    )
    return "".join((HEADER, *lines)).encode()
