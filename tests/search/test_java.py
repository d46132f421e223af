"""The example of docs/how-to/search.md: which sense of `java` is ranked first depends on the searching group."""

import json
import re
from pathlib import Path

import pytest

import queryveil
from queryveil.cli import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "search.md"
ISLAND, LANGUAGE, COFFEE = "n08908248", "n06901053", "n07929519"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the profiles of the page, release groups of them, and index the bundled corpus."""
    path = tmp_path_factory.mktemp("java")
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    exec(code.replace('"profiles.csv"', repr(str(path / "profiles.csv"))), {})
    method = "linkability(p=0.4, a=1)"
    queryveil.anonymize(path / "profiles.csv", method, path / "groups", private=path / "groups-private", seed=1)
    queryveil.index("wordnet", path / "index")
    return path


def group_of(folder: Path, term: str) -> int:
    """Return the group in which a term weighs most."""
    rows = queryveil.load(folder / "groups").to_pandas()
    return int(rows.loc[rows[rows.term == term].weight.idxmax()].group)


def test_each_group_gets_its_sense_of_java_first(folder: Path) -> None:
    searcher = queryveil.Searcher(folder / "index", folder / "groups")
    assert searcher.groups == (0, 1, 2)
    assert searcher.search("java").hits[0].id == ISLAND
    for term, document in (("coffee", COFFEE), ("programming", LANGUAGE), ("indonesia", ISLAND)):
        assert searcher.search("java", group_of(folder, term)).hits[0].id == document


def test_the_group_numbers_on_the_page_are_right(folder: Path) -> None:
    assert (group_of(folder, "coffee"), group_of(folder, "programming")) == (1, 2)


def test_the_commands_give_the_same_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", str(folder / "index"), "java"]
    assert run([*words, "--as-group", "1", "--groups", str(folder / "groups"), "--json", "--explain"]) == 0
    [first, *_] = json.loads(capsys.readouterr().out)["hits"]
    assert (first["id"], first["rank"]) == (COFFEE, 1)
    assert first["engine_rank"] > 1
    assert first["terms"][0][0] == "coffee"
    assert sum(added for _, added in first["terms"]) <= first["score"] + 1e-6
    assert run([*words, "--as-user", "programs-3", "--profiles", str(folder / "profiles.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["was", "score", "id", "title", "text"]
    assert lines[1].split()[:2] == ["1", "2"]
    assert LANGUAGE in lines[1]
