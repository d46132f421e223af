"""`java` on the bundled corpus: what comes first depends on the group that asks, and on nobody in person."""

import json
from pathlib import Path

import pytest

import queryveil
from queryveil.cli import run
from tests.search.people import write_people

ISLAND, LANGUAGE, COFFEE = "n08908248", "n06901053", "n07929519"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("java")
    write_people(place / "profiles.csv")
    queryveil.anonymize(
        place / "profiles.csv", "linkability(p=0.4, a=1)", place / "groups", private=place / "groups-private", seed=1
    )
    queryveil.index("wordnet", place / "index")
    return place


def groups_of(folder: Path, term: str) -> list[int]:
    """Return the groups whose heaviest terms hold a word."""
    rows = queryveil.load(folder / "groups").to_pandas()
    heavy = rows.sort_values("weight", ascending=False).groupby("group").head(6)
    return sorted(heavy[heavy.term == term].group.unique().tolist())


def test_groups_get_the_meaning_of_theirs(folder: Path) -> None:
    searcher = queryveil.Searcher(folder / "index", folder / "groups")
    assert searcher.search("java").hits[0].id == ISLAND
    for term, document in (("coffee", COFFEE), ("programming", LANGUAGE)):
        groups = groups_of(folder, term)
        assert groups
        assert {searcher.search("java", group).hits[0].id for group in groups} == {document}
    travellers = groups_of(folder, "island")
    assert travellers
    for group in travellers:
        assert searcher.search("java", group, blend=0.5).hits[0].id == ISLAND
        assert ISLAND in [hit.id for hit in searcher.search("java", group).hits[:3]]


def test_the_command_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [group, *_] = groups_of(folder, "coffee")
    words = ["search", str(folder / "index"), "java", "--as-group", str(group), "--groups", str(folder / "groups")]
    assert run([*words, "--json", "--explain"]) == 0
    [first, *_] = json.loads(capsys.readouterr().out)["hits"]
    assert (first["id"], first["rank"]) == (COFFEE, 1)
    assert first["engine_rank"] > 1
    assert first["terms"][0][0] == "coffee"
    assert sum(added for _, added in first["terms"]) <= first["score"] + 1e-6
    own = ["search", str(folder / "index"), "java", "--as-user", "programs-3", "--profiles", str(folder / "profiles.csv")]
    assert run(own) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["was", "score", "id", "title", "text"]
    assert lines[1].split()[:2] == ["1", "2"]
    assert LANGUAGE in lines[1]
