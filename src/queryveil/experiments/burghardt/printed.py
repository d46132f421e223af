"""The figures that the paper prints, from printed.toml."""

from typing import Any

from queryveil.experiments.paper import read_printed
from queryveil.measures.utility.market import FREQUENCY, USERS

CITATION = "Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010"
KS = (2, 10, 20, 40, 100)
MS = (2, 3)
GENERIC = ("distinct terms", "users", "log size")
SPECIFIC = ("bid", "clicks", "impressions", "revenue")
ROWS_3 = (FREQUENCY, USERS, "bid", "clicks", "impressions")
COLUMNS_3 = ("revenue", "impressions", "clicks", "bid", USERS)
COLUMNS_5 = ("distinct terms", "log size", "users", *SPECIFIC)
DIFFERENCES = ("R", "W", "fis")

Differences = tuple[float, float, float]

_PRINTED = read_printed(__file__)
LOG: dict[str, int] = _PRINTED["log"]
CLAIMS: dict[str, tuple[str, str]] = _PRINTED["claims"]
NOT_IN_WORDNET = 85  # % of the distinct terms, section 2.3
# combination → people who have it
TABLE_1: dict[tuple[str, ...], int] = {tuple(words.split(" & ")): people for words, people in _PRINTED["table_1"]}
# criterion → the term that is highest in it: its frequency, users, bid, impressions, clicks, revenue
TABLE_2: dict[str, tuple[str, tuple[float, ...]]] = {
    criterion: (term, tuple(figures)) for criterion, term, *figures in _PRINTED["table_2"]
}
# (row, column) → correlation, one-tailed significance, number of terms
TABLE_3: dict[tuple[str, str], tuple[float, float, int]] = {
    (row, column): (correlation, significance, n) for row, column, correlation, significance, n in _PRINTED["table_3"]
}
EXAMPLE_10: list[list[str]] = _PRINTED["example_10"]
TABLE_4: tuple[tuple[int, str, int, int, str], ...] = tuple(map(tuple, _PRINTED["table_4"]))


def _by_cell(table: str) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Return the figures of a table by m and k."""
    return {(m, k): tuple(figures) for m, k, *figures in _PRINTED[table]}


TABLE_5: dict[tuple[int, int], tuple[float, ...]] = _by_cell("table_5")
TABLE_6: dict[tuple[int, int], tuple[Differences, ...]] = _by_cell("table_6")
TABLE_7: dict[tuple[int, int], tuple[Differences, ...]] = _by_cell("table_7")

# Section 5.2, seconds: the first pass over the log, except for (2,3) from (2,2), which is a complete run
FIRST_PASS = {(2, 2): 10_558, (5, 2): 461, (2, 3): 324_504, (5, 3): 2925}
FROM_2_2 = 23_722
PASSES = {2: 6.7, 3: 4.8}  # m → passes on average
SECONDS_PER_PASS = {2: 240, 3: 780}  # likewise
