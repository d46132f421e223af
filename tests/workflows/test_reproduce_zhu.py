"""`queryveil reproduce zhu`: on a small log and corpus, and with bad input."""

import json
import stat
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from queryveil import index
from queryveil.cli import run
from queryveil.experiments.zhu.grid import LEVELS, PS
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.semantics.network import wordnet
from queryveil.workflows.reproduce import FOR_THE_OWNER, reproduce
from queryveil.workflows.requests import ReproduceRequest

N_PEOPLE, N_TERMS, N_WORDS = 200, 160, 1_700  # at p = 0.1 a group needs 1,500 words, each held by ten people


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log of WordNet words and an index of documents of the same words."""
    path, rng = tmp_path_factory.mktemp("zhu"), np.random.default_rng(4)
    words = [word for word in wordnet().words if word.isalpha() and word.isascii() and word not in STOP_WORDS]
    words = [word for word in words if 4 < len(word) < 9][::15][:N_WORDS]
    rows = ["user\tquery"]
    for person in range(N_PEOPLE):
        rows += [f"u{person}\t{word}" for word in rng.choice(words, N_TERMS, replace=False)]
    (path / "log.tsv").write_text("\n".join(rows) + "\n")
    documents = [{"id": str(i), "text": " ".join(rng.choice(words, 25))} for i in range(3_000)]
    (path / "corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    index(path / "corpus.jsonl", path / "index")
    return path


def test_reproduce_zhu_on_given_log(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["reproduce", "zhu", "--log", str(folder / "log.tsv"), "--index", str(folder / "index")]
    assert run([*command, "--out", str(out)]) == 0
    shown = capsys.readouterr()
    for name in (*(f"Table {i}:" for i in range(1, 6)), *(f"Figure {i}:" for i in range(1, 7)), "All runs:"):
        assert f"\n{name}" in shown.out
    assert "\nWhat the figures do not mean: nobody judged a document." in shown.out
    assert FOR_THE_OWNER in shown.err
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    numbers = json.loads((out / "numbers.json").read_text())
    assert numbers["people"] == N_PEOPLE
    assert [(each["settings"], each["p"], each["a"]) for each in numbers["runs"]] == [
        (settings, p, a) for settings in ("the paper's settings", "our defaults") for p in PS for a in LEVELS
    ]
    for each in numbers["runs"]:
        assert each["linking probability"] <= each["p"] + 1e-9 or "global" in each["method"]
        for metrics in each["figures"].values():
            assert all(0 <= m["low"] <= m["value"] <= m["high"] <= 1 for m in metrics.values())
    page = ElementTree.fromstring((out / "page.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert len(list(page.iter("svg"))) == 5
    assert len(list(page.iter("table"))) == len(numbers["tables"])
    assert "What the figures mean" in " ".join(page.itertext())


def test_the_fewest_people_are_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "zhu", "--log", str(folder / "log.tsv"), "--index", str(folder / "index")]
    assert run([*command, "--users", "100", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    illegal = [(each["p"], each["a"]) for each in numbers["runs"] if not each["groups"]]
    assert illegal == [(0.1, a) for a in LEVELS]  # a group would need 1,500 words that ten people hold each
    assert numbers["releases"] == {"verified": 28, "empty": 4}
    tables = {table["name"]: table for table in numbers["tables"]}
    assert tables["Figure 5"]["rows"][1][1] == "–"
    assert "these people make no legal group" in tables["All runs"]["notes"][1]


def test_claims_are_judged_by_both_metrics(folder: Path) -> None:
    found = reproduce(ReproduceRequest(paper="zhu", log=folder / "log.tsv", index=folder / "index", users=100)).numbers
    improved = [each for each in found["findings"] if "improvement over no personalisation" in each["paper"]]
    assert [each["paper"].partition(", by ")[2] for each in improved] == ["AP at 10", "AP"]
    run = next(each for each in found["runs"] if (each["p"], each["a"]) == (0.4, 1))
    for each in improved:
        metric = each["paper"].partition(", by ")[2]
        means = [100 * run["figures"][variant][metric]["value"] for variant in ("the groups", "no personalisation")]
        assert each["ours"].startswith(f"{means[0]:.1f} against {means[1]:.1f}: {means[0] - means[1]:+.1f} points")
        low = float(each["ours"].partition("(")[2].partition(" ")[0])
        assert (each["judgement"] == "confirmed") is (low > 0)


BAD = {
    "market": (["--market", "LOG"], "--market and --algorithm are for burghardt; leave them out."),
    "algorithm": (["--algorithm", "best"], "--market and --algorithm are for burghardt; leave them out."),
    "like": (["--log", "LOG", "--like", "demo"], "--like is about a generated log; leave it out, or leave --log out."),
    "few": (["--users", "30"], "--users must be a whole number of at least 100 for zhu, not 30."),
    "few in the log": (["--log", "SHORT"], "have 150 terms that WordNet knows, and the paper's evaluation takes 100"),
    "no index": (["--index", "none"], "none"),
    "sessions": (["--log", "LOG", "--history", "day"], "a profile is of a person, so it goes with --history user"),
    "index of burghardt": (["burghardt", "--index", "INDEX"], "--index is for zhu, whose evaluation searches"),
}


@pytest.mark.parametrize("case", BAD)
def test_reproduce_zhu_refuses_bad_input(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "short.tsv").write_text("user\tquery\n1\tcoffee\n2\ttea\n")
    places = {"LOG": "log.tsv", "SHORT": "short.tsv", "INDEX": "index"}
    arguments, expected = BAD[case]
    words = [str(folder / places[word]) if word in places else word for word in arguments]
    paper = words.pop(0) if words[0] == "burghardt" else "zhu"
    searched = [] if "--index" in words or paper == "burghardt" else ["--index", str(folder / "index")]
    assert run(["reproduce", paper, *words, *searched, "--out", "out"]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1 and shown.out == ""
    assert list(tmp_path.iterdir()) == []
