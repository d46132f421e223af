"""Metrics against a slow twin and by hand (tests/measures/test_search.py compares with ir-measures); the bootstrap."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.search.evaluation.metrics import (
    AP_ALL,
    AP_FIRST,
    AP_TOP,
    METRICS,
    NDCG,
    PRECISION,
    compute_metrics,
    draw_resamples,
)


def twin(relevant: list[bool], n_relevant: int) -> dict[str, float]:
    """Return the metrics of one ranking, by their definitions."""
    precision = [sum(relevant[: i + 1]) / (i + 1) for i in range(len(relevant))]
    at = [i for i, is_relevant in enumerate(relevant) if is_relevant]
    few = min(10, n_relevant)
    ideal = sum(1 / math.log2(i + 2) for i in range(few))
    return {
        AP_TOP: sum(precision[i] for i in at if i < 10) / few,
        AP_FIRST: sum(precision[i] for i in at[:10]) / few,
        AP_ALL: sum(precision[i] for i in at) / n_relevant,
        PRECISION: sum(relevant[:10]) / 10,
        NDCG: sum(1 / math.log2(i + 2) for i in at if i < 10) / ideal,
    }


def metrics_of_one(relevant: list[bool], n_relevant: int) -> dict[str, float]:
    found = compute_metrics(np.array([relevant]), np.array([n_relevant]))
    return {metric: float(values[0]) for metric, values in found.items()}


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 20))
@settings(max_examples=100)
def test_metrics_equal_the_twin(relevant: list[bool], more: int) -> None:
    n_relevant = max(1, sum(relevant) + more)  # some were not retrieved
    assert metrics_of_one(relevant, n_relevant) == pytest.approx(twin(relevant, n_relevant))


def test_the_best_and_the_worst_ranking_by_hand() -> None:
    first, last = [True] * 30 + [False] * 70, [False] * 70 + [True] * 30
    assert metrics_of_one(first, 30) == pytest.approx(dict.fromkeys(METRICS, 1.0))
    worst = metrics_of_one(last, 30)
    assert worst[AP_TOP] == worst[PRECISION] == worst[NDCG] == 0
    assert worst[AP_FIRST] == pytest.approx(sum(i / (70 + i) for i in range(1, 11)) / 10)
    assert worst[AP_ALL] == pytest.approx(sum(i / (70 + i) for i in range(1, 31)) / 30)


def test_every_ranking_is_perfect_if_all_results_are_relevant() -> None:
    """This is why 100 results are ranked of which 30 are relevant."""
    assert metrics_of_one([True] * 30, 30) == pytest.approx(dict.fromkeys(METRICS, 1.0))


PERSON = np.repeat(np.arange(200), 5)


def figures(seed: int, mean: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return mean + np.repeat(rng.normal(0, 0.1, 200), 5) + rng.normal(0, 0.01, 1000)


def test_the_bootstrap_resamples_people_not_queries() -> None:
    values = figures(1, 0.5)
    low, high = draw_resamples(PERSON, np.random.default_rng(2)).mean(values)[1:]
    standard_error = values.reshape(200, 5).mean(axis=1).std(ddof=1) / np.sqrt(200)
    assert (high - low) / 2 == pytest.approx(1.96 * standard_error, rel=0.1)
    assert low < values.mean() < high


def test_common_variance_cancels_in_differences_and_ratios() -> None:
    resamples = draw_resamples(PERSON, np.random.default_rng(2))
    ours = figures(1, 0.5)
    noise = np.random.default_rng(3).normal(0, 0.001, 1000)
    value, low, high = resamples.mean(ours + 0.01 + noise - ours)
    assert low > 0.0095 and high < 0.0105 and value == pytest.approx(0.01, abs=1e-4)
    ratio = resamples.ratio(2 * ours, ours)
    assert ratio is not None and ratio == pytest.approx((2, 2, 2))


def test_people_with_more_queries_count_more() -> None:
    estimate = draw_resamples(np.array([4, 4, 4, 9]), np.random.default_rng(0)).mean(np.array([0.0, 0.0, 0.0, 1.0]))
    assert estimate == pytest.approx((0.25, 0.0, 1.0))  # people need not be numbered consecutively


def test_a_ratio_needs_a_denominator_above_zero() -> None:
    resamples = draw_resamples(np.array([0, 1]), np.random.default_rng(0))
    assert resamples.ratio(np.ones(2), np.array([0.0, 1.0])) is None


def test_the_same_seed_gives_the_same_intervals() -> None:
    one, other = (draw_resamples(PERSON, np.random.default_rng(7)).mean(figures(1, 0.5)) for _ in range(2))
    assert one == other
