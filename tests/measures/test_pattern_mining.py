import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.measures.utility.patterns import closed_patterns
from tests.twins import patterns as twin

Rows = list[set[int]]


def mine(rows: Rows, n: int) -> list[tuple[int, tuple[int, ...]]]:
    ids = np.array([entry for row in rows for entry in sorted(row)], np.int32)
    indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(row) for row in rows], dtype=np.int64)))
    found = closed_patterns(indptr, ids, int(ids.max(initial=-1)) + 1, n)
    return [(int(s), tuple(p.tolist())) for s, p in zip(found.supports, found, strict=True)]


@settings(max_examples=150)
@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=14), st.integers(1, 60))
def test_patterns_equal_those_of_all_intersections(rows: Rows, n: int) -> None:
    assert mine(rows, n) == twin.closed_patterns(rows, n)


@pytest.mark.parametrize("n", [1, 10, 300])
@pytest.mark.parametrize("width", [70, 200])
def test_patterns_of_more_than_64_rows_and_entries(n: int, width: int) -> None:
    rng = np.random.default_rng(width)
    chance = 0.3 / (1 + np.arange(width) / 20)
    rows = [set(np.flatnonzero(rng.random(width) < chance).tolist()) for _ in range(150)]
    singles = {entry for row in rows for entry in row}
    found = mine(rows, n)
    supports = [sum(set(entries) <= row for row in rows) for _, entries in found]
    assert supports == [support for support, _ in found] == sorted(supports, reverse=True)
    for _, entries in found:
        holders = [row for row in rows if set(entries) <= row]
        assert set.intersection(*holders) == set(entries)
    assert found == twin.closed_patterns(rows, n) if width == 70 and n == 1 else len(set(found)) == n
    assert {e for _, entries in found for e in entries} <= singles


def test_entries_of_all_rows_are_the_first_pattern() -> None:
    assert mine([{0, 1, 2}, {0, 1, 3}], 5) == [(2, (0, 1)), (1, (0, 1, 2)), (1, (0, 1, 3))]


def test_rows_without_entries_have_no_patterns() -> None:
    assert mine([set(), set()], 5) == []
