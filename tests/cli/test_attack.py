"""`queryveil attack` as a person or a script runs it."""

import json
from pathlib import Path

import pytest

from queryveil.cli import run
from tests.cli.test_compare_and_why import one_sentence


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, a release of it and its private folder."""
    place = tmp_path_factory.mktemp("attack")
    assert run(["generate", str(place / "log.tsv"), "--users", "250", "--seed", "3"]) == 0
    arguments = ["--method", "km(k=3, m=2)", "--out", str(place / "release"), "--private", str(place / "private")]
    assert run(["anonymize", str(place / "log.tsv"), *arguments, "--seed", "1"]) == 0
    return place


def attack(folder: Path, *arguments: str) -> list[str]:
    files = ["--against", str(folder / "log.tsv"), "--private", str(folder / "private")]
    return ["attack", str(folder / "release"), *files, *arguments]


def test_a_table_on_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(attack(folder)) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split()[:3] == ["attack", "known", "success"]
    assert lines[1].startswith("known_terms(m=2)  2 terms ")
    assert any(line.startswith("vanity ") for line in lines)
    assert "not run: time: it applies to releases of kind log or queries, and this one is of kind histories" in lines
    assert shown.err.startswith("done in")


def test_everything_as_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(attack(folder, "--json", "--attack", "known_terms(m=2)", "--out", str(page), "--targets", "100")) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["page"] == str(page)
    assert page.stat().st_mode & 0o777 == 0o600
    first = made["results"][0]
    assert (first["attack"], first["knowledge"], first["targets"]) == ("known_terms(m=2)", "2 terms", 100)
    assert first["rate"]["value"] <= 1 / 3
    assert set(first["rate"]) == {"value", "low", "high"}
    assert first["original"]["value"] >= 0.5
    assert made["threats"]["known_terms(m=2)"].startswith("Somebody knows a few random terms")


def test_attacks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "attacks"]) == 0
    shown = capsys.readouterr().out
    for name in ("known_terms(m, wrong=1, of=log)", "infer(m)", "multiplicity(m=2)", "time(m=1, unit=minute)"):
        assert name in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--attack", "known_terms"], "known_terms: m is missing; give a whole number from 1 to 4"),
        (["--attack", "guess"], "there is no attack 'guess'"),
        (["--attack", "minimality(k=2)"], "minimality has no parameter 'k'; it takes none"),
        (["--attack", "multiplicity"], "multiplicity cannot be run on"),
        (["--targets", "0"], "--targets must be a whole number of at least 1"),
        (["--seed", "x"], "it must be a whole number of at least 0, not 'x'"),
        (["--control", "none.tsv"], "there is no file none.tsv"),
        (["--out", "none/page.html"], "there is no folder none"),
        (["--out", "LOG", "--force"], "is not a page about attacks, so --force does not replace it"),
        (["--control", "LOG"], "of its people have an identifier that is in the log too"),
    ],
)
def test_bad_input_is_reported_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    before = sorted(folder.iterdir())
    given = [str(folder / "log.tsv") if word == "LOG" else word for word in arguments]
    assert run(attack(folder, *given)) == 2
    one_sentence(capsys, says)
    assert sorted(folder.iterdir()) == before


def test_missing_inputs_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(folder / "log.tsv")
    assert run(["attack", str(folder / "release"), "--against", log]) == 2
    one_sentence(capsys, "that stands in its private folder; give --private")
    assert run(["attack", str(folder / "release"), "--private", str(folder / "private")]) == 2
    one_sentence(capsys, "Missing option '--against'")
    assert run(["attack", log, "--against", log, "--private", str(folder / "private")]) == 2
    one_sentence(capsys, "is a file, not the folder of a release")
