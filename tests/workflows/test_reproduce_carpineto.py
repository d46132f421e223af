"""`queryveil reproduce carpineto` as a command, from Python, and with bad input."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import queryveil
from queryveil.cli import run


def test_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "carpineto", "--users", "200", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    for name in ("Section 3:", "Figure 1:", "Section 3.2:", "Figure 2, SPI:", "Figure 2, exposed:", "Figure 2, PEL:"):
        assert f"\n{name}" in shown
    assert "SPI does not see whether it was published" in shown
    numbers = json.loads((out / "numbers.json").read_text())
    assert numbers["log"]["generated"] is True
    assert 0 < numbers["heavy_people"] < 200
    page = ElementTree.fromstring((out / "page.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert len(list(page.iter("svg"))) == 4
    assert "What the figures mean" in " ".join(page.itertext())


def test_a_log_of_ones_own_by_command_and_from_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.tsv"
    queryveil.generate(log, users=150, seed=4)
    assert run(["reproduce", "carpineto", "--log", str(log), "--seed", "7", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    done = queryveil.reproduce("carpineto", log, seed=7)
    assert numbers["figure_2"] == json.loads(json.dumps(done.numbers["figure_2"]))
    assert numbers["log"]["generated"] is False
    assert done.warning == ""  # it holds no term of the log


BAD = {
    "market": (["--market", "x.csv"], "--market and --algorithm are for burghardt; leave them out."),
    "algorithm": (["--algorithm", "best"], "--market and --algorithm are for burghardt; leave them out."),
    "history": (["--history", "day"], "the paper compares all queries of a person, so it goes with --history user"),
    "parts": (["--partition-by", "x"], "--partition-by: the paper anonymises a log as a whole"),
    "users": (["--log", "log.tsv", "--users", "9"], "--like and --users are about a generated log"),
    "like": (["--like", "nothing"], "there is no log like 'nothing'"),
    "no file": (["--log", "none.tsv"], "there is no file none.tsv; check the path."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, expected = BAD[case]
    assert run(["reproduce", "carpineto", *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1
