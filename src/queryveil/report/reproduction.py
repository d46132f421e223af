"""The reproduction of a paper's evaluation: its tables and figures, next to the published ones, and their document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from queryveil.core.display import Brief
from queryveil.report.charts import Point, axis_end, growth_chart, line_chart, share_chart
from queryveil.report.rendering import render

TITLE = "A paper's evaluation, made again"


@dataclass(frozen=True)
class PaperTable:
    """A table in the paper's shape with the published figures next to ours."""

    name: str  # such as "Table 5"
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)  # columns that hold words; the others hold numbers
    notes: tuple[str, ...] = ()

    def numbers(self) -> tuple[int, ...]:
        """Return the columns that are aligned right."""
        return tuple(i for i in range(len(self.headings)) if i not in self.words)


@dataclass(frozen=True)
class PaperFigure:
    """A line chart over a parameter with one line per series, or bars; it is shown above the table of the same name."""

    name: str
    caption: str
    what: str  # title of the y axis
    points: tuple[Point, ...]
    series: tuple[str, ...]
    over: str = "k"  # title of the x axis; over k, percentages are drawn on a logarithmic axis; "": a bar per series

    def draw(self) -> Markup:
        """Draw the chart."""
        if not self.over:
            return share_chart(self.what, [(point.series, point.y) for point in self.points])
        if self.over == "k":
            return growth_chart(self.points, self.what, self.series, axis_end(point.y for point in self.points))
        return line_chart(self.points, self.over, self.what, self.series)


@dataclass(frozen=True, repr=False)
class Reproduction(Brief):
    """The tables and figures of a paper's evaluation, made on another log."""

    _shown = ("paper", "tables", "figures", "seconds")
    paper: str
    log: str  # a sentence about it
    warnings: tuple[str, ...]  # what one must know before passing the page on, or believing it
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    numbers: Mapping[str, Any]  # everything, for JSON
    queryveil: str  # the version
    seconds: float
    reading: tuple[str, ...] = ()  # what the figures mean and what they do not


def render_reproduction(reproduction: Reproduction) -> str:
    """Return the reproduction as one HTML document; the same input gives the same bytes."""
    charts = {figure.name: (figure.draw(), figure.caption) for figure in reproduction.figures}
    version = reproduction.queryveil
    return render("reproduction.html.j2", title=TITLE, version=version, reproduction=reproduction, charts=charts)
