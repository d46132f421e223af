"""Rates of success with their intervals, and the risk above the control, as Anonymeter has them.

A rate is a plain mean, so that a bound on every single success is a bound on the rate; Wilson's interval stands beside
it. The risk is (attack - control) / (1 - control), never below 0.
"""

import math
from typing import Any

from numpy.typing import NDArray

from queryveil.core.results import Rate
from queryveil.measures.privacy.unique import wilson


def rate_of(successes: NDArray[Any]) -> Rate:
    """Return the mean of successes between 0 and 1."""
    total = math.fsum(successes.tolist())  # exactly rounded, so that equal ones have themselves as mean
    return Rate(total / len(successes), *wilson(total, len(successes)))


def risk_of(attack: Rate, control: Rate) -> Rate:
    """Return how much of what the control leaves the attack reaches; errors propagate to first order."""
    left = 1 - control.value
    if left <= 0:
        return Rate(0.0, 0.0, 1.0)  # the control reaches everything, so nothing can be told
    value = (attack.value - control.value) / left
    half = math.hypot(_half(attack) / left, _half(control) * (1 - attack.value) / left**2)
    return Rate(*(min(1.0, max(0.0, figure)) for figure in (value, value - half, value + half)))


def _half(rate: Rate) -> float:
    return (rate.high - rate.low) / 2
