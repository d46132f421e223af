"""Charts of the reports and of the web pages, written as SVG.

Colours are names of the page's style sheet (`currentColor`, `var(--after)`), so that one chart serves light and dark
mode; series differ in shape as well. Bars carry their figures as text, and every chart has a table next to it.
Widths of texts are estimated, since the page's font is unknown here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from queryveil.report.rendering import number, percent

BAR_WIDTH, BAR_HEIGHT, BAR_GAP = 220, 18, 12  # pixels; the width is that of the longest possible bar
WIDE_BAR_WIDTH = 560  # where the chart has the page to itself
PLOT_WIDTH, PLOT_HEIGHT = 330, 240  # of scatter plots and line charts
WIDE_PLOT_WIDTH, WIDE_PLOT_HEIGHT = 900, 400  # likewise
RANGE_WIDTH = 260
CHARACTER_WIDTH, LABEL_MARGIN, LINE_HEIGHT = 7.6, 14, 20
TEXT_GAP, BASELINE = 8, 5  # from a mark to its text; from the middle of a line to its baseline
SERIES_COLOURS = 10  # --series-1, … of the style sheet
SHAPES = (  # about 70 square pixels each: circle, square, triangle, diamond, cross, and the triangle turned
    "M-4.7,0A4.7,4.7 0 1 1 4.7,0A4.7,4.7 0 1 1 -4.7,0Z",
    "M-4.2,-4.2H4.2V4.2H-4.2Z",
    "M0,-5.5L6.4,5.5H-6.4Z",
    "M0,-5.9L5.9,0L0,5.9L-5.9,0Z",
    "M-5.6,-1.9H-1.9V-5.6H1.9V-1.9H5.6V1.9H1.9V5.6H-1.9V1.9H-5.6Z",
    "M0,5.5L6.4,-5.5H-6.4Z",
    "M5.5,0L-5.5,6.4V-6.4Z",
    "M-5.5,0L5.5,6.4V-6.4Z",
)
POINT_ROOM = 5  # pixels around a point that no label covers
N_TICKS = 5
_FIGURE_WIDTH = TEXT_GAP + 7 * CHARACTER_WIDTH  # "100.0%" and some room

_SVG = Markup(
    '<svg role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}" font-family="sans-serif" '
    'font-size="14" fill="currentColor">{}</svg>'
)
_TEXT = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
_BAR = Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="2" fill="{}"/>')
_LINE = Markup('<path d="M{},{}L{},{}" stroke="{}" stroke-width="{}"/>')
_MARKER = Markup('<path transform="translate({},{})" d="{}" fill="{}"/>')
_CURVE = Markup('<path d="M{}" fill="none" stroke="{}" stroke-width="2"/>')


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot or a line chart."""

    x: float
    y: float
    series: str
    label: str = ""


@dataclass(frozen=True)
class Axis:
    """The range of an axis, whether it is logarithmic, its title, and where it has grid lines."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    is_log: bool = False

    def position(self, value: float, length: float) -> float:
        """Return where a value is on an axis of this length; one that has a single value shows it in the middle."""
        if self.low == self.high:
            return length / 2
        value, low, high = (math.log(v) if self.is_log else v for v in (value, self.low, self.high))
        return length * (value - low) / (high - low)


def bar_chart(rows: Sequence[tuple[str, float]], description: str, *, end: float, on_track: bool = False) -> Markup:
    """Draw one bar of a percentage per row; with `on_track`, each on a lighter bar that stands for `end`."""
    left, step = _label_width(label for label, _ in rows), BAR_HEIGHT + BAR_GAP
    marks, figures = [], []
    for i, (_, value) in enumerate(rows):
        width = BAR_WIDTH * min(1.0, value / end)
        if on_track:
            marks.append(_bar(left, i * step + BAR_GAP / 2, BAR_WIDTH, "var(--track)"))
        marks.append(_bar(left, i * step + BAR_GAP / 2, width, "var(--after)"))
        figures.append(_text(left + (BAR_WIDTH if on_track else width) + TEXT_GAP, (i + 0.5) * step, percent(value)))
    names = [_text(0, (i + 0.5) * step, label) for i, (label, _) in enumerate(rows)]
    return _draw(left + BAR_WIDTH + _FIGURE_WIDTH, len(rows) * step, [*marks, *names, *figures], description)


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
    longest = WIDE_BAR_WIDTH if is_wide else BAR_WIDTH
    left, step = _label_width(label for label, _ in rows), BAR_HEIGHT + 4
    height, legend = _legend([(name, SHAPES[1], colour) for name, colour in colours.items()], len(colours))
    marks, names, figures = legend, [], []
    for label, values in rows:
        names.append(_text(0, height + len(colours) * step / 2, label))
        for value, colour in zip(values, colours.values(), strict=True):
            if value is not None:
                width = longest * min(100.0, value) / 100
                marks.append(_bar(left, height + 2, width, colour))
                figures.append(_text(left + width + TEXT_GAP, height + step / 2, percent(value)))
            height += step
        height += BAR_GAP
    described = (
        f"{label}: {', '.join(f'{name} {percent(value)}' for name, value in zip(colours, values, strict=True))}"
        for label, values in rows
    )
    content = [*marks, *names, *figures]
    return _draw(left + longest + _FIGURE_WIDTH, height, content, f"{title}. {'; '.join(described)}.")


def range_chart(rows: Sequence[tuple[str, int, float, int]], x_title: str, description: str) -> Markup:
    """Draw a line from the lowest to the highest count per row on a logarithmic axis, with a dot at the median."""
    left, step = _label_width(row[0] for row in rows), BAR_HEIGHT + BAR_GAP
    powers = [1, 10]
    while powers[-1] < max(row[3] for row in rows):
        powers.append(10 * powers[-1])
    axis = Axis(x_title, 1, powers[-1], powers, is_log=True)
    content = _x_axis(axis, left, RANGE_WIDTH, 0, len(rows) * step)
    for i, (label, *counts) in enumerate(rows):
        low, median, high = (left + axis.position(max(1, count), RANGE_WIDTH) for count in counts)
        y = (i + 0.5) * step
        content += [
            _line(low, y, high, y, "var(--before)", 4),
            _line(low, y - BAR_HEIGHT / 2, low, y + BAR_HEIGHT / 2, "var(--after)", 3),
            _marker(median, y, SHAPES[0], "var(--after)"),
            _text(0, y, label),
        ]
    return _draw(left + RANGE_WIDTH + _FIGURE_WIDTH, len(rows) * step + 2 * LINE_HEIGHT, content, description)


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
    axes = _axis_from_zero(f"{x_title}, %", x_end), _axis_from_zero(f"{y_title}, %", y_end)
    described = "; ".join(f"{_name(p)}: {percent(p.x)} and {percent(p.y)}" for p in points)
    description = f"Scatter plot of {y_title} over {x_title}. {described}."
    return _plot(axes, points, series, description, has_lines=False, is_wide=is_wide)


def growth_chart(
    points: Sequence[Point], y_title: str, series: Sequence[str], end: float, *, is_wide: bool = False
) -> Markup:
    """Draw a line of percentages per series over k, which has a logarithmic axis."""
    ks = sorted({p.x for p in points})
    axes = Axis("k", ks[0], ks[-1], ks, is_log=True), _axis_from_zero(f"{y_title}, %", end)
    described = "; ".join(f"{_name(p)}, k {p.x:.0f}: {percent(p.y)}" for p in points)
    return _plot(axes, points, series, f"Line chart of {y_title} over k. {described}.", is_wide=is_wide)


def line_chart(points: Sequence[Point], x_title: str, y_title: str, series: Sequence[str]) -> Markup:
    """Draw a line of figures of any unit per series over a parameter; the y axis begins at zero."""
    xs = sorted({p.x for p in points})
    axes = Axis(x_title, xs[0], xs[-1], xs), _axis_from_zero(y_title, max(p.y for p in points))
    described = "; ".join(f"{_name(p)}, {x_title} {p.x:g}: {p.y:.3g}" for p in points)
    return _plot(axes, points, series, f"Line chart of {y_title} over {x_title}. {described}.")


def axis_end(values: Iterable[float]) -> float:
    """Return where an axis of percentages ends: a little above the largest value, at most at 100."""
    return min(100.0, max(1.0, 1.08 * max(values, default=100.0)))


def _plot(
    axes: tuple[Axis, Axis],
    points: Sequence[Point],
    series: Sequence[str],
    description: str,
    *,
    has_lines: bool = True,
    is_wide: bool = False,
) -> Markup:
    """Draw points, each series in a colour and a shape of its own, with lines through them or with labels."""
    (x_axis, y_axis), (width, height) = axes, (PLOT_WIDTH, PLOT_HEIGHT)
    if is_wide:
        width, height = WIDE_PLOT_WIDTH, WIDE_PLOT_HEIGHT
    styles = {
        name: (SHAPES[i % len(SHAPES)], f"var(--series-{i % SERIES_COLOURS + 1})") for i, name in enumerate(series)
    }
    top, content = _legend([(name, *style) for name, style in styles.items()] if len(series) > 1 else [], 3)
    left, bottom = LINE_HEIGHT + _label_width(f"{tick:,g}" for tick in y_axis.ticks), top + height
    content += _x_axis(x_axis, left, width, top, height) + _y_axis(y_axis, left, width, top, height)
    placed = [(left + x_axis.position(p.x, width), bottom - y_axis.position(p.y, height), p) for p in points]
    content += [] if has_lines else _point_labels(placed, left, top)
    for name, (shape, colour) in styles.items():
        own = [each for each in placed if each[2].series == name]
        if has_lines and own:
            path = "L".join(f"{x:.1f},{y:.1f}" for x, y, _ in sorted(own, key=lambda each: each[0]))
            content.append(_CURVE.format(path, colour))
        content += [_marker(x, y, shape, colour) for x, y, _ in own]
    return _draw(left + width + 2 * _FIGURE_WIDTH, bottom + 2.5 * LINE_HEIGHT, content, description)


def _x_axis(axis: Axis, left: float, width: float, top: float, height: float) -> list[Markup]:
    """Return vertical grid lines, their labels as far as these do not overlap, and the title below them."""
    parts, bottom, free = [], top + height, -math.inf
    for tick in axis.ticks:
        x, label = left + axis.position(tick, width), f"{tick:,g}"
        parts.append(_line(x, top, x, bottom, "var(--line)", 1))
        if x - CHARACTER_WIDTH * len(label) / 2 > free:
            parts.append(_text(x, bottom + LINE_HEIGHT / 2 + 2, label, "middle"))
            free = x + CHARACTER_WIDTH * (len(label) + 1) / 2
    return [*parts, _text(left + width / 2, bottom + 1.6 * LINE_HEIGHT, axis.title, "middle")]


def _y_axis(axis: Axis, left: float, width: float, top: float, height: float) -> list[Markup]:
    """Return horizontal grid lines with labels on their left, and the title, turned, at the edge."""
    parts = []
    for tick in axis.ticks:
        y = top + height - axis.position(tick, height)
        parts += [_line(left, y, left + width, y, "var(--line)", 1), _text(left - 6, y, f"{tick:,g}", "end")]
    turned = Markup('<g transform="translate({},{}) rotate(-90)">{}</g>')
    return [*parts, turned.format(LINE_HEIGHT / 2, top + height / 2, _text(0, 0, axis.title, "middle"))]


def _axis_from_zero(title: str, end: float) -> Axis:
    """Return an axis with about five round steps from 0 to the first one that is not below `end`."""
    raw = (end or 1.0) / N_TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next((factor for factor in (1, 2, 5) if raw / power < factor * 1.5), 10)
    n_steps = math.ceil(end / step - 1e-9) or 1
    return Axis(title, 0, n_steps * step, [i * step for i in range(n_steps + 1)])


def _legend(entries: Sequence[tuple[str, str, str]], most_columns: int) -> tuple[float, list[Markup]]:
    """Return the height of a legend and its parts: names with their shape and colour, in columns that fit."""
    width = 2 * LABEL_MARGIN + _label_width(name for name, _, _ in entries)
    n_columns = max(1, min(most_columns, int((PLOT_WIDTH + LABEL_MARGIN) / width)))
    parts = []
    for i, (name, shape, colour) in enumerate(entries):
        x, y = width * (i % n_columns), LINE_HEIGHT * (i // n_columns + 0.5)
        parts += [_marker(x + TEXT_GAP, y, shape, colour), _text(x + 2.5 * TEXT_GAP, y, name)]
    return LINE_HEIGHT * math.ceil(len(entries) / n_columns) + LABEL_MARGIN, parts


def _draw(width: float, height: float, content: Iterable[Markup], description: str) -> Markup:
    """Return the chart as an SVG element whose `aria-label` is the description."""
    size = f"{width:.0f}", f"{height:.0f}"
    return _SVG.format(description, *size, *size, Markup("").join(content))


def _text(x: float, y: float, text: str, anchor: str = "start") -> Markup:
    """Return a text whose middle line is at y."""
    return _TEXT.format(f"{x:.1f}", f"{y + BASELINE:.1f}", anchor, text)


def _bar(x: float, y: float, width: float, colour: str) -> Markup:
    return _BAR.format(f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", BAR_HEIGHT, colour)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> Markup:
    return _LINE.format(f"{x1:.1f}", f"{y1:.1f}", f"{x2:.1f}", f"{y2:.1f}", colour, width)


def _marker(x: float, y: float, shape: str, colour: str) -> Markup:
    return _MARKER.format(f"{x:.1f}", f"{y:.1f}", shape, colour)


def _label_width(labels: Iterable[str]) -> float:
    """Return the room that the longest of the labels needs."""
    return LABEL_MARGIN + CHARACTER_WIDTH * max(map(len, labels), default=0)


def _point_labels(placed: Sequence[tuple[float, float, Point]], left: float, top: float) -> list[Markup]:
    """Return the labels of points, each as near as it covers no other label or point, with a line to its point."""
    taken = [(x - POINT_ROOM, x + POINT_ROOM, y - POINT_ROOM, y + POINT_ROOM) for x, y, _ in placed]
    parts: list[Markup] = []
    for x, y, point in placed:
        if not point.label:
            continue
        width, half = CHARACTER_WIDTH * len(point.label), LINE_HEIGHT / 2 - 1
        heights = (sign * step * half for step in range(2 * len(placed) + 2) for sign in (-1, 1))
        for dx, dy in ((side, height) for height in heights for side in (float(TEXT_GAP), -TEXT_GAP - width)):
            box = x + dx, x + dx + width, y + dy - half, y + dy + half
            is_free = all(box[1] <= t[0] or t[1] <= box[0] or box[3] <= t[2] or t[3] <= box[2] for t in taken)
            if box[0] >= left and box[2] >= top and is_free:
                break
        taken.append(box)
        parts += [_line(x, y, x + dx, y + dy, "var(--line)", 1), _text(x + dx, y + dy, point.label)]
    return parts


def _name(point: Point) -> str:
    return " ".join(part for part in (point.series, point.label) if part) or "run"
