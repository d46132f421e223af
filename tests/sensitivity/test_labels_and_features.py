"""Words as features, and files of labelled queries."""

from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.sensitivity.training import features, read_labels, with_inflections


def write_labels(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    return path


def test_features_are_distinct_base_forms_without_stop_words() -> None:
    assert features("The dogs and a DOG, googled") == {"dog", "google"}


def test_forms_that_are_words_by_themselves_keep_their_weight() -> None:
    table = with_inflections({"arm": 1.0, "mouse": 2.0, "carry": 3.0, "blog": 4.0})
    assert "arms" not in table  # weapons
    assert table["mice"] == 2.0
    assert (table["carries"], table["carried"], table["carrying"]) == (3.0, 3.0, 3.0)
    assert table["blogs"] == 4.0


def test_queries_with_the_same_words_are_a_group(tmp_path: Path) -> None:
    found = read_labels(write_labels(tmp_path, "query,label\nflu pill,1\npills flu,yes\nsoup,no\n"))
    assert found.group.tolist() == [0, 0, 1]
    assert found.is_sensitive.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has not the columns query and label"),
        ("query;label\na;1\n", "has not the columns query and label"),
        ("query,label\n", "has no rows"),
        ("query,label\na,1\nb,yes\n", "labels every query as sensitive"),
        ("query,label\na,0\n", "labels every query as not sensitive"),
        ("query,label\na,1\nsecret,maybe\n", "line 3: a label is 1 or 0"),
        ("query,label\na\n", "line 2: a label is 1 or 0"),
    ],
)
def test_bad_label_files(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read_labels(write_labels(tmp_path, text))
    assert "secret" not in str(caught.value)
