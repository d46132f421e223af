"""Measuring releases of vocabularies, by every method, from the command line."""

import json
from pathlib import Path

import pytest

import queryveil
from queryveil.cli import run
from tests.goods import EDGES, VOCABULARIES

METHODS = ("vocabulary(k=2, eps=4)", "generalize(k=2)", "generalize(k=2, bags=false)", "suppress(k=2)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the running example of Liu and Wang as a log, and its taxonomy."""
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"]
    for person, vocabulary in enumerate(VOCABULARIES, 1):
        for hour, term in enumerate(vocabulary):
            lines.append(f"{person}\t{term}\t2006-03-01 {hour:02}:00:00\t\t\n")
    (tmp_path / "log.tsv").write_text("".join(lines))
    (tmp_path / "goods.csv").write_text("".join(f"{child},{parent}\n" for child, parent in EDGES))
    return tmp_path


def anonymize(folder: Path, method: str) -> None:
    queryveil.anonymize(
        folder / "log.tsv",
        method,
        folder / "release",
        private=folder / "private",
        taxonomy=folder / "goods.csv",
        force=True,
    )


def measured(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, float | None]:
    command = ["measure", str(folder / "release"), "--against", str(folder / "log.tsv"), "--json"]
    assert run([*command, "--taxonomy", str(folder / "goods.csv"), *options]) == 0
    return {score["label"]: score["value"] for score in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_verified_and_measured(folder: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    anonymize(folder, method)
    assert queryveil.verify(folder / "release", private=folder / "private").holds
    found = measured(folder, capsys, "--private", str(folder / "private"))
    singled_out = {"singled out by 1 random term", *(f"singled out by {m} random terms" for m in (2, 3))}
    losses = {"bLM", "occurrences published", "LM", "recall of patterns", "distance of patterns"}
    assert set(found) == losses | singled_out
    assert all(value is not None for value in found.values())
    assert {found[label] for label in singled_out} == {0.0}  # two people share every vocabulary


def test_the_example_has_the_loss_worked_out_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(folder, "generalize(k=2)")
    found = measured(folder, capsys, "--private", str(folder / "private"))
    assert found["bLM"] == pytest.approx((8 + 12 * 3 / 7 + 2) / 22)


def test_without_the_private_folder_only_patterns_are_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(folder, METHODS[0])
    found = measured(folder, capsys)
    assert found["bLM"] is found["LM"] is None
    assert found["recall of patterns"] is not None


def test_patterns_of_histories(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.anonymize(folder / "log.tsv", "km(k=2, m=1)", folder / "release")
    command = ["measure", str(folder / "release"), "--against", str(folder / "log.tsv"), "--measure"]
    assert run([*command, "patterns(n=5)"]) == 0
    assert "recall of patterns" in capsys.readouterr().out
    assert run([*command, "blm"]) == 2
    assert "the measure blm applies to releases of kind vocabularies, not histories" in capsys.readouterr().err


def test_measure_refuses_bad_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(folder, METHODS[0])
    command = ["measure", str(folder / "release"), "--against", str(folder / "log.tsv")]
    assert run(command) == 2
    assert "the network taxonomy needs a file of child,parent lines; give it by --taxonomy" in capsys.readouterr().err
    assert run([*command, "--measure", "retention"]) == 2
    assert "not vocabularies" in capsys.readouterr().err
    queryveil.anonymize(folder / "log.tsv", "km(k=2, m=1)", folder / "other")
    other = ["measure", str(folder / "other"), "--against", str(folder / "log.tsv")]
    assert run([*other, "--taxonomy", str(folder / "goods.csv")]) == 2
    assert "a taxonomy is for releases of vocabularies; leave --taxonomy out" in capsys.readouterr().err
