import json
from pathlib import Path

import pytest

from queryveil.cli import run
from queryveil.cli.logs import _compare_to_original
from queryveil.logs.generate import GeneratedLog


def test_a_large_log_with_its_market_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, market = tmp_path / "log.tsv", tmp_path / "market.csv"
    assert run(["generate", str(log), "--like", "altavista", "--users", "200", "--market-out", str(market)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # no comparison with the original unless the log is as large
    assert lines[0].startswith(f"{log}: 200 people, 1,004 queries, ")
    n_priced = market.read_text().count("\n") - 1
    assert lines[1] == f"{market}: bid, clicks and impressions of {n_priced:,} terms"


def test_the_counts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, market = tmp_path / "log.tsv", tmp_path / "market.csv"
    arguments = ["generate", str(log), "--like", "aol", "--users", "50", "--market-out", str(market), "--json"]
    assert run(arguments) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["path"], made["market"], made["like"], made["people"]) == (str(log), str(market), "aol", 50)
    assert made["priced"] == market.read_text().count("\n") - 1
    assert made["original"] == {}


def test_figures_are_compared_with_the_original() -> None:
    original = {"people": 100, "terms": 400}
    made = GeneratedLog(Path("log"), "altavista", 100, 500, 500, 396, 1_500, 900, 60, original)
    assert [line.split() for line in _compare_to_original(made)] == [
        ["made", "altavista", "deviation"],
        ["people", "100", "100", "0.00%"],
        ["distinct", "terms", "396", "400", "-1.00%"],
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--market-out", "log.tsv"], "the log and its market table cannot both be log.tsv"),
        (["--market-out", "taken.csv"], "taken.csv exists already"),
        (["--market-out", "none/market.csv"], "there is no folder none"),
        (["--market-out", "."], "is a folder"),
        (["--like", "altavist"], "did you mean altavista?"),
        (["--like", "aol", "--users", "0"], "users must be a whole number of at least 1"),
    ],
)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(
    options: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.csv").write_text("mine")
    assert run(["generate", "log.tsv", *options]) == 2
    message = capsys.readouterr().err
    assert expected in message
    assert message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]
    assert Path("taken.csv").read_text() == "mine"
