"""The page of a comparison: complete, self-contained, escaped, and the same every time."""

import re
from itertools import product
from typing import Any
from xml.etree import ElementTree

from queryveil.core.results import Score, Verdict
from queryveil.report.compared import Compared, Run
from queryveil.report.comparison import render_comparison
from queryveil.report.comparison_charts import LABEL_HEIGHT, Point, axis_end, privacy_chart
from tests.report.test_report import cells, parse, text

COUNTS = {"people": 5000, "histories": 5000, "terms": 30_000, "pairs": 230_000, "occurrences": 340_000}
CLEANING = {"options": {"charset": "letters"}, "steps": [{"name": "bots", "count": 3, "unit": "users", "note": ""}]}


def run(k: int, m: int, target: str, *, market: bool = False, started_from: str | None = None) -> Run:
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
    return Run(method, {"k": k, "m": m, "target": target}, 1.5, verdict, tuple(scores), COUNTS, {}, started_from)


def compared(*runs: Run, **changes: Any) -> Compared:
    return Compared(runs, COUNTS, CLEANING, 3.0, "0.1.0", **changes)


RUNS = [run(k, m, target) for k, m, target in product((2, 10), (2, 3), ("users", "fis"))]
FAILED = Run("km(k=9000, m=2)", {"k": 9000, "m": 2}, 0.0, problem="k is larger than <the people>.")


def headings(page: str) -> list[str]:
    return [text(heading) for heading in parse(page).iter("h2")]


def labels(page: str) -> list[str]:
    return [svg.get("aria-label", "") for svg in parse(page).iter("svg")]


def test_sections_and_charts() -> None:
    page = render_comparison(compared(*RUNS))
    assert headings(page) == [
        "Privacy against utility",
        "What is kept as k grows",
        "All figures",
        "How the log was cleaned",
    ]
    scatter, m2, m3 = labels(page)
    assert scatter.startswith("Scatter plot of log size kept over singled out by 3 random terms.")
    assert "fis k=10, m=3: 1.0% and 8.0%" in scatter
    assert "users, k 2: 27.0%" in m2
    assert "users, k 2: 28.0%" in m3
    words = text(parse(page))
    assert "8 runs were made, and each was verified. Nothing was released." in words
    assert "In the original log, 80.0% are singled out by 3 random terms." in words
    assert page == render_comparison(compared(*RUNS))


def test_the_table_has_every_run() -> None:
    started = run(2, 3, "users", started_from="km(k=2, m=2, target=users)")
    page = render_comparison(compared(RUNS[0], started, FAILED))
    rows = cells(page, "All runs; the first row is the log itself")
    assert rows[0] == ["method", "log size", "users", "unique(m=1)", "unique(m=3)", "time", ""]
    assert rows[1][:5] == ["original log", "100.0 %", "100.0 %", "20.0 %", "80.0 %"]
    assert rows[2] == ["km(k=2, m=2, target=users)", "27.0 %", "90.0 %", "0.0 %", "5.0 %", "1.50 s", ""]
    assert rows[3][-1] == "started from m=2"
    assert rows[4] == ["km(k=9000, m=2)", "–", "–", "–", "–", "0.00 s", "k is larger than <the people>."]
    assert "2 runs were made, and each was verified; 1 could not be made, the table says why." in text(parse(page))


def test_market_value_gets_charts_of_its_own() -> None:
    page = render_comparison(compared(run(2, 2, "users", market=True), run(10, 2, "users", market=True)))
    assert [label.split(".")[0] for label in labels(page)] == [
        "Scatter plot of log size kept over singled out by 3 random terms",
        "Scatter plot of clicks kept over singled out by 3 random terms",
        "Scatter plot of bid kept over singled out by 3 random terms",
        "Line chart of log size kept over k",
        "Line chart of clicks kept over k",
        "Line chart of bid kept over k",
    ]


def test_what_was_not_varied_or_measured_is_not_drawn() -> None:
    assert "What is kept as k grows" not in headings(render_comparison(compared(RUNS[0], RUNS[2])))
    bare = Run("km(k=2, m=2)", {"k": 2, "m": 2}, 1.0, scores=(Score("retention", "log size", 5.0, 100.0),))
    page = render_comparison(compared(bare))
    assert labels(page) == []
    assert "needs the measures retention and unique, which were not asked for" in text(parse(page))


def test_loads_and_runs_nothing_and_escapes() -> None:
    evil = "<script>alert(1)</script>"
    hostile = Run(f"km(k=2, m=2, target={evil})", {"k": 2, "target": evil}, 1.0, scores=RUNS[0].scores)
    page = render_comparison(compared(hostile, *RUNS, Run(evil, {}, 0.0, problem=evil)))
    assert not re.search(r"<script|https?://|@import|url\(|\ssrc=|\shref=|\son\w+=|javascript:", page, re.IGNORECASE)
    assert "default-src 'none'" in page.replace("&#x27;", "'")


def test_colours_come_from_the_page() -> None:
    root = parse(render_comparison(compared(*RUNS)))
    svgs = "".join(ElementTree.tostring(svg, "unicode") for svg in root.iter("svg"))
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svgs))
    assert colours <= {"none", "transparent", "currentColor", "var(--line)", "var(--series-1)", "var(--series-2)"}
    style = text(next(root.iter("style")))
    assert all(f"--series-{i}:" in style for i in range(1, 11))


def test_labels_do_not_lie_over_each_other() -> None:
    points = [Point(1.0, 50.0, "a", "first"), Point(1.0, 49.9, "a", "hidden"), Point(1.0, 10.0, "a", "third")]
    drawn = privacy_chart(points, "x", "y", ["a"])
    shown = re.findall(r">([a-z]+)</text>", drawn)
    assert ("first" in shown, "hidden" in shown, "third" in shown) == (True, False, True)
    assert 50 - LABEL_HEIGHT * axis_end([50.0]) < 49.9
    assert (axis_end([]), axis_end([0.0]), axis_end([99.0])) == (100.0, 1.0, 100.0)


def test_headings_are_told_apart() -> None:
    scores = (
        Score("a", "x", 1.0),
        Score("a", "y", 1.0),
        Score("b", "x", 1.0),
        Score("b", "z", 1.0),
        Score("c", "w", 1.0),
    )
    found = compared(Run("km", {}, 1.0, scores=scores)).columns()
    assert [column.heading for column in found] == ["a: x", "y", "b: x", "z", "c"]
