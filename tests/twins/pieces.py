"""What filling pieces gives, and what pieces of histories must satisfy, the slow and obvious way."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Combination = frozenset[int]


def frequent_combinations(pieces: Sequence[tuple[int, set[int]]], k: int, m: int) -> set[Combination]:
    """Return the combinations of at most m terms that pieces, given by owner and terms, of k owners hold."""
    owners: dict[Combination, set[int]] = {}
    for owner, terms in pieces:
        for size in range(1, m + 1):
            for combination in combinations(sorted(terms), size):
                owners.setdefault(frozenset(combination), set()).add(owner)
    return {combination for combination, people in owners.items() if len(people) >= k}


def is_anonymous(pieces: Sequence[tuple[int, set[int]]], k: int, m: int) -> bool:
    """Return whether every combination of at most m terms of a piece is in pieces of k owners."""
    frequent = frequent_combinations(pieces, k, m)
    return all(
        frozenset(combination) in frequent
        for _, terms in pieces
        for size in range(1, m + 1)
        for combination in combinations(sorted(terms), size)
    )


def fill(pieces: list[set[int]], free: set[int], frequent: set[Combination], m: int) -> list[set[int]]:
    """Return the pieces of a history after free terms joined them, and formed new ones, in the kernel's order."""

    def fits(term: int, piece: set[int]) -> bool:
        return all(
            frozenset((term, *others)) in frequent
            for size in range(1, min(m - 1, len(piece)) + 1)
            for others in combinations(sorted(piece), size)
        )

    def is_pair(one: int, other: int) -> bool:
        return frozenset((one, other)) in frequent

    def extend(piece: set[int]) -> None:
        candidates = {term for term in free if all(is_pair(term, member) for member in piece)}
        while candidates:
            term = max(sorted(candidates), key=lambda one: sum(is_pair(one, other) for other in candidates - {one}))
            candidates.discard(term)
            if fits(term, piece):
                piece.add(term)
                free.discard(term)
                candidates = {other for other in candidates if is_pair(term, other)}

    pieces = [set(piece) for piece in pieces]
    for number in sorted(range(len(pieces)), key=lambda i: -len(pieces[i])):
        extend(pieces[number])
    while True:
        piece: set[int] = set()
        extend(piece)
        if len(piece) < 2:
            free |= piece
            return pieces
        pieces.append(piece)


def regroup(
    histories: list[list[int]], known: set[Combination], order: list[int], value: list[float]
) -> tuple[list[list[int]], Counter[Combination]]:
    """Return the piece of every term after each moved once, in the kernel's order, and who has each known pair."""
    grouped = [list(range(len(terms))) for terms in histories]
    having: Counter[Combination] = Counter()
    for terms, piece in ((histories[h], grouped[h]) for h in order):
        for j, own in enumerate(piece):
            pairs = {i: frozenset((terms[i], terms[j])) for i in range(len(terms)) if i != j}
            gain = dict.fromkeys((own, *(piece[i] for i in pairs)), 0.0)
            for i, pair in pairs.items():
                people = having[pair] + (piece[i] != own)
                gain[piece[i]] += value[min(people, len(value) - 1)] if pair in known else value[0]
            best = max(sorted(gain), key=lambda number: (gain[number], number == own))
            if gain[best] < 0:
                best = min(set(range(len(terms))) - {piece[i] for i in pairs})
            for i, pair in pairs.items():
                having[pair] += ((piece[i] == best) - (piece[i] == own)) * (pair in known)
            piece[j] = best
    return grouped, having
