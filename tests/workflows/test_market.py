"""A market table through whole runs: targets, measures, coverage, and nothing of it in what is released."""

import hashlib
import json
from pathlib import Path

import pytest

import queryveil
from queryveil.cli import run

# The pair rare-dear is in one history only; which of the two terms that person keeps is up to the target.
HISTORIES = {
    "u1": ["rare dear", "rare", "rare"],
    "u2": ["dear"],
    "u3": ["rare"],
    "u4": ["rare"],
}
MARKET = "term,bid,clicks,impressions\nrare,1,,50\ndear,9,2,10\nzeppelin,77.125,5,5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        f"{user},{query},{'de' if user < 'u3' else 'fr'}\n" for user, queries in HISTORIES.items() for query in queries
    ]
    (tmp_path / "log.csv").write_text("user,query,country\n" + "".join(rows))
    (tmp_path / "market.csv").write_text(MARKET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def released(place: str) -> list[list[str]]:
    rows = queryveil.load(place).to_arrow().to_pylist()
    users = sorted({row["user"] for row in rows})
    return sorted(sorted(row["term"] for row in rows if row["user"] == user) for user in users)


@pytest.mark.parametrize(
    ("target", "first"),
    [("logsize", "rare"), ("bid", "dear"), ("clicks", "dear"), ("impressions", "rare"), ("revenue", "dear")],
)
def test_a_target_keeps_what_it_values(folder: Path, target: str, first: str) -> None:
    # value · occurrences in the log: bid 5 : 18, clicks 0 : 4, impressions 250 : 20, revenue 0 : 36
    done = queryveil.anonymize(
        "log.csv", f"km(k=2, m=2, target={target}, algorithm=paper)", "out", market="market.csv", private="private"
    )
    expected = [["rare"], ["rare"]] + ([["rare"]] if first == "rare" else [["dear"], ["dear"]])
    assert released("out") == sorted(expected)
    kept = {score.label: score.value for score in done.scores if score.measure == "market"}
    # kept of rare: 5 of 5 occurrences, or 2 where the first person's went; of dear: 0 or 2 of 2
    rare, dear = (5, 0) if first == "rare" else (2, 2)
    assert kept == {
        "bid": pytest.approx(100 * (rare * 1 + dear * 9) / 23),
        "clicks": 100.0 * dear / 2,
        "impressions": pytest.approx(100 * (rare * 50 + dear * 10) / 270),
        "revenue": 100.0 * dear / 2,
    }


def test_coverage_is_reported_and_nothing_of_the_table_released(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["anonymize", "log.csv", "--method", "km(k=2, m=1)", "--out", "out", "--private", "private"]
    assert run([*arguments, "--market", "market.csv", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["summary"]["market"]["clicks"] == {"n_terms": 1, "terms": 50.0, "occurrences": pytest.approx(200 / 7)}
    assert [s["label"] for s in result["scores"] if s["measure"] == "market"] == [
        "bid",
        "clicks",
        "impressions",
        "revenue",
    ]
    page, manifest = ((folder / "out" / name).read_text() for name in ("report.html", "manifest.json"))
    assert "28.6 % of their occurrences have clicks in the market table" in page
    for text in ("market.csv", "77.125", "zeppelin"):
        assert text not in manifest + page
    record = json.loads((folder / "private" / "run.json").read_text())
    assert record["worth"] == {"values": None, "market": hashlib.sha256(MARKET.encode()).hexdigest()}


def test_parts_of_a_log_are_ranked_by_the_market_too(folder: Path) -> None:
    done = queryveil.anonymize(
        "log.csv",
        "km(k=2, m=2, target=bid, algorithm=paper)",
        "out",
        market="market.csv",
        partition_by="country",
        kind="log",
    )
    assert released("out") == [["dear"], ["dear"], ["rare"], ["rare"]]
    assert {s.label: s.value for s in done.scores if s.measure == "market"}["bid"] == pytest.approx(100 * 20 / 23)


def test_measure_with_a_market_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.anonymize("log.csv", "km(k=2, m=1)", "out", private="private")
    scores = queryveil.measure("out", "log.csv", private="private", market="market.csv")
    assert [score.measure for score in scores][4:8] == ["market"] * 4
    assert [score.value for score in scores][4:8] == [100.0] * 4
    (bid, *_) = queryveil.measure("out", "log.csv", market="market.csv", measures=["market"])
    assert bid.value is None  # without the private folder a release of histories does not tell occurrences
    command = ["measure", "out", "--against", "log.csv", "--measure", "correlations", "--market", "market.csv"]
    assert run(command) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1 + 15
    assert shown[1].startswith("correlations  term frequency – users")


@pytest.mark.parametrize("name", ["market", "correlations"])
def test_a_market_measure_without_a_table(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    queryveil.anonymize("log.csv", "km(k=2, m=1)", "out")
    assert run(["measure", "out", "--against", "log.csv", "--measure", name]) == 2
    assert f"the measure {name} needs a market table; give a file" in capsys.readouterr().err
    (folder / "other.csv").write_text("term,bid,clicks,impressions\nboats,1,1,1\n")
    assert run(["measure", "out", "--against", "log.csv", "--measure", name, "--market", "other.csv"]) == 2
    assert "other.csv gives no value for any of the 2 terms of the log" in capsys.readouterr().err
