"""Row arithmetic gives what plain lists of rows give."""

import itertools
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core import rows

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=8)


def flat(lists: list[list[int]]) -> np.ndarray:
    return np.array([value for row in lists for value in row], np.int64)


def indptr(lists: list[list[int]]) -> np.ndarray:
    return rows.indptr_of([len(row) for row in lists])


@given(LISTS)
def test_boundaries_cut_the_entries_into_the_rows(lists: list[list[int]]) -> None:
    bounds, values = indptr(lists), flat(lists)
    assert [values[a:b].tolist() for a, b in itertools.pairwise(bounds)] == lists
    assert rows.indptr_of_sorted(rows.row_numbers(bounds), len(lists)).tolist() == bounds.tolist()


@given(LISTS)
def test_every_entry_knows_its_row(lists: list[list[int]]) -> None:
    expected = [number for number, row in enumerate(lists) for _ in row]
    assert rows.row_numbers(indptr(lists)).tolist() == expected


@given(LISTS, st.data())
def test_gathered_rows_are_the_chosen_rows_cut_to_the_limit(lists: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=10)) if lists else []
    most = data.draw(st.none() | st.integers(0, 3))
    bounds, positions = rows.gather_rows(indptr(lists), np.array(chosen, np.int64), most)
    gathered = flat(lists)[positions]
    assert [gathered[a:b].tolist() for a, b in itertools.pairwise(bounds)] == [lists[row][:most] for row in chosen]


@given(LISTS)
def test_selected_entries_keep_their_rows(lists: list[list[int]]) -> None:
    values = flat(lists)
    bounds = rows.select_entries(indptr(lists), values % 2 == 0)
    kept = values[values % 2 == 0]
    assert [kept[a:b].tolist() for a, b in itertools.pairwise(bounds)] == [
        [value for value in row if value % 2 == 0] for row in lists
    ]


@given(LISTS, st.integers(1, 9))
def test_entries_are_ordered_within_their_rows_however_many_are_sorted_at_once(lists: list[list[int]], n: int) -> None:
    bounds, keys = indptr(lists), flat(lists)
    with patch.object(rows, "_SORTED_AT_ONCE", n):
        order = rows.order_within_rows(bounds, keys)
    assert order.tolist() == np.lexsort((keys, rows.row_numbers(bounds))).tolist()


@given(LISTS)
def test_sums_of_rows(lists: list[list[int]]) -> None:
    assert rows.row_sums(flat(lists).astype(np.int32), indptr(lists)).tolist() == [sum(row) for row in lists]
    assert rows.row_sums(flat(lists) / 2, indptr(lists)).tolist() == [sum(row) / 2 for row in lists]


@given(LISTS)
def test_an_owner_counts_once_for_each_item(lists: list[list[int]]) -> None:
    owner = rows.row_numbers(indptr(lists)) // 2  # two rows per owner
    holders = [{row // 2 for row, items in enumerate(lists) if item in items} for item in range(10)]
    assert rows.count_holders(owner, flat(lists), 10).tolist() == [len(owners) for owners in holders]


@given(st.lists(st.integers(0, 3)).map(sorted))
def test_runs_of_sorted_values_are_the_distinct_values(values: list[int]) -> None:
    assert rows.count_runs(np.array(values)) == len(set(values))
