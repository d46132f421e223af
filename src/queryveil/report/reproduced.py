"""What the reproduction of a paper found: its tables and figures, as text and for JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.report.comparison_charts import Point


@dataclass(frozen=True)
class PaperTable:
    """A table in the paper's shape, the paper's figures beside ours."""

    name: str  # such as "Table 5"
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)  # columns that hold words; the others hold numbers
    notes: tuple[str, ...] = ()

    def numbers(self) -> tuple[int, ...]:
        """Return the columns to set flush right."""
        return tuple(i for i in range(len(self.headings)) if i not in self.words)


@dataclass(frozen=True)
class PaperFigure:
    """A figure of lines over a parameter, one for each series."""

    name: str
    caption: str
    what: str  # is on the y axis
    points: tuple[Point, ...]
    series: tuple[str, ...]
    over: str = "k"  # what is on the x axis; k has a logarithmic one, and shares in percent above it


@dataclass(frozen=True)
class Reproduced:
    """The tables and figures of a paper on a log at hand."""

    paper: str
    log: str  # a sentence about it
    warning: str  # what its owner must know before passing the page on; "" where there is nothing
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    numbers: Mapping[str, Any]  # everything, for JSON
    queryveil: str
    seconds: float
    reading: tuple[str, ...] = ()  # what the figures mean and what they do not
