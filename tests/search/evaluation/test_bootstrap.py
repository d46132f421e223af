"""Intervals by resampling people."""

import numpy as np
import pytest

from queryveil.search.evaluation.bootstrap import resample

PERSON = np.repeat(np.arange(200), 5)


def figures(seed: int, mean: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return mean + np.repeat(rng.normal(0, 0.1, 200), 5) + rng.normal(0, 0.01, 1000)


def test_the_interval_is_that_of_people_not_of_queries() -> None:
    values = figures(1, 0.5)
    low, high = resample(PERSON, np.random.default_rng(2)).mean(values)[1:]
    standard_error = values.reshape(200, 5).mean(axis=1).std(ddof=1) / np.sqrt(200)
    assert (high - low) / 2 == pytest.approx(1.96 * standard_error, rel=0.1)
    assert low < values.mean() < high


def test_what_two_figures_have_in_common_cancels() -> None:
    resamples = resample(PERSON, np.random.default_rng(2))
    ours = figures(1, 0.5)
    noise = np.random.default_rng(3).normal(0, 0.001, 1000)
    value, low, high = resamples.difference(ours + 0.01 + noise, ours)
    assert low > 0.0095 and high < 0.0105 and value == pytest.approx(0.01, abs=1e-4)
    ratio = resamples.ratio(2 * ours, ours)
    assert ratio is not None and ratio == pytest.approx((2, 2, 2))


def test_people_with_more_queries_count_more() -> None:
    estimate = resample(np.array([4, 4, 4, 9]), np.random.default_rng(0)).mean(np.array([0.0, 0.0, 0.0, 1.0]))
    assert estimate == pytest.approx((0.25, 0.0, 1.0))  # numbers of people need not be in a row


def test_no_ratio_to_what_may_be_nothing() -> None:
    resamples = resample(np.array([0, 1]), np.random.default_rng(0))
    assert resamples.ratio(np.ones(2), np.array([0.0, 1.0])) is None


def test_the_same_generator_gives_the_same_intervals() -> None:
    one, other = (resample(PERSON, np.random.default_rng(7)).mean(figures(1, 0.5)) for _ in range(2))
    assert one == other
