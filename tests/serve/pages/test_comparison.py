"""Runs side by side: families by kind of release, figures of the log itself, and when charts are drawn."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from queryveil.core.results import Score
from queryveil.release.manifest import CleaningRecord, FileEntry, Manifest
from queryveil.serve.jobs import RunManager
from queryveil.serve.pages import comparison
from queryveil.serve.pages.comparison import FamilyComparison, compare_runs
from queryveil.serve.run_specs import AnonymizeSpec
from queryveil.serve.store import RunRow
from queryveil.workflows.inspect import Crowds


class FakeJobs:
    """Finished runs with given results."""

    def __init__(self, results: dict[str, dict[str, Any]]) -> None:
        self.results = results

    def result(self, run: str) -> dict[str, Any] | None:
        return self.results.get(run)

    def manifest(self, run: str) -> Manifest:
        kind, method, rows = (self.results[run][name] for name in ("kind", "method", "rows"))
        files = (FileEntry("release.parquet", "", rows),)
        return Manifest(
            kind=kind,
            method=method,
            guarantee="",
            columns=(),
            cleaning=CleaningRecord({}),
            counts={},
            content_sha256="",
            files=files,
        )

    def run_that_made(self, run: str) -> RunRow:
        return replace(RunRow.queued(run, AnonymizeSpec(method="km")), id=run)

    def release_of(self, run: str) -> Path:
        return Path(run, "release")

    def private_of(self, run: str) -> Path:
        return Path(run, "private")


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the same crowds for every release."""
    comparison._count_crowds.cache_clear()
    monkeypatch.setattr(comparison, "crowds", lambda release, private: Crowds("term", 3, 5, 7.5, 1_200))


def result(kind: str, method: str, kept: float, unique: float, rows: int = 10) -> dict[str, Any]:
    scores = [
        Score("retention", "log size", kept, 100.0),
        Score("retention", "users", 90.0, 100.0),
        Score("unique(m=3)", "singled out", unique, 80.0, better="lower"),
    ]
    found = {"seconds": 1.25, "scores": [asdict(score) for score in scores]}
    return {"kind": kind, "method": method, "rows": rows, **found}


def compare(*results: dict[str, Any]) -> list[FamilyComparison]:
    rows = [
        replace(RunRow.queued(f"run {number}", AnonymizeSpec(method="km")), id=str(number), state="done")
        for number in range(len(results))
    ]
    jobs: Any = FakeJobs({str(number): each for number, each in enumerate(results)})
    typed: RunManager = jobs
    return compare_runs(list(reversed(rows)), typed)  # as the store returns them, newest first


def test_log_and_runs_are_rows_of_one_table() -> None:
    [family] = compare(result("histories", "km(k=2, m=2)", 50.0, 1.0), result("log", "km(k=5, m=2)", 30.0, 0.5))
    assert family.title == "Histories"
    assert family.main.headings[:2] == ["log size kept", "people kept"]
    assert family.main.headings[-2:] == ["smallest crowd", "time"]
    names = [row if isinstance(row, str) else row.name for row, _ in family.main.rows]
    assert names == ["the log itself", "run 0", "run 1"]
    texts = [cells for _, cells in family.main.rows]
    assert texts[0] == ["100.0%", "100.0%", "–", "–", "80.0%", "", ""]
    assert texts[1] == ["50.0%", "90.0%", "–", "–", "1.0%", "5", "1.2 s"]
    assert family.all is not None
    assert family.all.headings == ["log size", "users", "unique(m=3)"]
    assert family.notes == []


def test_two_runs_give_charts_of_privacy_growth_and_crowds() -> None:
    [family] = compare(result("histories", "km(k=2, m=2)", 50.0, 1.0), result("histories", "km(k=5, m=2)", 30.0, 0.5))
    captions = [caption for _, caption in family.pictures]
    assert "In the log itself 80.0% are singled out by 3 random terms." in captions[0]
    assert captions[1] == "Log size kept as k grows, counted in terms."
    assert captions[2].endswith("the number of people behind a published term; the dot is the median.")
    [alone] = compare(result("histories", "km(k=2, m=2)", 50.0, 1.0))
    assert len(alone.pictures) == 1  # a single point says nothing


def test_kinds_are_compared_with_those_of_their_view_and_unit() -> None:
    families = compare(
        result("groups", "linkability(p=0.4)", 0.0, 0.0),
        result("queries", "query_k(k=5)", 40.0, 2.0),
        result("histories", "km(k=2, m=2)", 50.0, 1.0),
    )
    across = "Different kinds of releases, counted in terms"
    assert [family.title for family in families] == ["Histories", "Groups of people", across]
    names = [row if isinstance(row, str) else row.name for row, _ in families[2].main.rows]
    assert names == ["the log itself", "run 0", "run 2"]  # whole queries are a unit of their own
    assert families[2].main.headings == ["log size", "users", "unique(m=3)"]
    rows = [row for row, _ in families[0].main.rows if isinstance(row, str)]
    assert rows == ["the log itself, by whole queries", "the log itself"]
    assert families[0].notes == ["Of methods that release whole queries, what is known are queries in place of terms."]


def test_no_chart_mixes_terms_and_queries() -> None:
    [family] = compare(
        *(result("histories", f"km(k={k}, m=2)", 50.0 - k, 1.0) for k in (2, 5)),
        *(result("queries", f"query_k(k={k})", 40.0 - k, 2.0) for k in (2, 5)),
    )
    captions = [caption for _, caption in family.pictures]
    assert [caption.endswith("3 random terms.") for caption in captions].count(True) == 1
    assert [caption.endswith("3 random queries.") for caption in captions].count(True) == 1
    assert [caption.rpartition(" ")[2] for caption in captions if "grows" in caption] == ["terms.", "queries."]
    for picture, _ in family.pictures:
        assert not ("km" in str(picture) and "query_k" in str(picture))


def test_crowds_of_large_releases_are_not_counted() -> None:
    [family] = compare(result("histories", "km(k=2, m=2)", 50.0, 1.0, rows=comparison.MOST_ROWS + 1))
    assert family.main.rows[-1][1][-2] == "–"
    assert family.pictures == []
