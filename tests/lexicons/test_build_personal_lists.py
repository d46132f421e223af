import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from queryveil.lexicons import FOLDER
from queryveil.lexicons.word_lists import places
from scripts.build_personal_lists import base_forms, ordinary_places
from scripts.listed_places import PLACES

ROOT = Path(__file__).parents[2]


def test_shipped_tables_are_what_the_script_makes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.build_personal_lists", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["listed-places.parquet", "ordinary-words.parquet"]
    for made in tmp_path.iterdir():
        shipped = FOLDER / made.name
        assert pq.read_table(shipped).equals(pq.read_table(made))
        if pq.read_metadata(shipped).created_by == pq.read_metadata(made).created_by:
            assert shipped.read_bytes() == made.read_bytes()


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("stores", "store"),
        ("boxes", "box"),
        ("spies", "spy"),
        ("hacking", "hack"),
        ("riding", "ride"),
        ("panned", "pan"),
    ],
)
def test_regular_forms_lead_to_their_base(form: str, base: str) -> None:
    assert base in base_forms(form)


def test_forms_that_only_look_regular_do_not() -> None:
    assert base_forms("bankes") == {"banke"}  # not "bank"
    assert base_forms("ross") == set()


def test_a_place_is_a_word_if_it_is_mostly_written_with_a_small_letter() -> None:
    assert {"nice", "china"} <= places().keys()
    found = ordinary_places(Counter({"nice": 2, "china": 1, "lima": 9}), Counter({"nice": 1, "china": 2}))
    assert "nice" in found
    assert not {"china", "lima"} & found  # Lima was listed by hand
    assert "lima" in PLACES
