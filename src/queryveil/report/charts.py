"""The charts of the report: Vega-Lite made into SVG that takes its colours from the page.

Colours are names of the page's style (`currentColor`, `var(--after)`), so that one chart serves light and dark. The
numbers are drawn beside the bars: nobody has to read them off an axis, and they are repeated in a table.
"""

import re
from collections.abc import Sequence
from typing import Any

import vl_convert

from queryveil.core.errors import InternalError
from queryveil.report.figures import percent
from queryveil.report.markup import Markup, tag

# One grammar for all versions of vl-convert that we accept, so that the same figures give the same bytes.
VEGA_LITE = "5.20"
PLOT_WIDTH, LABEL_WIDTH = 230, 110
BAR, GAP = 18, 12
_ROLES = re.compile(r' (role="graphics-[a-z]+"|aria-roledescription="[^"]*")')

CONFIG: dict[str, Any] = {
    "background": None,
    "padding": {"left": 0, "right": 16, "top": 2, "bottom": 2},  # the page's font may be wider than the one measured
    "aria": False,  # the picture as a whole has a label; its pieces would only be read out one by one
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "title": None,
        "grid": False,
        "ticks": False,
        "domain": False,
        "labelColor": "currentColor",
        "labelFontSize": 14,
        "labelAlign": "left",
    },
    "legend": {
        "title": None,
        "orient": "top",
        "labelColor": "currentColor",
        "labelFontSize": 14,
        "symbolType": "square",
        "symbolStrokeWidth": 0,
        "symbolSize": 160,
        "columnPadding": 20,
        "offset": 14,
    },
    "text": {"color": "currentColor", "fontSize": 14, "align": "left", "dx": 8, "baseline": "middle"},
}


def warm_up() -> None:
    """Draw a chart for nobody: the first one takes longer than all others."""
    retention_chart([("", 0.0)])


def retention_chart(shares: Sequence[tuple[str, float]]) -> Markup:
    """Draw what was kept of each thing as a bar on a track that stands for the whole."""
    full = max(100.0, *(value for _, value in shares))
    values = [{"what": what, "kept": value, "text": percent(value), "full": full} for what, value in shares]
    bar = {"type": "bar", "height": BAR, "cornerRadius": 2}
    spec = {
        "height": {"step": BAR + GAP},
        "encoding": {"y": _rows("what", LABEL_WIDTH)},
        "layer": [
            {"mark": {**bar, "color": "var(--track)"}, "encoding": {"x": _length("full", full)}},
            {"mark": {**bar, "color": "var(--after)"}, "encoding": {"x": _length("kept", full)}},
            {"mark": "text", "encoding": {"x": _length("full", full), "text": {"field": "text"}}},
        ],
    }
    spoken = ", ".join(f"{what} {percent(value)}" for what, value in shares)
    return draw(spec, values, f"Bar chart of what was kept: {spoken}.")


def unique_chart(shares: Sequence[tuple[int, float | None, float | None]]) -> Markup:
    """Draw, for each number of known terms, who was singled out before and who is after."""
    values = [
        {"known": _terms(m), "where": where, "share": value, "text": percent(value)}
        for m, before, after in shares
        for where, value in (("original log", before), ("release", after))
        if value is not None
    ]
    colours = {"domain": ["original log", "release"], "range": ["var(--before)", "var(--after)"]}
    spec = {
        "height": {"step": BAR + 4},
        "encoding": {
            "y": {**_rows("known", LABEL_WIDTH // 2 + 10), "scale": {"paddingInner": 0.25}},
            "yOffset": {"field": "where", "type": "nominal", "sort": colours["domain"]},
            "x": _length("share", 100.0),
        },
        "layer": [
            {
                "mark": {"type": "bar", "height": BAR, "cornerRadius": 2},
                "encoding": {"color": {"field": "where", "type": "nominal", "scale": colours}},
            },
            {"mark": "text", "encoding": {"text": {"field": "text"}}},
        ],
    }
    spoken = "; ".join(f"{_terms(m)}: original log {percent(b)}, release {percent(a)}" for m, b, a in shares)
    return draw(spec, values, f"Bar chart of the share singled out, by number of known terms. {spoken}.")


def _terms(m: int) -> str:
    return "1 term" if m == 1 else f"{m} terms"


def _rows(field: str, label_width: int) -> dict[str, Any]:
    """Return the encoding of one row for each value, in the order given, with room for its label."""
    return {"field": field, "type": "nominal", "sort": None, "axis": {"labelPadding": label_width}}


def _length(field: str, full: float) -> dict[str, Any]:
    """Return the encoding of a bar's length from zero, without an axis."""
    return {"field": field, "type": "quantitative", "scale": {"domain": [0, full]}, "axis": None, "stack": None}


def draw(spec: dict[str, Any], values: list[dict[str, Any]], spoken: str) -> Markup:
    """Render to SVG with a label in place of its namespaces, which a page does not need.

    Its pieces lose their roles: they have no names, and the label of the whole says all.
    """
    whole = {"width": PLOT_WIDTH, **spec, "data": {"values": values}, "config": CONFIG}
    svg: str = vl_convert.vegalite_to_svg(whole, vl_version=VEGA_LITE)
    opening = re.match(r'<svg[^>]*? width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"[^>]*>', svg)
    if opening is None:
        raise InternalError("vl-convert returned no SVG with a width and a height; please report this.")
    width, height = opening["width"], opening["height"]
    inside = Markup(_ROLES.sub("", svg[opening.end() : svg.rindex("</svg>")]))
    return tag(
        "svg", inside, role="img", aria_label=spoken, viewBox=f"0 0 {width} {height}", width=width, height=height
    )
