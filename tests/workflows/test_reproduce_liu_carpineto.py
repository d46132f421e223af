"""`queryveil reproduce liu` and `carpineto`: on a generated log, on a given log, and with bad input."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import queryveil
from queryveil.cli import run
from queryveil.workflows.reproduce import FOR_THE_OWNER

LIU_TABLES = (
    "Figure 1(a)",
    "Figures 1(b) and 2(b)",
    "Figure 3",
    "Figure 4",
    "Table I",
    "Granularity",
    "bLM",
    "LM",
    "Recall",
    "sDist",
    "Published",
    "Time",
)


def test_liu_on_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "liu", "--users", "40", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    for name in LIU_TABLES:
        assert f"\n{name}: " in shown.out
    assert "A generated log (like demo)" in shown.out
    assert FOR_THE_OWNER not in shown.err
    numbers = json.loads((out / "numbers.json").read_text())
    assert len(numbers["runs"]) == 32
    page = ElementTree.fromstring((out / "page.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert len(list(page.iter("svg"))) == 4


def test_liu_on_a_given_log_is_repeatable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.generate(tmp_path / "log.tsv", users=30, seed=3)
    runs = []
    for _ in range(2):
        assert run(["reproduce", "liu", "--log", str(tmp_path / "log.tsv"), "--json"]) == 0
        shown = capsys.readouterr()
        assert FOR_THE_OWNER in shown.err
        runs.append([{**each, "seconds": 0} for each in json.loads(shown.out)["runs"]])
    assert runs[0] == runs[1]


def test_carpineto_on_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_carpineto_by_command_equals_carpineto_from_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.tsv"
    queryveil.generate(log, users=150, seed=4)
    assert run(["reproduce", "carpineto", "--log", str(log), "--seed", "7", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    done = queryveil.reproduce("carpineto", log, seed=7)
    assert numbers["figure_2"] == json.loads(json.dumps(done.numbers["figure_2"]))
    assert numbers["log"]["generated"] is False
    assert FOR_THE_OWNER not in done.warnings  # its tables contain no term of the log


BAD_OPTIONS = {
    "market": (["--market", "m.csv"], "--market and --algorithm are for burghardt; leave them out."),
    "algorithm": (["--algorithm", "best"], "--market and --algorithm are for burghardt; leave them out."),
    "index": (["--index", "index"], "--index is for zhu, whose evaluation searches; leave it out."),
    "parts": (["--partition-by", "x"], "--partition-by: the paper anonymises a log as a whole"),
    "users": (["--log", "log.tsv", "--users", "9"], "--like and --users are about a generated log"),
    "like": (["--like", "nothing"], "there is no log like 'nothing'"),
    "no file": (["--log", "none.tsv"], "there is no file none.tsv; check the path."),
}
CASES = [
    *((paper, *BAD_OPTIONS[case]) for paper in ("liu", "carpineto") for case in BAD_OPTIONS),
    ("liu", ["--users", "10"], "people, but the paper's k goes up to 20; give a log of at least 20."),
    ("carpineto", ["--history", "day"], "the paper compares all queries of a person, so it goes with --history user"),
]


@pytest.mark.parametrize(("paper", "options", "message"), CASES)
def test_bad_options_are_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    paper: str,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", paper, *options, "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
