"""The charts of the pages: SVG drawn on the server, which takes its colours and its font from the page.

They are those of the reports (decision 23). A chart is drawn once for the same figures; the first takes longest.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import markupsafe

from queryveil.report.charts import BAR, GAP, draw
from queryveil.report.charts import warm_up as _warm_up
from queryveil.report.comparison_charts import Point, axis_end, growth_chart, privacy_chart
from queryveil.report.figures import number, percent

Shares = tuple[tuple[str, float], ...]
_CHARACTER = 7.6  # about as wide as one of a label
_KEPT = 256  # charts
_RANGE_WIDTH = 260


@cache
def warm_up() -> None:
    """Draw a chart for nobody, once."""
    _warm_up()


@lru_cache(_KEPT)
def shares(what: str, rows: Shares) -> markupsafe.Markup:
    """Draw a share of a whole for each row."""
    values = [{"what": label, "share": value, "text": percent(value)} for label, value in rows]
    length = {"field": "share", "type": "quantitative", "scale": {"domain": [0, _end(rows)]}, "axis": None}
    spec = {
        "height": {"step": BAR + GAP},
        "encoding": {"y": _labels("what", [label for label, _ in rows]), "x": length},
        "layer": [
            {"mark": {"type": "bar", "height": BAR, "cornerRadius": 2, "color": "var(--after)"}},
            {"mark": "text", "encoding": {"text": {"field": "text"}}},
        ],
    }
    spoken = ", ".join(f"{label}: {percent(value)}" for label, value in rows)
    return _safe(draw(spec, values, f"{what}. {spoken}."))


def singled_out(rows: Sequence[tuple[int, float]]) -> markupsafe.Markup:
    """Draw how many people so many of their terms single out."""
    named = tuple(("1 term" if terms == 1 else f"{terms} terms", value) for terms, value in rows)
    return shares("Bar chart of the share of people singled out, by number of known terms", named)


@lru_cache(_KEPT)
def against(points: tuple[Point, ...], x_title: str, y_title: str, series: tuple[str, ...]) -> markupsafe.Markup:
    """Draw what runs give away against what they keep."""
    return _safe(privacy_chart(points, x_title, y_title, series))


@lru_cache(_KEPT)
def growing(points: tuple[Point, ...], y_title: str, series: tuple[str, ...]) -> markupsafe.Markup:
    """Draw what runs keep as k grows."""
    return _safe(growth_chart(points, y_title, series, axis_end(point.y for point in points)))


@lru_cache(_KEPT)
def crowds(rows: tuple[tuple[str, int, float, int], ...]) -> markupsafe.Markup:
    """Draw from how few to how many people stand behind what each run publishes, and how many as a rule."""
    values = [{"run": run, "low": low, "median": median, "high": high} for run, low, median, high in rows]
    powers = [10**i for i in range(1 + math.ceil(math.log10(max(10, *(row[3] for row in rows)))))]
    scale = {"type": "log", "domain": [1, powers[-1]], "nice": False}
    x = {"field": "low", "type": "quantitative", "scale": scale, "axis": _GRID | {"values": powers}}
    spec = {
        "width": _RANGE_WIDTH,
        "height": {"step": BAR + GAP},
        "encoding": {"y": _labels("run", [row[0] for row in rows])},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 4, "strokeCap": "round", "color": "var(--before)"},
                "encoding": {"x": x, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "tick", "thickness": 3, "size": BAR, "color": "var(--after)"},
                "encoding": {"x": x},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": "var(--after)"},
                "encoding": {"x": x | {"field": "median"}},
            },
        ],
    }
    spoken = "; ".join(
        f"{run}: at least {number(low)}, in the median {median:,.0f}, at most {number(high)}"
        for run, low, median, high in rows
    )
    return _safe(draw(spec, values, f"Chart of how many people stand behind what is published. {spoken}."))


_GRID: dict[str, Any] = {
    "grid": True,
    "gridColor": "var(--line)",
    "labelAlign": "center",
    "labelPadding": 6,
    "titlePadding": 8,
    "format": ",d",
    "title": "people behind it",
    "titleColor": "currentColor",
    "titleFontSize": 14,
    "titleFontWeight": "normal",
}


def between(low: int, high: int | None) -> str:
    """Write a class of sizes."""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _labels(field: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the encoding of one row for each text, in the order given, with room for the longest."""
    width = 14 + _CHARACTER * max(map(len, texts), default=0)
    return {"field": field, "type": "nominal", "sort": None, "axis": {"labelPadding": width, "labelLimit": width}}


def _end(rows: Shares) -> float:
    return axis_end(value for _, value in rows)


def _safe(picture: str) -> markupsafe.Markup:
    """Hand a picture on as HTML; whatever text is in it was escaped when it was drawn."""
    return markupsafe.Markup(picture)
