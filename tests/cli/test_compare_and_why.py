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
    assert [line.partition("  ")[0] for line in lines[1:-1]] == names
    assert lines[-1].startswith("percentages are of 250 people, 250 histories, ")
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
    algorithm = first["parameters"]["algorithm"]
    assert first["parameters"] == {"k": 2, "m": 2, "target": "logsize", "algorithm": algorithm, "split": "none"}
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
        (["--method", ""], "'' is not a name; write it like km(k=10, m=2)"),
        (["--method", "km(k=2|, m=2)"], "'' is not a value; give a number, true, false or a word"),
        (["--method", "km(k=2, m=2, targt=users)"], "km has no parameter 'targt'; did you mean target?"),
        (["--method", "km(k=2, m=2, target=clicks|logsiz)"], "not logsiz; did you mean logsize?"),
        (["--method", "km(k=2, m=2, target=clicks)"], "target=clicks needs a market table"),
        (["--method", f"km(k={'|'.join(map(str, range(2, 1100)))}, m=2)"], "a sweep of 1,098 runs is too large"),
        (["--measure", "market"], "the measure market needs a market table"),
        (["--seed", "x"], "it must be a whole number of at least 0, not 'x'"),
        (["--measure", "retntion"], "there is no measure 'retntion'; did you mean retention"),
        (["--method", "km(k=2, m=2, target=file)"], "target=file needs"),
        (["--out", "none/page.html"], "there is no folder none"),
        (["--out", "."], "is a folder; give the name of a file"),
        (["--market", "none.csv"], "none.csv cannot be read"),
    ],
)
def test_bad_input_is_reported_in_one_sentence(
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


def test_a_page_is_not_overwritten_without_force(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(compare(folder, "--out", str(page), method="km(k=2, m=1)")) == 0
    first = page.read_text()
    capsys.readouterr()
    assert run(compare(folder, "--out", str(page), method="km(k=3, m=1)")) == 2
    one_sentence(capsys, "exists already")
    assert page.read_text() == first
    assert run(compare(folder, "--out", str(page), "--force", method="km(k=3, m=1)")) == 0
    assert f"page: {page}" in capsys.readouterr().out
    assert page.read_text() != first


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("log.tsv", "log.tsv is not a page of a comparison, so --force does not replace it"),
        ("release/report.html", "would lie inside the release"),
    ],
)
def test_force_replaces_nothing_but_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    before = (folder / name).read_bytes()
    assert run(compare(folder, "--out", str(folder / name), "--force", method="km(k=2, m=1)")) == 2
    one_sentence(capsys, reason)
    assert (folder / name).read_bytes() == before


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
        (["--user", "PERSON", "--history", "9999"], "not a history of this person, whose only history is "),
        (["--user", "PERSON", "--term", "neversearched"], "--term 'neversearched' is in none of these histories"),
        ([], "Missing option '--user'"),
    ],
)
def test_why_reports_bad_input_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    person = person_of(folder)
    given = [person if word == "PERSON" else word for word in arguments]
    assert run(["why", str(folder / "release"), "--private", str(folder / "private"), *given]) == 2
    one_sentence(capsys, says)


def test_why_reports_a_term_that_was_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    why = ["why", str(folder / "release"), "--private", str(folder / "private"), "--user", person_of(folder)]
    assert run([*why, "--json"]) == 0
    kept = next(fate for fate in json.loads(capsys.readouterr().out)["terms"] if fate["kept"])
    assert run([*why, "--term", kept["term"]]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["term", "queries"]
    assert row.split()[0] == kept["term"]
    assert row.endswith("kept")


def test_why_needs_the_private_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", str(folder / "release"), "--user", "1"]) == 2
    one_sentence(capsys, "Missing option '--private'")
    assert run(["why", str(folder / "release"), "--private", str(folder), "--user", "1"]) == 2
    one_sentence(capsys, "is not a private folder")
    assert run(["why", str(folder / "private"), "--private", str(folder / "private"), "--user", "1"]) == 2
    one_sentence(capsys, "is not a finished release")


def test_why_refuses_the_private_folder_of_another_release(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["--method", "km(k=2, m=1)", "--out", str(tmp_path / "out"), "--private", str(tmp_path / "private")]
    assert run(["anonymize", str(folder / "log.tsv"), *other]) == 0
    capsys.readouterr()
    assert run(["why", str(folder / "release"), "--private", str(tmp_path / "private"), "--user", "1"]) == 2
    one_sentence(capsys, "private does not belong to this release: it was made for other rows")
