"""The slow twin of the miner of closed patterns: every intersection of rows, put in order."""

from collections.abc import Sequence


def closed_patterns(rows: Sequence[set[int]], n: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return (support, entries) of the n most frequent closed patterns: intersections of rows that are not empty."""
    closed: set[frozenset[int]] = set()
    for row in rows:
        closed |= {frozenset(row)} | {pattern & row for pattern in closed}
    patterns = [(sum(pattern <= row for row in rows), tuple(sorted(pattern))) for pattern in closed if pattern]
    entries = sorted({entry for row in rows for entry in row})
    rank = {e: (-sum(e in row for row in rows), e) for e in entries}
    return sorted(patterns, key=lambda found: (-found[0], len(found[1]), sorted(rank[e] for e in found[1])))[:n]
