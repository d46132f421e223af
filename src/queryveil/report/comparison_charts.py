"""The charts of a comparison: privacy against utility, and what is kept as k grows.

Colours are names of the page's style, as in the charts of a report; every series has a shape of its own too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from queryveil.report.charts import draw
from queryveil.report.figures import percent
from queryveil.report.markup import Markup

COLOURS = 10  # that the page's style has, --series-1 and so on
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
WIDTH, HEIGHT = 330, 240
LABEL_WIDTH, LABEL_HEIGHT = 0.3, 0.06  # of a point in the plot, as shares of its axes


@dataclass(frozen=True)
class Point:
    """A run in a chart."""

    x: float
    y: float
    series: str
    label: str = ""


def privacy_chart(points: Sequence[Point], x_title: str, y_title: str, series: Sequence[str]) -> Markup:
    """Draw each run where what it gives away and what it keeps meet; the upper left is best."""
    right, top = axis_end(p.x for p in points), axis_end(p.y for p in points)
    text = {"mark": {"type": "text", "fontSize": 12, "dx": 9}, "encoding": {"text": {"field": "label"}}}
    spec = {
        "height": HEIGHT,
        "width": WIDTH,
        "encoding": {"x": _axis("x", x_title, right), "y": _axis("y", y_title, top)},
        "layer": [_dots(series), text],
    }
    spoken = "; ".join(f"{_name(p)}: {percent(p.x)} and {percent(p.y)}" for p in points)
    shown = _readable(points, LABEL_WIDTH * right, LABEL_HEIGHT * top)
    return draw(spec, _values(shown), f"Scatter plot of {y_title} over {x_title}. {spoken}.")


def growth_chart(points: Sequence[Point], y_title: str, series: Sequence[str], top: float) -> Markup:
    """Draw what is kept as k grows, one line for each series; k has a logarithmic axis."""
    ks = sorted({p.x for p in points})
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [ks[0], ks[-1]], "nice": False},
        "axis": {**_AXIS, "title": "k", "values": ks, "format": "d", "labelOverlap": True, "labelAlign": "center"},
    }
    line = {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"color": _colour(series)}}
    spec = {
        "height": HEIGHT,
        "width": WIDTH,
        "encoding": {"x": x, "y": _axis("y", y_title, top)},
        "layer": [line, _dots(series)],
    }
    spoken = "; ".join(f"{_name(p)}, k {p.x:.0f}: {percent(p.y)}" for p in points)
    return draw(spec, _values(points), f"Line chart of {y_title} over k. {spoken}.")


def line_chart(points: Sequence[Point], x_title: str, y_title: str, series: Sequence[str]) -> Markup:
    """Draw figures of any unit over a parameter, one line for each series; the y axis begins at zero."""
    xs = sorted({p.x for p in points})
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [xs[0], xs[-1]], "nice": False},
        "axis": {**_AXIS, "title": x_title, "values": xs, "labelAlign": "center"},
    }
    y = _axis("y", y_title, max(p.y for p in points), unit="")
    line = {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"color": _colour(series, columns=1)}}
    spec = {"height": HEIGHT, "width": WIDTH, "encoding": {"x": x, "y": y}, "layer": [line, _dots(series, columns=1)]}
    spoken = "; ".join(f"{_name(p)}, {x_title} {p.x:g}: {p.y:.3g}" for p in points)
    return draw(spec, _values(points), f"Line chart of {y_title} over {x_title}. {spoken}.")


_AXIS: dict[str, Any] = {
    "grid": True,
    "gridColor": "var(--line)",
    "titleColor": "currentColor",
    "titleFontSize": 14,
    "titleFontWeight": "normal",
    "titlePadding": 8,
    "labelPadding": 6,
}


def _axis(field: str, title: str, top: float, unit: str = ", %") -> dict[str, Any]:
    """Return the encoding of a share, or of something else, on an axis from zero."""
    align = "center" if field == "x" else "right"
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": True},
        "axis": {**_AXIS, "title": f"{title}{unit}", "tickCount": 5, "labelAlign": align},
    }


def axis_end(values: Iterable[float]) -> float:
    """Return the end of an axis: a little above the largest value, never above all."""
    return min(100.0, max(1.0, 1.08 * max(values, default=100.0)))


def _colour(series: Sequence[str], columns: int = 3) -> dict[str, Any]:
    colours = [f"var(--series-{i % COLOURS + 1})" for i in range(len(series))]
    legend = {"columns": columns, "symbolSize": 90, "labelLimit": 300} if len(series) > 1 else None
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(series), "range": colours},
        "legend": legend,
    }


def _dots(series: Sequence[str], columns: int = 3) -> dict[str, Any]:
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(series))]
    shape = {**_colour(series, columns), "scale": {"domain": list(series), "range": shapes}}
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    return {"mark": mark, "encoding": {"color": _colour(series, columns), "shape": shape}}


def _readable(points: Sequence[Point], width: float, height: float) -> list[Point]:
    """Take the label off every point whose label would lie over that of a higher one."""
    shown: list[Point] = []
    for point in sorted(points, key=lambda p: (-p.y, p.x)):
        hidden = any(p.label and abs(p.x - point.x) < width and abs(p.y - point.y) < height for p in shown)
        shown.append(replace(point, label="") if hidden else point)
    return shown


def _values(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [{"x": p.x, "y": p.y, "series": p.series, "label": p.label} for p in points]


def _name(point: Point) -> str:
    return " ".join(part for part in (point.series, point.label) if part) or "run"
