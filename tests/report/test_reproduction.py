"""The document of a reproduction has every table, the chart of its name above it, and the reading at the end."""

import re
from typing import Any

from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable, Reproduction, render_reproduction
from tests.report.pages import ACTIVE, HOSTILE, cells, chart_labels, headings, parse, text

TABLES = (
    PaperTable("Table 1", "The log", ("", "paper", "ours"), (("people", "10", "9"),), notes=("Ours is smaller.",)),
    PaperTable("Figure 1", "What is kept", ("method", "why", "kept"), (("km", "so", "50"),), words=(0, 1)),
    PaperTable("Figure 2", "Loss", ("p", "loss"), (("0.5", "0.1"),)),
)
FIGURES = (
    PaperFigure("Figure 1", "Kept as k grows.", "kept", (Point(2, 50.0, "km"), Point(5, 20.0, "km")), ("km",)),
    PaperFigure("Figure 2", "Loss by p.", "loss", (Point(0.5, 0.1, "a"), Point(1.0, 0.2, "a")), ("a",), over="p"),
)


def reproduction(**changes: Any) -> Reproduction:
    fields: dict[str, Any] = {
        "paper": "A paper (2020)",
        "log": "A generated log.",
        "warnings": (),
        "tables": TABLES,
        "figures": FIGURES,
        "numbers": {},
        "queryveil": "0.1.0",
        "seconds": 1.0,
        **changes,
    }
    return Reproduction(**fields)


def test_every_table_and_chart_is_shown() -> None:
    page = render_reproduction(reproduction(reading=("It means this.", "It does not mean that.")))
    assert headings(page) == ["Table 1", "Figure 1", "Figure 2", "What the figures mean"]
    assert chart_labels(page) == [
        "Line chart of kept over k. km, k 2: 50.0%; km, k 5: 20.0%.",
        "Line chart of loss over p. a, p 0.5: 0.1; a, p 1: 0.2.",
    ]
    assert cells(page, "The log") == [["", "paper", "ours"], ["people", "10", "9"]]
    assert "A paper (2020) A generated log. Table 1" in text(parse(page))
    assert "Ours is smaller." in text(parse(page))
    regions = [div for div in parse(page).iter("div") if div.get("role") == "region"]
    assert [(div.get("aria-label"), div.get("tabindex")) for div in regions] == [(t.name, "0") for t in TABLES]


def test_columns_of_words_are_not_aligned_right() -> None:
    page = parse(render_reproduction(reproduction(tables=TABLES[1:2], figures=())))
    assert [cell.get("class") for cell in page.iter("td")] == ["words", "number"]


def test_every_warning_is_shown() -> None:
    assert 'class="warning"' not in render_reproduction(reproduction())
    page = render_reproduction(reproduction(warnings=("Keep it.", "It is small.")))
    assert '<p class="warning">Keep it.</p>\n<p class="warning">It is small.</p>' in page


def test_a_figure_over_nothing_has_bars() -> None:
    points = (Point(0.0, 76.2, "groups"), Point(0.0, 76.5, "none"))
    figure = PaperFigure("Table 1", "Bars.", "precision", points, ("groups", "none"), over="")
    page = render_reproduction(reproduction(tables=TABLES[:1], figures=(figure,)))
    assert chart_labels(page) == ["precision. groups: 76.2%, none: 76.5%."]


def test_hostile_text_is_escaped_and_nothing_is_loaded() -> None:
    table = PaperTable(HOSTILE, HOSTILE, (HOSTILE, HOSTILE), ((HOSTILE, HOSTILE),), notes=(HOSTILE,))
    figure = PaperFigure(HOSTILE, HOSTILE, HOSTILE, (Point(1, 1.0, HOSTILE),), (HOSTILE,))
    hostile = reproduction(
        paper=HOSTILE, log=HOSTILE, warnings=(HOSTILE,), tables=(table,), figures=(figure,), reading=(HOSTILE,)
    )
    page = render_reproduction(hostile)
    assert not re.search(ACTIVE, page, re.IGNORECASE)
    assert text(parse(page)).count(HOSTILE) >= 11
    assert page == render_reproduction(hostile)
