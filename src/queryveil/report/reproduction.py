"""The page of a reproduction: every table and figure of a paper, the paper's figures beside ours."""

from queryveil.report.comparison_charts import axis_end, growth_chart, line_chart
from queryveil.report.document import document
from queryveil.report.markup import Markup, table, tag
from queryveil.report.reproduced import PaperFigure, PaperTable, Reproduced

TITLE = "A paper's evaluation, made again"
READING = "What the figures mean"


def render_reproduction(done: Reproduced) -> str:
    """Return the reproduction as one HTML page; the same input gives the same bytes."""
    charts = {figure.name: figure for figure in done.figures}
    warning = tag("p", done.warning, class_="warning") if done.warning else ""
    sections = [
        tag("section", tag("p", done.paper), tag("p", done.log), warning),
        *(_section(found, charts.get(found.name)) for found in done.tables),
    ]
    if done.reading:
        sections.append(tag("section", tag("h2", READING), *(tag("p", text) for text in done.reading)))
    return document(TITLE, f"queryveil {done.queryveil}", sections, styles=("style.css", "comparison.css"))


def _section(found: PaperTable, chart: PaperFigure | None) -> Markup:
    """Show a table, below its chart where it is that of a figure."""
    made = table(found.caption, found.headings, found.rows, numbers=found.numbers())
    notes = [tag("li", note) for note in found.notes]
    return tag(
        "section",
        tag("h2", found.name),
        _figure(chart) if chart else "",
        tag("div", made, class_="wide", role="region", aria_label=found.name, tabindex="0"),
        tag("ul", *notes, class_="notes") if notes else "",
    )


def _figure(found: PaperFigure) -> Markup:
    if found.over == "k":
        chart = growth_chart(found.points, found.what, found.series, axis_end(point.y for point in found.points))
    else:
        chart = line_chart(found.points, found.over, found.what, found.series)
    return tag("div", tag("figure", chart, tag("figcaption", found.caption)), class_="charts")
