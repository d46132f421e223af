"""What can be inferred from released histories, in plain Python: the slow, obvious twin of method and verifier."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple


class Followed(NamedTuple):
    """A sensitive term that follows from a combination: how many of its holders have the term."""

    known: tuple[str, ...]
    term: str
    having: int
    holders: int

    @property
    def share(self) -> Fraction:
        return Fraction(self.having, self.holders)


def followed(
    histories: Sequence[Iterable[str]], owners: Sequence[Hashable], sensitive: Set[str], m: int
) -> list[Followed]:
    """Return every combination of at most m terms with each sensitive term that some of its holders have besides."""
    holders: dict[tuple[str, ...], set[Hashable]] = defaultdict(set)
    having: dict[tuple[tuple[str, ...], str], set[Hashable]] = defaultdict(set)
    for history, owner in zip(histories, owners, strict=True):
        terms = sorted(set(history))
        for size in range(1, m + 1):
            for known in combinations(terms, size):
                holders[known].add(owner)
                for term in sensitive & (set(terms) - set(known)):
                    having[known, term].add(owner)
    return [Followed(known, term, len(who), len(holders[known])) for (known, term), who in having.items()]


def largest_share(
    histories: Sequence[Iterable[str]], owners: Sequence[Hashable], sensitive: Set[str], m: int
) -> Fraction:
    """Return the largest share of holders who have a sensitive term besides."""
    return max((each.share for each in followed(histories, owners, sensitive, m)), default=Fraction(0))


def supports(histories: Sequence[Iterable[str]], owners: Sequence[Hashable], m: int) -> list[int]:
    """Return how many owners hold each combination of at most m terms that occurs."""
    found: dict[tuple[str, ...], set[Hashable]] = defaultdict(set)
    for history, owner in zip(histories, owners, strict=True):
        for size in range(1, m + 1):
            for known in combinations(sorted(set(history)), size):
                found[known].add(owner)
    return [len(who) for who in found.values()]
