"""Comparing methods: each row is what a release would be; nothing is released, and nothing stops the others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import queryveil
from queryveil.core.errors import GuaranteeError, InputError, InternalError, OutputError, UnknownNameError
from queryveil.core.results import Score
from queryveil.engines import open_log
from queryveil.histories.outcomes import KeptPairs, Outcome
from queryveil.logs.generate import generate
from queryveil.methods.base import MethodTask
from queryveil.report.comparison import ORIGINAL
from queryveil.workflows import compare as workflow
from queryveil.workflows.local_run import run_method
from tests.workflows.small_log import write_log

SWEEP = "km(k=2|4, m=2|3, target=logsize|random)"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "log.tsv"
    generate(path, like="demo", users=250, rng=np.random.default_rng(8))
    return path


@pytest.fixture(scope="module")
def market(log: Path) -> Path:
    path = log.parent / "market.csv"
    terms = queryveil.profiles(log).vocabulary
    path.write_text(
        "term,bid,clicks,impressions\n" + "".join(f"{t},{i % 7},{i % 5},{i}\n" for i, t in enumerate(terms))
    )
    return path


def test_rows_are_what_would_be_released(log: Path, tmp_path: Path) -> None:
    compared = queryveil.compare(log, SWEEP, seed=3, reuse=False)
    assert len(compared.runs) == 8
    for number, run in enumerate(compared.runs):
        done = queryveil.anonymize(log, run.method, tmp_path / str(number), seed=3)
        assert run.scores == done.scores
        assert run.verdict == done.verdict
        assert run.counts == done.manifest.record()["counts"]["after"]
        assert run.started_from is None
        assert compared.counts == done.manifest.record()["counts"]["before"]
        assert compared.cleaning == done.manifest.record()["cleaning"]


@pytest.mark.parametrize("options", [{}, {"history": "day"}, {"partition_by": "country"}])
def test_a_sweep_reuses_what_starting_by_hand_does(tmp_path: Path, options: dict[str, Any]) -> None:
    small = write_log(tmp_path, 3)
    compared = queryveil.compare(small, "km(k=3, m=3|1|2)", seed=2, **options)
    assert [run.method for run in compared.runs] == [f"km(k=3, m={m})" for m in (3, 1, 2)]
    assert [run.started_from for run in compared.runs] == ["km(k=3, m=2)", None, "km(k=3, m=1)"]
    start: dict[str, Any] = {}
    for m in (1, 2, 3):
        out, private = tmp_path / f"out{m}", tmp_path / f"private{m}"
        done = queryveil.anonymize(small, f"km(k=3, m={m})", out, private=private, seed=2, **start, **options)
        run = next(run for run in compared.runs if run.method == f"km(k=3, m={m})")
        assert run.scores == done.scores
        start = {"start_from": out, "start_from_private": private}


def test_reuse_never_keeps_what_the_start_deleted(log: Path) -> None:
    compared = queryveil.compare(log, "km(k=2|4, m=2|3)", measures=["retention"])
    kept = {run.method: run.counts["pairs"] for run in compared.runs if run.counts is not None}
    for k in (2, 4):
        assert kept[f"km(k={k}, m=3)"] <= kept[f"km(k={k}, m=2)"]


def test_the_log_is_read_once_and_progress_says_which_run(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def counting(*arguments: Any, **options: Any) -> Any:
        opened.append(arguments)
        return open_log(*arguments, **options)

    monkeypatch.setattr(workflow, "open_log", counting)
    seen: list[str] = []
    queryveil.compare(
        log, "km(k=2|3|4, m=2)", measures=["retention"], progress=lambda stage, done, total: seen.append(stage)
    )
    assert len(opened) == 1
    for run in range(1, 4):
        assert any(stage.startswith(f"run {run} of 3: ") for stage in seen)


def test_market_values_are_measured_and_a_target_keeps_its_own(log: Path, market: Path) -> None:
    compared = queryveil.compare(log, "km(k=3, m=2, target=clicks|logsize)", market=market)
    frame = compared.to_pandas().set_index("target")
    assert {"bid", "clicks", "impressions", "revenue", "log size", "unique(m=3)"} <= set(frame.columns)
    assert frame.loc["clicks", "clicks"] > frame.loc["logsize", "clicks"]
    with pytest.raises(InputError, match="target=clicks needs a market table"):
        queryveil.compare(log, "km(k=3, m=2, target=logsize|clicks)")
    with pytest.raises(InputError, match="market"):
        queryveil.compare(log, "km(k=3, m=2)", measures=["market"])


def test_the_same_run_is_made_once(log: Path) -> None:
    compared = queryveil.compare(
        log, ["km(k=3, m=2)", "km(m=2, k=3, target=logsize)", queryveil.name("km", k=3, m=2)], measures=["retention"]
    )
    assert [run.method for run in compared.runs] == ["km(k=3, m=2)"]


def test_a_run_that_cannot_be_made_is_a_row(log: Path) -> None:
    compared = queryveil.compare(log, "km(k=9000|3, m=1|2)", measures=["retention"])
    too_large, also, made, started = compared.runs
    assert too_large.problem == also.problem
    assert too_large.problem.startswith("k = 9,000 is larger than the number of people in the log (")
    assert (made.problem, started.started_from) == ("", "km(k=3, m=1)")
    assert (too_large.scores, too_large.verdict) == ((), None)
    assert compared.successful_runs() == [made, started]
    assert compared.to_pandas()["problem"].isna().tolist() == [False, False, True, True]


def test_nothing_left_is_a_row_and_nothing_at_all_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query\n" + "".join(f"u{i},x{i // 2}\n" for i in range(6)))
    compared = queryveil.compare(path, "km(k=2|3, m=1)", measures=["retention"])
    assert [run.problem for run in compared.runs] == [
        "",
        "nothing would be left of the log; lower k or m, or give a larger log.",
    ]
    page = tmp_path / "page.html"
    with pytest.raises(GuaranteeError, match=r"none of the 2 runs can be made; km\(k=3, m=1\): nothing would be left"):
        queryveil.compare(path, "km(k=3|4, m=1)", page=page)
    assert not page.exists()


def test_a_chain_goes_on_from_the_last_run_that_could_be_made(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(task: MethodTask) -> Outcome:
        if task.method["m"] == 2:
            raise GuaranteeError(f"{task.method}: not today.")
        return run_method(task)

    monkeypatch.setattr(workflow, "run_method", failing)
    compared = queryveil.compare(log, "km(k=3, m=1|2|3)", measures=["retention"])
    assert [run.problem for run in compared.runs] == ["", "not today.", ""]
    assert compared.runs[2].started_from == "km(k=3, m=1)"


def test_a_result_that_does_not_verify_is_an_error(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(task: MethodTask) -> Outcome:
        return KeptPairs(np.ones(len(task.profiles.ids), np.bool_))

    monkeypatch.setattr(workflow, "run_method", everything)
    with pytest.raises(InternalError, match="was refused by its own verifier"):
        queryveil.compare(log, "km(k=3, m=2)", page=tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_too_large_a_sweep_is_refused_before_the_log_is_read() -> None:
    many = "|".join(map(str, range(2, 350)))
    with pytest.raises(UnknownNameError, match="a sweep of 1,044 runs is too large; give at most 1,000"):
        queryveil.compare("nowhere.tsv", f"km(k={many}, m=1|2|3)")
    with pytest.raises(UnknownNameError, match="a sweep of 1,044 runs is too large"):
        queryveil.compare("nowhere.tsv", [f"km(k={many}, m={m})" for m in (1, 2, 3)])
    with pytest.raises(UnknownNameError, match="too large"):  # never written out
        queryveil.compare("nowhere.tsv", f"km(k={many}, m={many}, target={many}, algorithm={many})")
    with pytest.raises(InputError, match="there is nothing to compare"):
        queryveil.compare("nowhere.tsv", [])


def test_a_page_appears_whole_or_not_at_all(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    done = queryveil.compare(log, "km(k=3, m=2)", measures=["retention"], page=page)
    assert done.page == page
    first = page.read_text()
    assert first.startswith("<!DOCTYPE html>")
    with pytest.raises(OutputError, match="exists already"):
        queryveil.compare("nowhere.tsv", "km(k=3, m=2)", page=page)
    with pytest.raises(OutputError, match="there is no folder"):
        queryveil.compare("nowhere.tsv", "km(k=3, m=2)", page=tmp_path / "none" / "page.html")

    def interrupted(*arguments: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "render_comparison", interrupted)
    with pytest.raises(KeyboardInterrupt):
        queryveil.compare(log, "km(k=3, m=2)", measures=["retention"], page=page, force=True)
    assert page.read_text() == first
    assert list(tmp_path.iterdir()) == [page]


def test_results_are_tables(log: Path) -> None:
    compared = queryveil.compare(log, "km(k=3|4, m=2)", measures=["retention", "unique(m=2)"])
    frame = compared.to_pandas()
    assert frame["k"].tolist() == [3, 4]
    assert frame["log size"].tolist() == [value_of(run.scores, "log size") for run in compared.runs]
    assert compared.to_polars()["method"].to_list() == ["km(k=3, m=2)", "km(k=4, m=2)"]
    headings, rows = compared.table()
    assert headings == ["method", "distinct terms", "log size", "users", "pairs", "unique(m=2)", "time", ""]
    assert [row[0] for row in rows] == [ORIGINAL, "km(k=3, m=2)", "km(k=4, m=2)"]
    assert rows[0][1] == "100.0 %"
    assert compared._repr_html_().count("<tr>") == 4


def value_of(scores: tuple[Score, ...], label: str) -> float | None:
    return next(score.value for score in scores if score.label == label)
