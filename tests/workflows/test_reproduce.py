"""`queryveil reproduce burghardt`: on a log with its market table, on a generated one, and with bad input."""

import json
import stat
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import queryveil
from queryveil.cli import run
from queryveil.workflows.reproduce import FOR_THE_OWNER, SMALL_LOG, reproduce
from queryveil.workflows.requests import ReproduceRequest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log and a market table of its terms."""
    path = tmp_path_factory.mktemp("reproduce")
    queryveil.generate(path / "log.tsv", users=250, seed=5)
    rng = np.random.default_rng(6)
    lines = []
    for term in queryveil.profiles(path / "log.tsv").vocabulary:
        bid, clicks, impressions = rng.lognormal(size=3)
        lines.append(f"{term},{bid},{'' if rng.random() < 0.45 else clicks},{impressions}\n")
    (path / "market.csv").write_text("term,bid,clicks,impressions\n" + "".join(lines))
    return path


def command_on(folder: Path) -> list[str]:
    return ["reproduce", "burghardt", "--log", str(folder / "log.tsv"), "--market", str(folder / "market.csv")]


def test_reproduce_on_given_log(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run([*command_on(folder), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    for name in (*(f"Table {i}:" for i in range(1, 8)), "Figure 1:", "Figure 2:", "Section 5.2:"):
        assert f"\n{name}" in shown.out
    assert FOR_THE_OWNER in shown.err
    assert sorted(path.name for path in out.iterdir()) == ["numbers.json", "page.html"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    numbers = json.loads((out / "numbers.json").read_text())
    assert len(numbers["runs"]) == 80
    assert all(0 <= share <= 100 for result in numbers["runs"] for share in result["kept"].values())
    assert numbers["log"]["people"] <= 250
    assert numbers["log"]["generated"] is False
    page = ElementTree.fromstring((out / "page.html").read_text().removeprefix("<!DOCTYPE html>"))
    text = " ".join(page.itertext())
    assert FOR_THE_OWNER in text
    assert len(list(page.iter("svg"))) == 2
    tables = [table.findtext("caption") for table in page.iter("table")]
    assert len(tables) == len(numbers["tables"])
    assert tables == [table["caption"] for table in numbers["tables"]]


def test_the_same_seed_gives_the_same_figures(folder: Path) -> None:
    request = ReproduceRequest(paper="burghardt", log=folder / "log.tsv", market=folder / "market.csv", seed=9)
    first, second = (reproduce(request) for _ in range(2))
    timed = {"seconds"}
    for a, b in zip(first.numbers["runs"], second.numbers["runs"], strict=True):
        assert {k: v for k, v in a.items() if k not in timed} == {k: v for k, v in b.items() if k not in timed}


def test_from_python_on_a_table(folder: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(folder / "log.tsv", sep="\t", dtype=str)
    table = frame.rename(columns={"AnonID": "user", "Query": "query", "QueryTime": "time"})[["user", "query", "time"]]
    done = queryveil.reproduce("burghardt", table, market=folder / "market.csv", seed=9)
    from_file = queryveil.reproduce("burghardt", folder / "log.tsv", market=folder / "market.csv", seed=9)
    assert done.warnings == (FOR_THE_OWNER, SMALL_LOG.format(done.numbers["log"]["people"], 183_901))
    assert done.numbers["log"] == from_file.numbers["log"]
    assert done.tables[8].rows == from_file.tables[8].rows


def test_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "burghardt", "--users", "600", "--out", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    printed, written = json.loads(shown.out), json.loads((out / "numbers.json").read_text())
    assert printed == written
    assert printed["log"]["generated"] is True
    assert 0 < printed["log"]["people"] <= 600
    assert FOR_THE_OWNER not in shown.err
    page = (out / "page.html").read_text()
    assert "generated log (like altavista)" in page
    assert "; seed 1; " in page and f"{printed['releases']['verified']} releases were verified" in page
    assert "This is a small log: " in shown.err and "This is a small log: " in page
    assert {each["judgement"] for each in printed["findings"] if each["where"] in ("Table 3", "Table 4")} == {
        "by construction"
    }
    assert [each["n"] > 0 for each in printed["table_3"]] == [True] * 15


BAD = {
    "paper": (["reproduce", "burghart"], "there is no reproduction of 'burghart'; did you mean burghardt?"),
    "no market": (["--log", "LOG"], "--log needs the market table of its terms; give it by --market"),
    "no log": (["--market", "MARKET"], "--market goes with the log that it is about; give that by --log"),
    "users": (["--log", "LOG", "--market", "MARKET", "--users", "9"], "--like and --users are about a generated log"),
    "like": (["--like", "nothing"], "there is no log like 'nothing'"),
    "few": (["--users", "50"], "people, but the paper's k goes up to 100; give a log of at least 100."),
    "algorithm": (["--algorithm", "worst"], "km(k=2, m=2, algorithm=worst): algorithm must be one of"),
    "parts": (["--log", "LOG", "--market", "MARKET", "--partition-by", "x"], "--partition-by: the paper anonymises a"),
    "no file": (["--log", "none.tsv", "--market", "MARKET"], "there is no file none.tsv; check the path."),
    "other market": (["--log", "LOG", "--market", "OTHER"], "gives no value for any of the"),
    "taken": (["--out", "."], "exists already; choose another place, or replace it with --force."),
    "foreign": (["--out", ".", "--force"], "was not made by queryveil, so --force does not replace it"),
}


@pytest.mark.parametrize("case", BAD)
def test_reproduce_refuses_bad_input(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep me").write_text("x")
    other = tmp_path / "other.csv"
    other.write_text("term,bid,clicks,impressions\nnowhere at all,1,1,1\n")
    places = {"LOG": str(folder / "log.tsv"), "MARKET": str(folder / "market.csv"), "OTHER": str(other)}
    arguments, expected = BAD[case]
    words = [places.get(word, word) for word in arguments]
    command = words if words[0] == "reproduce" else ["reproduce", "burghardt", *words]
    where = [] if "--out" in command else ["--out", "out"]
    assert run([*command, *where]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep me", "other.csv"]


@pytest.mark.parametrize("stage", ["timing (2,2)", "run 17 of 80", "writing"])
def test_an_interrupt_leaves_no_files(folder: Path, tmp_path: Path, stage: str) -> None:
    def interrupt(now: str, done: int, total: int) -> None:
        if now.startswith(stage):
            raise KeyboardInterrupt

    request = ReproduceRequest(
        paper="burghardt", log=folder / "log.tsv", market=folder / "market.csv", out=tmp_path / "out"
    )
    with pytest.raises(KeyboardInterrupt):
        reproduce(request, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_an_older_folder_is_replaced_only_with_force(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "numbers.json").write_text("old")
    (out / "old").write_text("x")
    assert run([*command_on(folder), "--out", str(out)]) == 2
    assert (out / "numbers.json").read_text() == "old"
    assert run([*command_on(folder), "--out", str(out), "--force", "--seed", "2"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["numbers.json", "page.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
