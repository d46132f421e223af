"""The metrics against a slow, obvious twin, and worked by hand; against ir-measures see test_trec."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.search.evaluation.metrics import AP_ALL, AP_FIRST, AP_TOP, METRICS, NDCG, PRECISION, judge


def slow(relevant: list[bool], n_relevant: int) -> dict[str, float]:
    """Return the metrics of one ranking, by their wording."""
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


def of_one(relevant: list[bool], n_relevant: int) -> dict[str, float]:
    found = judge(np.array([relevant]), np.array([n_relevant]))
    return {metric: float(values[0]) for metric, values in found.items()}


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_as_the_twin(relevant: list[bool], more: int) -> None:
    n_relevant = max(1, sum(relevant) + more)  # some may not have been found
    assert of_one(relevant, n_relevant) == pytest.approx(slow(relevant, n_relevant))


def test_by_hand() -> None:
    first, last = [True] * 30 + [False] * 70, [False] * 70 + [True] * 30
    assert of_one(first, 30) == pytest.approx(dict.fromkeys(METRICS, 1.0))
    worst = of_one(last, 30)
    assert worst[AP_TOP] == worst[PRECISION] == worst[NDCG] == 0
    assert worst[AP_FIRST] == pytest.approx(sum(i / (70 + i) for i in range(1, 11)) / 10)
    assert worst[AP_ALL] == pytest.approx(sum(i / (70 + i) for i in range(1, 31)) / 30)


def test_where_everything_is_relevant_no_order_is_better_than_another() -> None:
    """At a depth of 30 with 30 relevant documents every ranking is perfect: why the depth is 100."""
    assert of_one([True] * 30, 30) == pytest.approx(dict.fromkeys(METRICS, 1.0))
