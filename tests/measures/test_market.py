"""Market value kept and coverage of a log, worked by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import Score
from queryveil.kinds.base import kind_of
from queryveil.market import Market, make_market
from queryveil.measures import MARKET
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import Coverage, coverage, measure_market
from tests.builders import profiles_of

NAN = float("nan")
# 10 occurrences: car 4, loan 4, wig 1, rare 1
LOG = (["car", "car", "loan"], ["car", "loan", "loan", "wig"], ["car", "rare"], ["loan"])


def market_of(rows: dict[str, tuple[float, float, float]]) -> Market:
    return make_market("market.csv", {term: i for i, term in enumerate(rows)}, np.array(list(rows.values())))


MARKET_TABLE = market_of({"car": (2.0, 10.0, 100.0), "wig": (1.0, NAN, 600.0), "loan": (NAN, NAN, NAN)})


def measure(
    kind: str,
    released: Sequence[Iterable[str]],
    history_of: Sequence[int] | None = None,
    market: Market | None = MARKET_TABLE,
) -> dict[str, Score]:
    profiles = profiles_of(released)
    if kind == "histories":
        profiles = replace(profiles, counts=np.ones_like(profiles.counts))
    behind = None if history_of is None else np.array(history_of, np.int64)
    comparison = Comparison(kind_of(kind), profiles_of(LOG), profiles, behind, market)
    scores = measure_market(Evidence(comparison), resolve("measure", "market"), rng=np.random.default_rng(0))
    assert [score.label for score in scores] == ["bid", "clicks", "impressions", "revenue"]
    assert all((s.measure, s.original, s.unit, s.better) == ("market", 100.0, "%", "higher") for s in scores)
    return {score.label: score for score in scores}


def test_value_times_occurrences_in_percent() -> None:
    # original: bid 4·2 + 1·1 = 9, clicks 40, impressions 400 + 600, revenue 80; released: car twice and once, loan
    scores = measure("log", [["car", "car", "loan"], ["car"]])
    assert {label: score.value for label, score in scores.items()} == {
        "bid": pytest.approx(100 * 6 / 9),
        "clicks": 75.0,
        "impressions": 30.0,
        "revenue": 75.0,
    }
    assert [score.units_counted for score in scores.values()] == [2, 1, 2, 1]
    assert scores["clicks"].note == (
        "25.0 % of the log's terms and 40.0 % of their occurrences have clicks in the market table"
    )


def test_histories_take_their_occurrences_from_the_original() -> None:
    assert measure("histories", [["car"], ["wig"]], history_of=[0, 1])["impressions"].value == 80.0


def test_value_of_histories_is_unknown_without_the_private_folder() -> None:
    score = measure("histories", [["car"]])["bid"]
    assert score.value is None
    assert score.note.endswith("; what is kept needs --private, or a release of kind log")


def test_a_figure_that_is_always_0_has_no_share() -> None:
    scores = measure("log", [["car"]], market=market_of({"car": (1.0, 0.0, 5.0)}))
    assert scores["bid"].value == 25.0
    assert [scores[label].value for label in ("clicks", "revenue")] == [None, None]
    assert scores["clicks"].note.endswith("; all that is known of them is 0")


def test_coverage_counts_terms_and_occurrences() -> None:
    found = coverage(profiles_of(LOG), MARKET_TABLE)
    assert {name: (c.n_terms, c.terms, c.occurrences) for name, c in found.items()} == {
        "bid": (2, 50.0, 50.0),
        "clicks": (1, 25.0, 40.0),
        "impressions": (2, 50.0, 50.0),
        "revenue": (1, 25.0, 40.0),
    }


def test_a_little_coverage_does_not_look_like_none() -> None:
    sentence = Coverage(1, 0.013, 2.62).sentence("bid")
    assert sentence == "<0.1 % of the log's terms and 2.6 % of their occurrences have a bid in the market table"
    assert Coverage(0, 0.0, 0.0).sentence("clicks").startswith("0.0 % of the log's terms and 0.0 % of")


@pytest.mark.parametrize("row", [("boat", 1.0), ("car", NAN)])
def test_a_table_that_covers_no_term_is_refused(row: tuple[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        coverage(profiles_of(LOG), market_of({row[0]: (row[1], NAN, NAN)}))
    assert str(caught.value) == (
        "market.csv gives no value for any of the 4 terms of the log; check that it belongs to this log, and --charset."
    )


def test_needs_a_market_table() -> None:
    with pytest.raises(InputError, match=r"^the measure market needs a market table; .* by --market\.$"):
        measure("log", [["car"]], market=None)


def test_the_declared_function_is_this_measure() -> None:
    assert MARKET.load() is measure_market
