"""The interface between the rules of linkability and the data: how often a rule is broken, and the worst case."""

from abc import ABC, abstractmethod
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


class GroupFinder(ABC):
    """Finds what breaks the rules of linkability in released groups; among equals the first in release order."""

    n_rows: int  # published terms of all groups

    def impossible_groups(self) -> Iterator[Fault]:
        """Yield faults that only some representations of groups can have."""
        yield from ()

    @abstractmethod
    def repeated_terms(self) -> Finding:
        """Find rows with the same term as the row before."""

    @abstractmethod
    def unordered_terms(self) -> Finding:
        """Find rows whose term sorts before that of the row before."""

    @abstractmethod
    def wrong_weights(self) -> Finding:
        """Find rows whose weight is not a finite number above 0."""

    @abstractmethod
    def small_groups(self, least: int) -> Finding:
        """Find groups with fewer members than `least`; the worst is the smallest."""

    @abstractmethod
    def rare_terms(self) -> Finding:
        """Find published terms that fewer people of the whole log hold than the floor; the worst is the rarest."""

    @abstractmethod
    def invented_terms(self) -> Finding:
        """Find published terms of groups that no member holds."""

    @abstractmethod
    def mean_profile_size(self) -> Fraction:
        """Return the mean number of publishable terms of everybody who holds any."""

    @abstractmethod
    def groups_with_few_terms(self, least: int) -> Finding:
        """Find groups with fewer published terms than `least`; the worst has the fewest."""

    @abstractmethod
    def groups_above_mean(self, p: Fraction) -> Finding:
        """Find groups where, averaged over the terms, more than a share of p of the members hold a term."""

    @abstractmethod
    def terms_above_share(self, p: Fraction, *, has_prior: bool) -> Finding:
        """Find terms that more than a share of p of the members hold; with a prior, beyond the share of all people."""

    @abstractmethod
    def groups_below_entropy(self, least: float) -> Finding:
        """Find groups whose terms, weighted by their holders, have an entropy below `least`."""

    @abstractmethod
    def groups_above_distance(self, most: Fraction) -> Finding:
        """Find groups whose total variation distance to the terms of all people is above `most`.

        Total variation is the sum of what the group has too much of, so terms that are not published for it add 0.
        """


def fault_of(finding: Finding, reason: str) -> Iterator[Fault]:
    """Yield a fault if there are violations; the reason is about the worst one."""
    n = finding.violations
    if n:
        yield Fault(n, reason + (f" (and {n - 1:,} more such)" if n > 1 else ""))


def exact(value: float) -> Fraction:
    """Return the fraction that a decimal number stands for: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    simple = Fraction(str(value)).limit_denominator(1_000_000)
    return simple if float(simple) == value else Fraction(str(value))
