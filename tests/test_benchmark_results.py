"""Ratios of benchmarks: which figures are ratios, which became worse, and what the page shows."""

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import kernels, reading, results
from benchmarks.common import Figures

SPEED: Figures = {"times faster (bar: 60)": 100.0, "kernels, seconds": 0.3, "identical output": True}
COST: Figures = {"time ratio (bar: ≤ 1.5)": 1.2, "peak MB (bar: ≤ 900)": 512}


def test_only_ratios_are_compared() -> None:
    assert results.ratios(SPEED) == {"times faster": 100.0}
    assert results.ratios(COST) == {"time ratio": 1.2}
    assert results.ratios({"times faster than ours": "not measured"}) == {}


@pytest.mark.parametrize(("now", "is_worse"), [(100.0, False), (88.0, False), (86.0, True), (500.0, False)])
def test_fewer_times_faster_is_worse(now: float, is_worse: bool) -> None:
    found = results.regressions({"kernels": SPEED}, {"kernels": {"times faster (bar: 80)": now}})
    assert found == (["kernels, times faster: 86 now, 100 in the repository"] if is_worse else [])


@pytest.mark.parametrize(("now", "is_worse"), [(1.2, False), (1.37, False), (1.4, True), (0.5, False)])
def test_a_higher_time_ratio_is_worse(now: float, is_worse: bool) -> None:
    found = results.regressions({"reading": COST}, {"reading": {"time ratio": now}})
    assert found == (["reading, time ratio: 1.4 now, 1.2 in the repository"] if is_worse else [])


def test_a_ratio_that_is_not_measured_any_more_is_named() -> None:
    assert results.regressions({"kernels": SPEED}, {}) == [
        "kernels, times faster: 100 in the repository, and not measured now"
    ]
    assert results.regressions({}, {"kernels": SPEED}) == []  # a new one


def measured(figures: dict[str, Figures]) -> dict[str, object]:
    return {"date": "2026-01-02", "about": dict.fromkeys(figures, "What it is."), "seconds": {}, "figures": figures}


def test_the_tables_show_ratios_and_recorded_rows() -> None:
    row = {"what": "a log", "baseline": "SQL", "seen": "twice", "command": "python -m x", "written": "2026-01-01"}
    shown = results.tables(measured({"kernels": SPEED, "reading": COST}), [row]).splitlines()
    assert "| `kernels`: What it is | times faster | 100 |" in shown
    assert "| `reading`: What it is | time ratio | 1.2 |" in shown
    assert shown[-1] == "| a log | SQL | twice | 2026-01-01, `python -m x` |"


def test_only_the_tables_of_the_page_are_replaced() -> None:
    page = f"# Figures\n\n{results.BEGIN}\nold\n{results.END}\n\n## More\n"
    changed = results.page_with(page, "new")
    assert changed == f"# Figures\n\n{results.BEGIN}\n\nnew\n\n{results.END}\n\n## More\n"
    assert results.page_with(changed, "new") == changed


def test_check_exits_with_1_if_something_became_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ordinary.json"
    results.save(path, measured({"kernels": SPEED}))
    monkeypatch.setattr(results, "ORDINARY", path)
    for now, code, said in ((50.0, 1, "kernels, times faster: 50 now"), (120.0, 0, "no ratio became worse")):
        figures: Figures = {"times faster": now}
        monkeypatch.setattr(benchmarks, "OF_ORDINARY_LENGTH", [(kernels, lambda figures=figures: figures)])
        assert benchmarks.main(["check"]) == code
        assert said in capsys.readouterr().out
    assert json.loads(path.read_text())["figures"] == {"kernels": SPEED}  # as before


def test_check_without_figures_to_compare_with_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ordinary.json"
    results.save(path, measured({}))
    monkeypatch.setattr(results, "ORDINARY", path)
    assert benchmarks.main(["check"]) == 1
    assert "has no figures to compare with" in capsys.readouterr().out
    assert results.tables(measured({}), []).startswith("Results of `make bench` are not in the repository yet.")


def test_write_saves_what_was_measured_and_table_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "ordinary.json", tmp_path / "figures.md"
    page.write_text(f"# Figures\n\n{results.BEGIN}\n{results.END}\n")
    monkeypatch.setattr(results, "ORDINARY", path)
    monkeypatch.setattr(results, "PAGE", page)
    monkeypatch.setattr(benchmarks, "OF_ORDINARY_LENGTH", [(kernels, lambda: SPEED), (reading, lambda: COST)])
    assert benchmarks.main(["write"]) == 0
    assert "kernels, seconds: 0.3" in capsys.readouterr().out
    written = json.loads(path.read_text())
    assert written["figures"] == {"kernels": SPEED, "reading": COST}
    assert written["seconds"] == {"kernels": 0, "reading": 0}
    shown = page.read_text()
    assert f"`make bench` on {written['date']}:" in shown
    assert "| time ratio | 1.2 |" in shown
    results.save(path, written | {"figures": {"reading": {"time ratio": 1.3}}})
    assert benchmarks.main(["table"]) == 0
    assert "| time ratio | 1.3 |" in page.read_text()
    assert benchmarks.main(["check"]) == 0  # 1.2 now


def test_the_page_shows_the_results_of_the_repository() -> None:
    generated = results.tables(results.load(results.ORDINARY), results.load(results.RECORDED))
    text = results.PAGE.read_text()
    assert text == results.page_with(text, generated), "run python -m benchmarks table"
