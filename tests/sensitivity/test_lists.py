from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.sensitivity.lists import load_lists


def test_names_places_and_private_words() -> None:
    lists = load_lists()
    assert {"kowalski", "jennifer"} <= lists.names
    assert not {"park", "young", "an", "john"} & lists.names  # words too, or too short
    assert {"john", "park"} <= lists.first_names | lists.last_names
    assert {"paris", "new york", "st louis"} <= lists.places
    assert "plaintiff" in lists.words


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
