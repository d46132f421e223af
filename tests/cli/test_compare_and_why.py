"""`queryveil compare` and `queryveil why` as a person or a script runs them."""

import json
from pathlib import Path

import pytest

from queryveil.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, a release of it and its private folder."""
    place = tmp_path_factory.mktemp("compare")
    assert run(["generate", str(place / "log.tsv"), "--users", "250", "--seed", "3"]) == 0
    arguments = ["--method", "km(k=3, m=2)", "--out", str(place / "release"), "--private", str(place / "private")]
    assert run(["anonymize", str(place / "log.tsv"), *arguments, "--seed", "1"]) == 0
    return place


def compare(folder: Path, *arguments: str, method: str = "km(k=2|4, m=2|3)") -> list[str]:
    return ["compare", str(folder / "log.tsv"), "--method", method, "--measure", "retention", *arguments]


def one_sentence(capsys: pytest.CaptureFixture[str], says: str) -> None:
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("queryveil: ")
    assert shown.err.count("\n") == 1
    assert says in shown.err


def test_a_table_on_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*compare(folder), "--method", "km(k=9999, m=1)"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split() == ["method", "distinct", "terms", "log", "size", "users", "pairs", "time"]
    names = ["original log", *(f"km(k={k}, m={m})" for k in (2, 4) for m in (2, 3)), "km(k=9999, m=1)"]
    assert [line.partition("  ")[0] for line in lines[1:]] == names
    assert lines[3].endswith("started from m=2")
    assert "k = 9,999 is larger than the number of people in the log" in lines[6]
    assert shown.err.startswith("done in")


def test_everything_as_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(compare(folder, "--json", "--out", str(page))) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["page"] == str(page)
    assert page.read_text().count("<svg") == 2  # what is kept as k grows, for each m
    first, second = made["runs"][:2]
    assert first["parameters"] == {"k": 2, "m": 2, "target": "logsize", "algorithm": first["parameters"]["algorithm"]}
    assert first["verdict"]["state"] == "holds"
    assert {score["label"] for score in first["scores"]} == {"distinct terms", "log size", "users", "pairs"}
    assert (first["started_from"], second["started_from"]) == (None, "km(k=2, m=2)")
    assert made["log"]["people"] == 250
    assert run(compare(folder, "--json", "--no-reuse")) == 0
    assert {one["started_from"] for one in json.loads(capsys.readouterr().out)["runs"]} == {None}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--method", "km(k=2|3, m=9)"], "m must be a whole number from 1 to 4, not 9"),
        (["--method", "kn(k=2)"], "there is no method 'kn'; did you mean km?"),
        (["--measure", "retntion"], "there is no measure 'retntion'; did you mean retention"),
        (["--method", "km(k=2, m=2, target=file)"], "target=file needs"),
        (["--out", "none/page.html"], "there is no folder none"),
        (["--out", "."], "is a folder; give the name of a file"),
        (["--market", "none.csv"], "none.csv cannot be read"),
    ],
)
def test_bad_input_gets_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    before = sorted(folder.iterdir())
    assert run([*compare(folder, method="km(k=2, m=2)"), *arguments]) == 2
    one_sentence(capsys, says)
    assert sorted(folder.iterdir()) == before


def test_no_run_at_all_exits_with_2(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(compare(folder, "--out", str(tmp_path / "page.html"), method="km(k=800|900, m=1)")) == 2
    one_sentence(capsys, "none of the 2 runs can be made; km(k=800, m=1): k = 800 is larger than")
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_not_overwritten_unasked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert run(compare(folder, "--out", str(page), method="km(k=2, m=1)")) == 2
    one_sentence(capsys, "exists already")
    assert page.read_text() == "mine"
    assert run(compare(folder, "--out", str(page), "--force", method="km(k=2, m=1)")) == 0
    assert f"page: {page}" in capsys.readouterr().out
    assert page.read_text() != "mine"


def test_an_interrupt_leaves_no_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("queryveil.workflows.compare.run_method", interrupted)
    assert run(compare(folder, "--out", str(tmp_path / "page.html"))) == 130
    one_sentence(capsys, "interrupted.")
    assert list(tmp_path.iterdir()) == []


def person_of(folder: Path) -> str:
    return (folder / "log.tsv").read_text().splitlines()[1].split("\t")[0]


def test_why_explains_and_warns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    why = ["why", str(folder / "release"), "--private", str(folder / "private"), "--user", person_of(folder)]
    assert run(why) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("For the owner of the log only: this shows what a person searched for.")
    assert shown.out.splitlines()[0].split() == ["term", "queries"]
    assert run([*why, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["guarantee"] == "km(k=3, m=2)"
    removed = [fate for fate in found["terms"] if not fate["kept"]]
    assert removed
    assert all(fate["people"] is None or fate["people"] < 3 for fate in removed)
    term, history = removed[0]["term"], str(removed[0]["history"])
    assert run([*why, "--term", term, "--history", history, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["terms"] == [removed[0]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--user", "nobody at all"], "the private folder knows nobody by that name"),
        (["--user", "1", "--history", "x"], "it must be a whole number of at least 0, not 'x'"),
        ([], "Missing option '--user'"),
    ],
)
def test_why_says_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(["why", str(folder / "release"), "--private", str(folder / "private"), *arguments]) == 2
    one_sentence(capsys, says)


def test_why_needs_the_private_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", str(folder / "release"), "--user", "1"]) == 2
    one_sentence(capsys, "Missing option '--private'")
    assert run(["why", str(folder / "release"), "--private", str(folder), "--user", "1"]) == 2
    one_sentence(capsys, "is not a private folder")
