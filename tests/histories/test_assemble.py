"""Profiles from pairs: the reference order, empty histories, partitions."""

import numpy as np
import pyarrow as pa

import queryveil
from queryveil.histories.build import assemble, partition_profiles
from tests.histories.test_build import table
from tests.histories.twin import Row

WORDS = pa.array(["apple", "apple pie", "applejack", "fig"], pa.large_string())


def test_entries_are_numbered_by_people_and_then_by_text() -> None:
    history, term = np.array([0, 0, 1, 2, 2, 3], np.int32), np.array([2, 3, 3, 1, 0, 3], np.int32)
    owner = np.array([0, 0, 1, 1], np.int32)  # "fig" has three histories of two people
    profiles = assemble(history, term, WORDS, owner, ("x", "y"))
    assert profiles.vocabulary == ("fig", "apple", "apple pie", "applejack")
    assert profiles.holder_counts().tolist() == [2, 1, 1, 1]
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
