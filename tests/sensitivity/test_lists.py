from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.methods.ppp import has_name
from queryveil.sensitivity.lists import load_lists


def test_names_places_and_private_words() -> None:
    lists = load_lists()
    assert {"kowalski", "jennifer", "john", "smith", "poe"} <= lists.names
    assert not {"park", "young", "an", "mark"} & lists.names  # words too, or too short
    assert {"mark", "young"} <= lists.first_names | lists.last_names
    assert {"paris", "new york", "st louis", "china", "turkey", "myrtle beach", "nj", "kyiv"} <= lists.places
    assert "plaintiff" in lists.words


def test_ordinary_words_are_no_names() -> None:
    """Function words, inflected forms, abbreviations and brands are in the Census lists too."""
    words = "how from you them women stores printers sports jobs banks shields seen hacking edu exe bon honda"
    assert not load_lists().names & set(words.split())


def test_ordinary_words_are_no_places() -> None:
    words = "south west northwest red green white male angel bath salmon centre or in me pa"
    assert not load_lists().places & {*words.split(), "the city", "first state"}


@pytest.mark.parametrize("query", ["my house", "in home", "see you", "gay men", "irish times", "long bond"])
def test_two_ordinary_words_are_no_name(query: str) -> None:
    assert not has_name(query.split(), load_lists())


@pytest.mark.parametrize("query", ["bill gates", "mark young", "neil young", "tyra banks", "will smith"])
def test_a_frequent_first_name_before_a_last_name_is_a_name(query: str) -> None:
    assert has_name(query.split(), load_lists())


def test_a_list_of_places_is_added(tmp_path: Path) -> None:
    path = tmp_path / "places.txt"
    path.write_text("# villages\nUpper-Snodbury\n")
    assert load_lists(path).places - load_lists().places == {"upper snodbury"}


@pytest.mark.parametrize(("content", "sentence"), [(b"", "holds no place"), (b"\xff", "cannot be read as UTF-8")])
def test_a_bad_list_of_places(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "places.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load_lists(path)
    with pytest.raises(InputError, match="there is no file"):
        load_lists(tmp_path / "none")
