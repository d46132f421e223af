"""What the rules of linkability are told about the data: how often a rule is broken, and the worst case.

`ArrayGroupFinder` and `SqlGroupFinder` have the same methods, each of which finds what breaks one rule; among
equally bad cases the first in release order.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from queryveil.core.results import Violation


class Fault(NamedTuple):
    """One way in which a release breaks its claim: how often, and the worst case as a sentence or a counterexample."""

    violations: int
    reason: str = ""
    counterexample: Violation | None = None


class Finding(NamedTuple):
    """How many groups, terms or rows break a rule, and the figures of the worst that the rule is about."""

    violations: int = 0
    group: int = 0
    term: str = ""
    members: int = 0
    terms: int = 0  # published for the group
    held: int = 0  # members who hold the term, or the sum of these over the terms of the group
    most: int = 0  # members who may hold the term
    value: float = 0.0  # a weight, an entropy or a distance


def fault_of(finding: Finding, reason: str) -> Iterator[Fault]:
    """Yield a fault if there are violations; the reason is about the worst one."""
    n = finding.violations
    if n:
        yield Fault(n, reason + (f" (and {n - 1:,} more such)" if n > 1 else ""))


def exact(value: float) -> Fraction:
    """Return the fraction that a decimal number stands for: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    simple = Fraction(str(value)).limit_denominator(1_000_000)
    return simple if float(simple) == value else Fraction(str(value))
