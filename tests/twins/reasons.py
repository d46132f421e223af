"""The slow, obvious search for the smallest combination that keeps a removed term out."""

from collections.abc import Sequence
from itertools import combinations


def smallest_combination(
    released: Sequence[set[str]], owners: Sequence[int], history: set[str], person: int, term: str, k: int, m: int
) -> tuple[tuple[str, ...], int] | None:
    """Return the combination in text order and how many people would hold it, trying all of them, size by size."""
    for size in range(1, m + 1):
        found = []
        for others in combinations(sorted(history), size - 1):
            combination = {term, *others}
            holders = {owner for terms, owner in zip(released, owners, strict=True) if combination <= terms}
            people = len(holders | {person})
            if people < k:
                found.append((people, tuple(sorted(combination))))
        if found:
            people, combination_ = min(found)
            return combination_, people
    return None
