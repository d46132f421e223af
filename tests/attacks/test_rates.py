"""Rates, and the risk above the control."""

import numpy as np
import pytest

from queryveil.attacks.base import rate_of, risk_above
from queryveil.core.results import Rate


def test_a_rate_is_the_mean_with_wilsons_interval() -> None:
    rate = rate_of(np.array([1, 0, 0, 1]))
    assert (rate.value, str(rate)) == (0.5, "50.0 %")
    assert (rate.low, rate.high) == pytest.approx((0.1500, 0.8500), abs=1e-4)
    third = rate_of(np.full(300, 1 / 3))
    assert third.value == 1 / 3
    assert rate_of(np.zeros(5)).low == 0.0
    assert rate_of(np.ones(5)).high == 1.0


def test_the_risk_is_relative_to_what_the_control_leaves() -> None:
    # by hand: (0.75 - 0.5) / 0.5; half widths 0.1 / 0.5 and 0.1 * 0.25 / 0.25
    risk = risk_above(Rate(0.75, 0.65, 0.85), Rate(0.5, 0.4, 0.6))
    assert risk.value == 0.5
    assert (risk.low, risk.high) == pytest.approx((0.5 - np.hypot(0.2, 0.1), 0.5 + np.hypot(0.2, 0.1)))
    assert risk_above(Rate(0.2, 0.1, 0.3), Rate(0.4, 0.3, 0.5)).value == 0.0
    assert risk_above(Rate(1.0, 0.9, 1.0), Rate(1.0, 0.9, 1.0)) == Rate(0.0, 0.0, 1.0)
