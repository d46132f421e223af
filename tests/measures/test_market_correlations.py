"""Correlations over terms, against textbook formulas."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import betainc

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.kinds.base import kind_of
from queryveil.market import make_market
from queryveil.measures import CORRELATIONS
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import (
    VARIABLES,
    correlations,
    figures_of_terms,
    known_to_market,
    measure_correlations,
    significance,
)
from tests.builders import profiles_of

NAN = float("nan")


def slow_pearson(x: list[float], y: list[float]) -> float:
    """Return the correlation by its definition, one number after the other."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if not math.isnan(a) and not math.isnan(b)]
    n = len(pairs)
    mean_x, mean_y = (sum(column) / n for column in zip(*pairs, strict=True))
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in pairs)
    spread = sum((a - mean_x) ** 2 for a, _ in pairs) * sum((b - mean_y) ** 2 for _, b in pairs)
    return float(covariance / math.sqrt(spread))


def slow_significance(r: float, n: int) -> float:
    """Integrate the density of r over n unrelated pairs, (1 − r²)^((n − 4)/2), by Simpson's rule."""

    def area(low: float, high: float, steps: int = 20_000) -> float:
        x = np.linspace(low, high, steps + 1)
        y = (1 - x**2) ** ((n - 4) / 2)
        return float((y[0] + y[-1] + 4 * y[1::2].sum() + 2 * y[2:-1:2].sum()) * (high - low) / steps / 3)

    return area(abs(r), 1.0) / area(-1.0, 1.0)


def test_pairwise_complete_and_as_defined() -> None:
    rng = np.random.default_rng(5)
    columns = {name: rng.lognormal(size=40) for name in "abc"}
    columns["b"][:10] = NAN
    columns["c"][5:20] = NAN
    found = correlations(columns)
    assert [(each.first, each.second, each.n) for each in found] == [("a", "b", 30), ("a", "c", 25), ("b", "c", 20)]
    for each in found:
        assert each.value == pytest.approx(slow_pearson(columns[each.first].tolist(), columns[each.second].tolist()))


@pytest.mark.parametrize("n", [4, 5, 12, 60, 800])
@pytest.mark.parametrize("r", [0.0, 0.03, -0.1, 0.4, -0.9])
def test_significance_is_the_tail_of_the_density(r: float, n: int) -> None:
    assert significance(r, n) == pytest.approx(slow_significance(r, n), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("n", [3, 4, 5, 12, 60, 800, 20_000])
@pytest.mark.parametrize("r", [1e-9, 0.001, 0.03, 0.4, -0.9, 0.999])
def test_significance_is_precise_for_tiny_values_too(r: float, n: int) -> None:
    assert significance(r, n) == pytest.approx(0.5 * betainc(n / 2 - 1, 0.5, 1 - r * r), rel=1e-8, abs=1e-300)


def test_significance_with_few_pairs_in_closed_form() -> None:
    assert significance(0.6, 3) == pytest.approx(0.5 - math.atan(0.6 / 0.8) / math.pi)
    assert significance(0.6, 4) == pytest.approx(0.2)
    assert [significance(r, 9) for r in (1.0, -1.0, 0.0)] == [0.0, 0.0, 0.5]


def test_a_constant_figure_has_no_correlation() -> None:
    same, two = np.full(5, 3.0), np.array([1.0, 2.0, NAN, NAN, NAN])
    found = correlations({"a": np.arange(5.0), "b": same, "c": two})
    assert [each.n for each in found] == [5, 2, 2]
    assert {(each.value, each.significance) for each in found} == {(None, None)}
    assert not any(each.is_significant for each in found)


# term frequency car 4, loan 4, wig 1, rare 1, old 1; users 3, 3, 1, 1, 1; nothing is known of old
LOG = (["car", "car", "loan"], ["car", "loan", "loan", "wig"], ["car", "rare"], ["loan", "old"])
ROWS = {"car": (2.0, 10.0, 100.0), "loan": (4.0, NAN, 50.0), "wig": (1.0, 7.0, 60.0), "rare": (3.0, 1.0, 5.0)}
TABLE = make_market("market.csv", {term: i for i, term in enumerate(ROWS)}, np.array(list(ROWS.values())))


def comparison(kind: str, *, private: bool) -> Comparison:
    released = profiles_of([["car", "car", "loan"], ["car", "loan", "wig"], ["car"], ["loan"]])
    return Comparison(kind_of(kind), profiles_of(LOG), released, np.arange(4) if private else None, TABLE)


def test_only_terms_of_the_market_table_are_correlated() -> None:
    original = profiles_of(LOG)
    figures = known_to_market(figures_of_terms(original, original.counts, original.owner, TABLE))
    assert tuple(figures) == VARIABLES
    assert sorted(figures["term frequency"].tolist()) == [1, 1, 4, 4]
    assert sorted(figures["users"].tolist()) == [1, 1, 3, 3]


def test_scores_of_original_and_release() -> None:
    scores = measure_correlations(
        Evidence(comparison("log", private=False)), resolve("measure", "correlations"), rng=np.random.default_rng(0)
    )
    assert [score.label for score in scores] == [f"{a} – {b}" for a, b in combinations(VARIABLES, 2)]
    by_label = {score.label: score for score in scores}
    bid = by_label["term frequency – bid"]
    assert bid.original == pytest.approx(slow_pearson([4, 4, 1, 1], [2, 4, 1, 3]))
    assert bid.value == pytest.approx(slow_pearson([4, 3, 1], [2, 4, 1]))
    assert (bid.units_counted, bid.unit, bid.better) == (4, "", "")
    assert bid.note == "original: over 4 terms, not significant (one-tailed p = 0.276)"
    assert by_label["clicks – revenue"].units_counted == 3


def test_figures_the_release_does_not_show_have_no_value() -> None:
    scores = measure_correlations(
        Evidence(comparison("histories", private=False)),
        resolve("measure", "correlations"),
        rng=np.random.default_rng(0),
    )
    by_label = {score.label: score.value for score in scores}
    assert by_label["term frequency – users"] is None
    assert by_label["users – bid"] is not None


def test_needs_a_market_table() -> None:
    no_market = Comparison(kind_of("log"), profiles_of(LOG), profiles_of(LOG), None)
    with pytest.raises(InputError, match="the measure correlations needs a market table"):
        measure_correlations(Evidence(no_market), resolve("measure", "correlations"), rng=np.random.default_rng(0))


def test_the_declared_function_is_this_measure() -> None:
    assert CORRELATIONS.load() is measure_correlations
