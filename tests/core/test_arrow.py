"""Parquet files in memory; ties are broken by a full key, which is computed for tied elements only."""

import io
import sys
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core import arrow
from queryveil.core.arrow import (
    arrow_numbers,
    arrow_texts,
    as_array,
    break_ties,
    open_parquet,
    parquet_bytes,
    row_groups,
    take_texts,
    write_parquet,
)


@given(st.lists(st.text(max_size=5)), st.sampled_from([pa.string(), pa.large_string()]))
def test_texts_are_those_of_a_list(texts: list[str], kind: pa.DataType) -> None:
    assert arrow_texts(texts, kind).equals(pa.array(texts, kind))
    assert arrow_texts(tuple(texts)).type == pa.string()


@given(st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=4))
def test_an_array_has_the_values_of_all_chunks(chunks: list[list[int]]) -> None:
    column = pa.chunked_array(chunks, pa.int64())
    assert as_array(column).tolist() == column.to_pylist()


@pytest.mark.parametrize("n_rows", range(8))
def test_a_file_of_row_groups_has_the_bytes_of_one_that_is_written_at_once(n_rows: int) -> None:
    with patch.object(arrow, "_GROUP_ROWS", 3), patch.object(arrow, "_TAKEN_AT_ONCE", 2):
        parts = list(row_groups(n_rows))
        texts = take_texts(pa.array(["b", "a"]), np.arange(n_rows) % 2)
    assert texts.to_pylist() == ["ba"[i % 2] for i in range(n_rows)]
    table = pa.table({"term": texts, "count": np.arange(n_rows)}).combine_chunks()
    written, at_once = io.BytesIO(), io.BytesIO()
    write_parquet(written, (table[rows] for rows in parts))
    usual = {"use_dictionary": ["term"], "dictionary_pagesize_limit": arrow._DICTIONARY_BYTES}
    pq.write_table(table, at_once, row_group_size=3, compression="zstd", **usual)
    assert written.getvalue() == at_once.getvalue()


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans())), st.sampled_from(["int32", "int64", "float64"]))
def test_numbers_are_those_of_an_array(elements: list[tuple[int, bool]], dtype: str) -> None:
    values, is_null = np.array([n for n, _ in elements], dtype), np.array([null for _, null in elements], np.bool_)
    for each, mask in ((values, is_null), (values[::2], None)):  # every other number is not contiguous
        found = arrow_numbers(each, mask)
        found.validate(full=True)
        assert found.equals(pa.array(each, mask=mask))


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab", max_size=3)), max_size=20))
def test_ties_are_broken_by_text_and_equal_texts_keep_their_order(elements: list[tuple[int, str]]) -> None:
    keys = np.array([key for key, _ in elements], np.int64)
    texts = pa.array([text for _, text in elements], pa.string())
    order = np.argsort(keys, kind="stable")
    break_ties(order, keys[order[1:]] == keys[order[:-1]], lambda tied: texts.take(pa.array(tied)))
    assert order.tolist() == sorted(range(len(elements)), key=lambda i: elements[i])


def test_texts_are_only_compared_where_keys_are_equal() -> None:
    asked: list[list[int]] = []

    def texts(tied: np.ndarray) -> pa.Array:
        asked.append(tied.tolist())
        return pa.array([str(9 - element) for element in tied])

    order = np.arange(5)
    break_ties(order, np.array([False, True, False, False]), texts)
    assert (order.tolist(), asked) == ([0, 2, 1, 3, 4], [[1, 2]])


def test_an_open_parquet_file_does_not_hold_memory_of_python() -> None:
    """Otherwise a thread of Arrow that lets go of it last may abort a process that is ending."""
    table = pa.table({"term": ["a", "b"]})
    data = parquet_bytes(table)
    before = sys.getrefcount(data)
    file = open_parquet(data)
    assert sys.getrefcount(data) == before
    assert file.read().equals(table)
