"""Market value: how much of what advertisers pay for is still there, in percent of the original.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, table 5:
the sum over (history, term) of value · occurrences, for bid, clicks, impressions and revenue. A term without a value
counts 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.histories.profiles import Profiles
from queryveil.market.table import FIGURES, Market
from queryveil.measures.base import UNKNOWN_OCCURRENCES, Comparison

WORDS = {"bid": "a bid", "clicks": "clicks", "impressions": "impressions", "revenue": "a revenue"}


@dataclass(frozen=True)
class Coverage:
    """Of how many terms of a log, and of which share of their occurrences, a figure is known."""

    n_terms: int
    terms: float  # % of the distinct terms
    occurrences: float  # % of the occurrences

    def sentence(self, figure: str) -> str:
        """Say it in words."""
        known = f"{_percent(self.terms)} of the log's terms and {_percent(self.occurrences)} of their occurrences"
        return f"{known} have {WORDS[figure]} in the market table"


def _percent(share: float) -> str:
    """Write a share with one decimal, so that a little does not look like nothing."""
    return "<0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return bid, clicks, impressions and revenue of the release in percent of the original's."""
    comparison = evidence.get(Comparison)
    market = comparison.needed_market(str(measure))
    progress("measuring market value", 0, 1)
    known = coverage(comparison.original, market)
    occurrences = comparison.released_occurrences()
    scores = []
    for figure in FIGURES:
        total = total_value(comparison.original, comparison.original.counts, market, figure)
        note, value = known[figure].sentence(figure), None
        if total == 0:
            note += "; all that is known of them is 0"
        elif occurrences is None:
            note += f"; what is kept {UNKNOWN_OCCURRENCES}"
        else:
            value = 100.0 * total_value(comparison.released, occurrences, market, figure) / total
        scores.append(Score(str(measure), figure, value, 100.0, units_counted=known[figure].n_terms, note=note))
    progress("measuring market value", 1, 1)
    return scores


def total_value(profiles: Profiles, occurrences: NDArray[np.int32], market: Market, figure: str) -> float:
    """Return the sum of value · occurrences over the pairs of some histories."""
    value = np.nan_to_num(market.of(figure, profiles.vocabulary.entries))
    return float(value[profiles.ids] @ occurrences)


def coverage(profiles: Profiles, market: Market) -> Mapping[str, Coverage]:
    """Return for each figure how much of a log has it; a table that has no term of the log is refused."""
    n_terms, total = len(profiles.vocabulary), int(profiles.counts.sum())
    occurrences = np.bincount(profiles.ids, weights=profiles.counts, minlength=n_terms)
    found = {}
    for figure in FIGURES:
        is_known = ~np.isnan(market.of(figure, profiles.vocabulary.entries))
        n_known = int(np.count_nonzero(is_known))
        found[figure] = Coverage(n_known, 100.0 * n_known / n_terms, 100.0 * float(occurrences[is_known].sum()) / total)
    if not any(figure.n_terms for figure in found.values()):
        raise InputError(
            f"{market.name} gives no value for any of the {n_terms:,} terms of the log; check that it belongs to this "
            "log, and --charset."
        )
    return found
