"""`queryveil reproduce liu`: on a generated log, on a log of one's own, and with bad input."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import queryveil
from queryveil.cli import run
from queryveil.workflows.papers import FOR_THE_OWNER

NAMES = ("Figures 1 and 2", "Figure 3", "Table I", "bLM", "LM", "Recall", "sDist", "Published", "Time")


def test_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "liu", "--users", "40", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    for name in NAMES:
        assert f"\n{name}: " in shown.out
    assert "A generated log (like demo)" in shown.out
    assert FOR_THE_OWNER not in shown.err
    numbers = json.loads((out / "numbers.json").read_text())
    assert len(numbers["runs"]) == 24
    page = ElementTree.fromstring((out / "page.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert len(list(page.iter("svg"))) == 4


def test_a_log_of_ones_own_and_the_same_figures_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.generate(tmp_path / "log.tsv", users=30, seed=3)
    runs = []
    for _ in range(2):
        assert run(["reproduce", "liu", "--log", str(tmp_path / "log.tsv"), "--json"]) == 0
        shown = capsys.readouterr()
        assert FOR_THE_OWNER in shown.err
        runs.append([{**made, "seconds": 0} for made in json.loads(shown.out)["runs"]])
    assert runs[0] == runs[1]


BAD = {
    "market": (["--market", "m.csv"], "--market and --algorithm are for burghardt"),
    "few": (["--users", "10"], "people, but the paper's k goes up to 20; give a log of at least 20."),
    "users": (["--log", "x.tsv", "--users", "9"], "--like and --users are about a generated log"),
    "parts": (["--partition-by", "x"], "--partition-by: the paper anonymises a log as a whole"),
    "no file": (["--log", "none.tsv"], "there is no file none.tsv; check the path."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, expected = BAD[case]
    assert run(["reproduce", "liu", *arguments, "--out", "out"]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
