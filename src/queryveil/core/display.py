"""How results are shown: as tables of other libraries, in a notebook, on a terminal."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar

from queryveil.core.extras import needs

LONGEST_REPR = 500


class Brief:
    """Base of results whose `repr` consists of names and figures: it is short, and nothing of a log is in it."""

    _shown: ClassVar[tuple[str, ...]] = ()  # attributes; of several things their number is shown

    def __repr__(self) -> str:
        values = ((name.removeprefix("n_"), getattr(self, name)) for name in self._shown)
        shown = (f"{name}={len(value) if isinstance(value, tuple | Mapping) else value}" for name, value in values)
        return f"{type(self).__name__}({', '.join(shown)})"[:LONGEST_REPR]


class Tabular(Brief):
    """Something with an Arrow table, which pandas and Polars can take."""

    def to_arrow(self) -> Any:
        """Return the rows as an Arrow table."""
        raise TypeError(f"{type(self).__name__} has no rows")

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame."""
        with needs("pandas", "to_pandas()"):
            import pandas  # noqa: F401  (Arrow would import it, and fail in other ways)
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a Polars data frame."""
        with needs("polars", "to_polars()"):
            import polars
        return polars.from_arrow(self.to_arrow())


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a plain HTML table of texts, for notebooks."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def counted(count: int, things: str) -> str:
    """Return a number of things; of one, their first plural becomes singular: "1 user left out as bots"."""
    if count == 1:
        things = re.sub(r"\bpeople\b|(ie)?s\b", _singular, things, count=1)
    return f"{count:,} {things}"


def alternatives(words: Sequence[str], link: str = "or") -> str:
    """Return words as alternatives, "a, b or c", or linked by another word."""
    *others, last = words
    return f"{', '.join(others)} {link} {last}" if others else last


def _singular(plural: re.Match[str]) -> str:
    return "person" if plural[0] == "people" else "y" if plural[1] else ""


def percent(value: float, gap: str = " ") -> str:
    """Return a percentage with one decimal, which never rounds to 0 % or 100 % unless the value is exactly that."""
    if 0 < value < 0.05:
        return f"<0.1{gap}%"
    if 99.95 <= value < 100:
        return f">99.9{gap}%"
    return f"{value:.1f}{gap}%"


def printable(text: str) -> str:
    """Write a text of somebody's file so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
