"""Charts of the reports and of the web pages: Vega-Lite specifications, rendered to SVG.

Colours are names of the page's style sheet (`currentColor`, `var(--after)`), so that one chart serves light and dark
mode; series differ in shape as well. Bars carry their figures as text, and every chart has a table next to it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import vl_convert
from markupsafe import Markup

from queryveil.core.errors import InternalError
from queryveil.report.rendering import number, percent

Spec = dict[str, Any]  # a Vega-Lite specification, or a part of one

VEGA_LITE = "5.20"  # one grammar for all versions of vl-convert that we accept: the same figures give the same bytes
BAR_WIDTH, BAR_HEIGHT, BAR_GAP = 220, 18, 12  # pixels; the width is that of the longest possible bar
WIDE_BAR_WIDTH = 560  # where the chart has the page to itself
PLOT_WIDTH, PLOT_HEIGHT = 330, 240  # of scatter plots and line charts
RANGE_WIDTH = 260
CHARACTER_WIDTH, LABEL_MARGIN = 7.6, 14  # of row labels, estimated: the page's font is unknown here
SERIES_COLOURS = 10  # --series-1, … of the style sheet
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
WIDE_PLOT_WIDTH, WIDE_PLOT_HEIGHT = 1000, 400  # likewise
POINT_LABEL, LABEL_WIDTH = 12, 6.8  # of labels of points: font size, and the estimated width of a character
_CACHED_CHARTS = 256
_ROLES = re.compile(r' (role="graphics-[a-z]+"|aria-roledescription="[^"]*")')

_LABELS: Spec = {"labelColor": "currentColor", "labelFontSize": 14}
_CONFIG: Spec = {
    "background": None,
    "padding": {"left": 0, "right": 16, "top": 2, "bottom": 2},  # the page's font may be wider than the one measured
    "aria": False,  # the chart as a whole has a label; its marks would be read out one by one
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {**_LABELS, "title": None, "grid": False, "ticks": False, "domain": False, "labelAlign": "left"},
    "legend": {
        **_LABELS,
        "title": None,
        "orient": "top",
        "symbolType": "square",
        "symbolStrokeWidth": 0,
        "symbolSize": 160,
        "columnPadding": 20,
        "offset": 14,
    },
    "text": {"color": "currentColor", "fontSize": 14, "align": "left", "dx": 8, "baseline": "middle"},
}
_GRID_AXIS: Spec = {
    "grid": True,
    "gridColor": "var(--line)",
    "titleColor": "currentColor",
    "titleFontSize": 14,
    "titleFontWeight": "normal",
    "titlePadding": 8,
    "labelPadding": 6,
}
_BAR: Spec = {"type": "bar", "height": BAR_HEIGHT, "cornerRadius": 2}
_BAR_LENGTH: Spec = {"type": "quantitative", "axis": None, "stack": None}


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot or a line chart."""

    x: float
    y: float
    series: str
    label: str = ""


@cache
def warm_up() -> None:
    """Load the renderer by drawing a chart that is thrown away: the first chart of a process takes about a second."""
    bar_chart([("", 0.0)], "", end=100.0)


def bar_chart(rows: Sequence[tuple[str, float]], description: str, *, end: float, on_track: bool = False) -> Markup:
    """Draw one bar of a percentage per row; with `on_track`, each on a lighter bar that stands for `end`."""
    values = [{"row": label, "value": value, "text": percent(value), "end": end} for label, value in rows]
    length = {**_BAR_LENGTH, "field": "value", "scale": {"domain": [0, end]}}
    whole = {**length, "field": "end"}
    track = [{"mark": {**_BAR, "color": "var(--track)"}, "encoding": {"x": whole}}]
    bar = {"mark": {**_BAR, "color": "var(--after)"}, "encoding": {"x": length}}
    text = {"mark": "text", "encoding": {"x": whole if on_track else length, "text": {"field": "text"}}}
    spec = {
        "height": {"step": BAR_HEIGHT + BAR_GAP},
        "encoding": {"y": _row_labels([label for label, _ in rows])},
        "layer": [*(track if on_track else []), bar, text],
    }
    return draw(spec, values, description)


def responsive(draw_chart: Callable[[bool], Markup]) -> Markup:
    """Return a chart for narrow and one for wide screens, of which the page shows one; the function draws either."""
    return Markup('<div class="narrow">{}</div>\n<div class="broad">{}</div>').format(*map(draw_chart, (False, True)))


def share_chart(title: str, rows: Sequence[tuple[str, float]]) -> Markup:
    """Draw one bar of a percentage per row on an axis that ends a little above the largest one."""
    described = ", ".join(f"{label}: {percent(value)}" for label, value in rows)
    return bar_chart(rows, f"{title}. {described}.", end=axis_end(value for _, value in rows))


def grouped_bar_chart(
    rows: Sequence[tuple[str, Sequence[float | None]]], colours: Mapping[str, str], title: str, *, is_wide: bool = False
) -> Markup:
    """Draw a group of bars per row: a percentage for each series of `colours`, none where it is unknown."""
    values = [
        {"row": label, "series": name, "value": value, "text": percent(value)}
        for label, figures in rows
        for name, value in zip(colours, figures, strict=True)
        if value is not None
    ]
    scale = {"domain": list(colours), "range": list(colours.values())}
    bars = {"mark": _BAR, "encoding": {"color": {"field": "series", "type": "nominal", "scale": scale}}}
    text = {"mark": "text", "encoding": {"text": {"field": "text"}}}
    spec = {
        "width": WIDE_BAR_WIDTH if is_wide else BAR_WIDTH,
        "height": {"step": BAR_HEIGHT + 4},
        "encoding": {
            "y": {**_row_labels([label for label, _ in rows]), "scale": {"paddingInner": 0.25}},
            "yOffset": {"field": "series", "type": "nominal", "sort": list(colours)},
            "x": {**_BAR_LENGTH, "field": "value", "scale": {"domain": [0, 100]}},
        },
        "layer": [bars, text],
    }
    described = (
        f"{label}: {', '.join(f'{name} {percent(value)}' for name, value in zip(colours, figures, strict=True))}"
        for label, figures in rows
    )
    return draw(spec, values, f"{title}. {'; '.join(described)}.")


def range_chart(rows: Sequence[tuple[str, int, float, int]], x_title: str, description: str) -> Markup:
    """Draw a line from the lowest to the highest count per row on a logarithmic axis, with a dot at the median."""
    values = [{"row": label, "low": low, "median": median, "high": high} for label, low, median, high in rows]
    powers = [1, 10]
    while powers[-1] < max(row[3] for row in rows):
        powers.append(10 * powers[-1])
    scale = {"type": "log", "domain": [1, powers[-1]], "nice": False}
    x = _axis("low", x_title, scale, values=powers, format=",d", labelAlign="center")
    line = {"type": "rule", "strokeWidth": 4, "strokeCap": "round", "color": "var(--before)"}
    lowest = {"type": "tick", "thickness": 3, "size": BAR_HEIGHT, "color": "var(--after)"}
    median_dot = {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": "var(--after)"}
    spec = {
        "width": RANGE_WIDTH,
        "height": {"step": BAR_HEIGHT + BAR_GAP},
        "encoding": {"y": _row_labels([row[0] for row in rows])},
        "layer": [
            {"mark": line, "encoding": {"x": x, "x2": {"field": "high"}}},
            {"mark": lowest, "encoding": {"x": x}},
            {"mark": median_dot, "encoding": {"x": {**x, "field": "median"}}},
        ],
    }
    return draw(spec, values, description)


def crowd_chart(rows: Sequence[tuple[str, int, float, int]]) -> Markup:
    """Draw the smallest, the median and the largest number of people behind what each run publishes."""
    described = "; ".join(
        f"{run}: at least {number(low)}, in the median {median:,.0f}, at most {number(high)}"
        for run, low, median, high in rows
    )
    title = "Chart of how many people stand behind what is published"
    return range_chart(rows, "people behind it", f"{title}. {described}.")


def scatter_chart(
    points: Sequence[Point], x_title: str, y_title: str, series: Sequence[str], *, is_wide: bool = False
) -> Markup:
    """Draw points on two axes of percentages, each with its label."""
    x_end, y_end = axis_end(p.x for p in points), axis_end(p.y for p in points)
    width, height = _plot_size(is_wide)
    scales = x_end / width, y_end / height
    places = {axis: {"field": f"label_{axis}", "type": "quantitative"} for axis in "xy"}
    labels = {
        "mark": {"type": "text", "fontSize": POINT_LABEL, "dx": 0},
        "encoding": {**places, "text": {"field": "label"}},
    }
    leaders = {
        "mark": {"type": "rule", "color": "var(--line)"},
        "encoding": {"x2": {"field": "label_x"}, "y2": {"field": "label_y"}},
    }
    axes = {
        "x": _axis_from_zero("x", f"{x_title}, %", x_end, "center"),
        "y": _axis_from_zero("y", f"{y_title}, %", y_end, "right"),
    }
    described = "; ".join(f"{_name(p)}: {percent(p.x)} and {percent(p.y)}" for p in points)
    values = (
        {**_values(p), "label_x": p.x + dx * scales[0], "label_y": p.y + dy * scales[1]}
        for p, (dx, dy) in zip(points, _label_offsets(points, *scales), strict=True)
    )
    layers = [leaders, _markers(series, legend_columns=3), labels]
    return _plot(axes, layers, values, f"Scatter plot of {y_title} over {x_title}. {described}.", is_wide=is_wide)


def growth_chart(
    points: Sequence[Point], y_title: str, series: Sequence[str], end: float, *, is_wide: bool = False
) -> Markup:
    """Draw a line of percentages per series over k, which has a logarithmic axis."""
    ks = sorted({p.x for p in points})
    scale = {"type": "log", "domain": [ks[0], ks[-1]], "nice": False}
    axes = {
        "x": _axis("x", "k", scale, values=ks, format="d", labelOverlap=True, labelAlign="center"),
        "y": _axis_from_zero("y", f"{y_title}, %", end, "right"),
    }
    described = "; ".join(f"{_name(p)}, k {p.x:.0f}: {percent(p.y)}" for p in points)
    description = f"Line chart of {y_title} over k. {described}."
    return _plot(axes, _lines(series, legend_columns=3), map(_values, points), description, is_wide=is_wide)


def line_chart(points: Sequence[Point], x_title: str, y_title: str, series: Sequence[str]) -> Markup:
    """Draw a line of figures of any unit per series over a parameter; the y axis begins at zero."""
    xs = sorted({p.x for p in points})
    axes = {
        "x": _axis("x", x_title, {"domain": [xs[0], xs[-1]], "nice": False}, values=xs, labelAlign="center"),
        "y": _axis_from_zero("y", y_title, max(p.y for p in points), "right"),
    }
    described = "; ".join(f"{_name(p)}, {x_title} {p.x:g}: {p.y:.3g}" for p in points)
    description = f"Line chart of {y_title} over {x_title}. {described}."
    return _plot(axes, _lines(series, legend_columns=1), map(_values, points), description)


def axis_end(values: Iterable[float]) -> float:
    """Return where an axis of percentages ends: a little above the largest value, at most at 100."""
    return min(100.0, max(1.0, 1.08 * max(values, default=100.0)))


def draw(spec: Spec, values: Sequence[Mapping[str, Any]], description: str) -> Markup:
    """Return the chart as an SVG element whose `aria-label` is the description."""
    complete = {"width": BAR_WIDTH, **spec, "data": {"values": values}, "config": _CONFIG}
    width, height, content = _to_svg(json.dumps(complete))
    opening = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">')
    return opening.format(description, width, height, width, height) + content + Markup("</svg>")


@lru_cache(_CACHED_CHARTS)
def _to_svg(spec: str) -> tuple[str, str, Markup]:
    """Return the width, the height and the content of the SVG of a specification.

    The namespaces are dropped because HTML does not need them, and the roles of the marks because they have no names.
    """
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    opening = re.match(r'<svg[^>]*? width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"[^>]*>', svg)
    if opening is None:
        raise InternalError("vl-convert returned no SVG with a width and a height; please report this.")
    content = Markup(_ROLES.sub("", svg[opening.end() : svg.rindex("</svg>")]))  # vl-convert has escaped all text
    return opening["width"], opening["height"], content


def _plot(
    axes: Spec, layers: list[Spec], values: Iterable[Mapping[str, Any]], description: str, *, is_wide: bool = False
) -> Markup:
    width, height = _plot_size(is_wide)
    return draw({"width": width, "height": height, "encoding": axes, "layer": layers}, list(values), description)


def _plot_size(is_wide: bool) -> tuple[int, int]:
    return (WIDE_PLOT_WIDTH, WIDE_PLOT_HEIGHT) if is_wide else (PLOT_WIDTH, PLOT_HEIGHT)


def _values(point: Point) -> Spec:
    return {"x": point.x, "y": point.y, "series": point.series, "label": point.label}


def _row_labels(labels: Sequence[str]) -> Spec:
    """Return the encoding of one row per label in the given order, with room for the longest label."""
    width = LABEL_MARGIN + CHARACTER_WIDTH * max(map(len, labels), default=0)
    return {"field": "row", "type": "nominal", "sort": None, "axis": {"labelPadding": width, "labelLimit": width}}


def _axis(field: str, title: str, scale: Spec, **options: Any) -> Spec:
    """Return the encoding of a field on an axis with grid lines."""
    return {"field": field, "type": "quantitative", "scale": scale, "axis": {**_GRID_AXIS, "title": title, **options}}


def _axis_from_zero(field: str, title: str, end: float, align: str) -> Spec:
    return _axis(field, title, {"domain": [0, end], "nice": False}, tickCount=5, labelAlign=align)


def _series_colour(series: Sequence[str], legend_columns: int) -> Spec:
    colours = [f"var(--series-{i % SERIES_COLOURS + 1})" for i in range(len(series))]
    legend = {"columns": legend_columns, "symbolSize": 90, "labelLimit": 300} if len(series) > 1 else None
    return {"field": "series", "type": "nominal", "scale": {"domain": list(series), "range": colours}, "legend": legend}


def _markers(series: Sequence[str], legend_columns: int) -> Spec:
    """Return a layer of points; each series has a colour and a shape."""
    colour = _series_colour(series, legend_columns)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(series))]
    shape = {**colour, "scale": {"domain": list(series), "range": shapes}}
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    return {"mark": mark, "encoding": {"color": colour, "shape": shape}}


def _lines(series: Sequence[str], legend_columns: int) -> list[Spec]:
    """Return a layer of lines and one of points."""
    colour = _series_colour(series, legend_columns)
    line = {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"color": colour}}
    return [line, _markers(series, legend_columns)]


def _label_offsets(points: Sequence[Point], x_scale: float, y_scale: float) -> list[tuple[float, float]]:
    """Return where each label begins, in pixels from its point: as near as no other label or point is covered.

    The scales are units of the axes per pixel.
    """
    at = [(p.x / x_scale, p.y / y_scale) for p in points]
    taken = [(x - 5, x + 5, y - 5, y + 5) for x, y in at]
    offsets: list[tuple[float, float]] = []
    for (x, y), point in zip(at, points, strict=True):
        width, half = LABEL_WIDTH * len(point.label), POINT_LABEL / 2
        heights = (sign * step * POINT_LABEL for step in range(2 * len(points) + 2) for sign in (1, -1))
        for dx, dy in ((side, height) for height in heights for side in (9.0, -9.0 - width)):
            box = x + dx, x + dx + width, y + dy - half, y + dy + half
            is_free = all(box[1] <= t[0] or t[1] <= box[0] or box[3] <= t[2] or t[3] <= box[2] for t in taken)
            if box[0] >= 0 and box[2] >= 0 and (is_free or not point.label):
                break
        taken.append(box)
        offsets.append((dx, dy))
    return offsets


def _name(point: Point) -> str:
    return " ".join(part for part in (point.series, point.label) if part) or "run"
