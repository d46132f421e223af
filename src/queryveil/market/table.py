"""A market table (`term, bid, clicks, impressions`): what advertisers bid for a term, and what its ads would bring.

Burghardt, Böhm, Guttman, Clifton 2010, sections 4.1 and 5.1. The revenue of a term is clicks · bid; it is known only
where both are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil.market.reading import read_terms

COLUMNS = ("bid", "clicks", "impressions")
FIGURES = (*COLUMNS, "revenue")


@dataclass(frozen=True, eq=False)
class Market:
    """What terms are worth on the market."""

    name: str  # of the file, for messages
    rows: Mapping[str, int]  # term → its row
    figures: Mapping[str, NDArray[np.float64]]  # of FIGURES: a number per row, nan where it is not known

    def of(self, figure: str, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return a figure of each of the terms, nan where it is not known."""
        place = np.fromiter((self.rows.get(term, -1) for term in terms), np.int64, len(terms))
        return np.append(self.figures[figure], np.nan)[place]


def read_market(path: Path, charset: str = "letters") -> Market:
    """Read a file with the columns term, bid, clicks and impressions; an empty cell is no value."""
    rows, numbers = read_terms(path, "--market", COLUMNS, charset, gaps=True)
    return make_market(str(path), rows, numbers)


def make_market(name: str, rows: Mapping[str, int], numbers: NDArray[np.float64]) -> Market:
    """Return a market table from a row of bid, clicks and impressions per term."""
    bid, clicks, impressions = numbers.T
    figures = {"bid": bid, "clicks": clicks, "impressions": impressions, "revenue": clicks * bid}
    return Market(name, rows, figures)
