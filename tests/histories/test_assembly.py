"""Profiles from pairs: the reference order, ties, partitions."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil
from queryveil.histories.assembly import assemble, break_ties, partition_profiles
from tests.histories.test_build import table
from tests.histories.twin import Row

WORDS = pa.array(["apple", "apple pie", "applejack", "fig"], pa.large_string())


@settings(deadline=None)
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


def test_entries_are_numbered_by_people_and_then_by_text() -> None:
    history, term = np.array([0, 0, 1, 2, 2, 3], np.int32), np.array([2, 3, 3, 1, 0, 3], np.int32)
    owner = np.array([0, 0, 1, 1], np.int32)  # "fig" has three histories of two people
    profiles = assemble(history, term, WORDS, owner, ("x", "y"))
    assert profiles.vocabulary.entries == ("fig", "apple", "apple pie", "applejack")
    assert profiles.holders().tolist() == [2, 1, 1, 1]
    assert [profiles.ids.tolist(), profiles.indptr.tolist()] == [[0, 3, 0, 1, 2, 0], [0, 2, 3, 5, 6]]


def test_histories_of_a_person_become_adjacent_and_empty_ones_are_left_out() -> None:
    history, term = np.array([0, 2, 3], np.int32), np.array([0, 1, 2], np.int32)
    profiles = assemble(history, term, WORDS, np.array([1, 0, 0, 1], np.int32), ("x", "y"))
    assert profiles.log_history.tolist() == [2, 0, 3]
    assert [profiles.persons[person] for person in profiles.owner] == ["x", "y", "y"]


def test_a_partition_has_the_profiles_of_its_own_rows() -> None:
    rows = [
        Row("a", "x y", None, "de"),
        Row("a", "z x", None, "us"),
        Row("b", "y", None, "us"),
        Row("c", "q", None, "us"),
    ]
    whole = queryveil.profiles(table(rows), partition_by="country")
    assert whole.partition_values == ("de", "us")
    for number, part in enumerate(whole.partition_values):
        selected, position = partition_profiles(whole, number)
        alone = queryveil.profiles(table([row for row in rows if row.part == part]))
        assert selected.vocabulary == alone.vocabulary
        assert [selected.ids.tolist(), selected.indptr.tolist()] == [alone.ids.tolist(), alone.indptr.tolist()]
        assert [whole.vocabulary[i] for i in whole.ids[position]] == [selected.vocabulary[i] for i in selected.ids]
        assert selected.counts.tolist() == whole.counts[position].tolist()
