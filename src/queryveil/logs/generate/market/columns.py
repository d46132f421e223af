"""The columns of a market table beside those of the log, and whether they go together as in the paper.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, Table 3.
Long sums are numpy's own, not those of a linear algebra library, whose last digits depend on the number of its threads.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]

# z-scores: a cell is significant at the 0.01 level (one-tailed) from 2.33 on. With some distance to it on either side,
# and to 0, whatever formula is used to check comes to the same.
_CLEARLY, _HARDLY, _VISIBLY = 2.7, 2.0, 0.05


@dataclass(frozen=True)
class Cell:
    """A correlation of Table 3: its sign, and whether it is significant."""

    first: str
    second: str
    sign: int
    is_significant: bool


TABLE_3 = (
    Cell("frequency", "revenue", 1, False),
    Cell("frequency", "impressions", 1, True),
    Cell("frequency", "clicks", 1, True),
    Cell("frequency", "bid", 1, False),
    Cell("frequency", "users", 1, True),
    Cell("users", "revenue", 1, False),
    Cell("users", "impressions", 1, True),
    Cell("users", "clicks", 1, True),
    Cell("users", "bid", 1, False),
    Cell("bid", "revenue", 1, True),
    Cell("bid", "impressions", 1, False),
    Cell("bid", "clicks", -1, False),
    Cell("clicks", "revenue", 1, True),
    Cell("clicks", "impressions", 1, True),
    Cell("impressions", "revenue", 1, True),
)


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of some terms, an entry each."""

    frequency: Column
    users: Column
    impressions: Column
    clicks: Column  # 0 where they are not known
    bid: Column
    has_clicks: NDArray[np.bool_]

    def n_failing(self) -> int:
        """Count the cells of Table 3 that have another sign or significance here."""
        return sum(not self._agrees(cell) for cell in TABLE_3)

    def _agrees(self, cell: Cell) -> bool:
        first, second = self._column(cell.first), self._column(cell.second)
        if {"clicks", "revenue"} & {cell.first, cell.second}:
            first, second = first[self.has_clicks], second[self.has_clicks]
        score = cell.sign * float((direction(first) * direction(second)).sum()) * np.sqrt(len(first))
        return bool(score > _CLEARLY) if cell.is_significant else bool(_VISIBLY < score < _HARDLY)

    def _column(self, name: str) -> Column:
        column: Column = self.bid * self.clicks if name == "revenue" else getattr(self, name)
        return column


def direction(column: Column) -> Column:
    """Return the deviations from the mean as a vector of length 1, or of 0s where nothing varies."""
    centred: Column = column - column.mean()
    length = spread(column)
    return centred / length if length else np.zeros_like(column)


def spread(column: Column) -> float:
    """Return the length of the vector of the deviations from the mean."""
    return float(np.sqrt(np.square(column - column.mean()).sum()))
