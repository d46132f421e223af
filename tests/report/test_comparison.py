"""The document of a comparison is complete, self-contained, escaped and deterministic."""

import re
from itertools import product
from typing import Any
from xml.etree import ElementTree

from queryveil.core.results import Score, Verdict
from queryveil.report.comparison import ComparedRun, MethodComparison, render_comparison
from tests.report.pages import ACTIVE, cells, chart_labels, headings, parse, text

COUNTS = {"people": 5000, "histories": 5000, "terms": 30_000, "pairs": 230_000, "occurrences": 340_000}
CLEANING = {"options": {"charset": "letters"}, "steps": [{"name": "bots", "count": 3, "unit": "users", "note": ""}]}


def run(k: int, m: int, target: str, *, market: bool = False, started_from: str | None = None) -> ComparedRun:
    scores = [
        Score("retention", "log size", 50 / k + m, 100.0, units_counted=340_000),
        Score("retention", "users", 90.0, 100.0, units_counted=5000),
        Score("unique(m=1)", "singled out by 1 random term", 0.0, 20.0),
        Score("unique(m=3)", "singled out by 3 random terms", 10 / k, 80.0),
    ]
    if market:
        scores += [Score("market", "clicks", 12.0, 100.0), Score("market", "bid", 9.0, 100.0)]
    method = f"km(k={k}, m={m}, target={target})"
    verdict = Verdict(f"km(k={k}, m={m})", "holds", "people", 10)
    return ComparedRun(
        method, {"k": k, "m": m, "target": target}, 1.5, verdict, tuple(scores), COUNTS, {}, started_from
    )


def comparison(*runs: ComparedRun, **changes: Any) -> MethodComparison:
    return MethodComparison(runs, COUNTS, CLEANING, 3.0, "0.1.0", **changes)


RUNS = [run(k, m, target) for k, m, target in product((2, 10), (2, 3), ("users", "fis"))]
FAILED = ComparedRun("km(k=9000, m=2)", {"k": 9000, "m": 2}, 0.0, problem="k is larger than <the people>.")


def test_sections_and_charts() -> None:
    page = render_comparison(comparison(*RUNS))
    assert headings(page) == [
        "Privacy against utility",
        "What is kept as k grows",
        "All figures",
        "How the log was cleaned",
    ]
    scatter, m2, m3 = chart_labels(page)
    assert scatter.startswith("Scatter plot of log size kept over singled out by 3 random terms.")
    assert "fis k=10, m=3: 1.0% and 8.0%" in scatter
    assert "users, k 2: 27.0%" in m2
    assert "users, k 2: 28.0%" in m3
    words = text(parse(page))
    assert "8 runs were made, and each was verified. Nothing was released." in words
    assert "In the original log, 80.0% are singled out by 3 random terms." in words
    assert page == render_comparison(comparison(*RUNS))


def test_table_has_every_run() -> None:
    started = run(2, 3, "users", started_from="km(k=2, m=2, target=users)")
    page = render_comparison(comparison(RUNS[0], started, FAILED))
    rows = cells(page, "All runs; the first row is the log itself")
    assert rows[0] == ["method", "log size", "users", "unique(m=1)", "unique(m=3)", "time", ""]
    assert rows[1][:5] == ["original log", "100.0 %", "100.0 %", "20.0 %", "80.0 %"]
    assert rows[2] == ["km(k=2, m=2, target=users)", "27.0 %", "90.0 %", "0.0 %", "5.0 %", "1.50 s", ""]
    assert rows[3][-1] == "started from m=2"
    assert rows[4] == ["km(k=9000, m=2)", "–", "–", "–", "–", "0.00 s", "k is larger than <the people>."]
    assert "2 runs were made, and each was verified; 1 could not be made, the table says why." in text(parse(page))


def test_market_value_has_its_own_charts() -> None:
    page = render_comparison(comparison(run(2, 2, "users", market=True), run(10, 2, "users", market=True)))
    assert [label.split(".")[0] for label in chart_labels(page)] == [
        "Scatter plot of log size kept over singled out by 3 random terms",
        "Scatter plot of clicks kept over singled out by 3 random terms",
        "Scatter plot of bid kept over singled out by 3 random terms",
        "Line chart of log size kept over k",
        "Line chart of clicks kept over k",
        "Line chart of bid kept over k",
    ]


def test_charts_need_what_they_show() -> None:
    assert "What is kept as k grows" not in headings(render_comparison(comparison(RUNS[0], RUNS[2])))
    run = ComparedRun("km(k=2, m=2)", {"k": 2, "m": 2}, 1.0, scores=(Score("retention", "log size", 5.0, 100.0),))
    page = render_comparison(comparison(run))
    assert chart_labels(page) == []
    assert "needs the measures retention and unique, which were not asked for" in text(parse(page))


def test_hostile_text_is_escaped_and_nothing_is_loaded() -> None:
    evil = "<script>alert(1)</script>"
    hostile = ComparedRun(f"km(k=2, m=2, target={evil})", {"k": 2, "target": evil}, 1.0, scores=RUNS[0].scores)
    page = render_comparison(comparison(hostile, *RUNS, ComparedRun(evil, {}, 0.0, problem=evil)))
    assert not re.search(ACTIVE, page, re.IGNORECASE)
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_colours_are_those_of_the_style_sheet() -> None:
    root = parse(render_comparison(comparison(*RUNS)))
    svgs = "".join(ElementTree.tostring(svg, "unicode") for svg in root.iter("svg"))
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svgs))
    assert colours <= {"none", "transparent", "currentColor", "var(--line)", "var(--series-1)", "var(--series-2)"}
    style = text(next(root.iter("style")))
    assert all(f"--series-{i}:" in style for i in range(1, 11))


def test_headings_of_columns_are_unique() -> None:
    scores = (
        Score("a", "x", 1.0),
        Score("a", "y", 1.0),
        Score("b", "x", 1.0),
        Score("b", "z", 1.0),
        Score("c", "w", 1.0),
    )
    found = comparison(ComparedRun("km", {}, 1.0, scores=scores)).columns()
    assert [column.heading for column in found] == ["a: x", "y", "b: x", "z", "c"]
