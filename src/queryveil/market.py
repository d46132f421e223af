"""The value of terms on the advertising market, or by a file of values."""

import csv
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.rows import FloatArray
from queryveil.logs.terms import terms

COLUMNS = ("bid", "clicks", "impressions")
FIGURES = (*COLUMNS, "revenue")
MAX_VALUE = 1e15  # the sum of products of two such numbers over any log is far from overflowing a float
_TERM = "term"
_NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Market:
    """The value of terms on the advertising market."""

    name: str  # of the file, for messages
    rows: Mapping[str, int]  # term → its row
    figures: Mapping[str, FloatArray]  # FIGURES → a number per row, NaN where it is unknown

    def of(self, figure: str, terms: Sequence[str]) -> FloatArray:
        """Return a figure of every term, NaN where it is unknown."""
        row = np.fromiter((self.rows.get(term, -1) for term in terms), np.int64, len(terms))
        return np.append(self.figures[figure], np.nan)[row]


def read_market(path: Path, charset: str = "letters") -> Market:
    """Read a file with the columns term, bid, clicks and impressions; an empty cell is an unknown value."""
    return make_market(str(path), *_read_terms(path, "--market", COLUMNS, charset, gaps=True))


def make_market(name: str, rows: Mapping[str, int], numbers: FloatArray) -> Market:
    """Return a market table from a row of bid, clicks and impressions per term."""
    bid, clicks, impressions = numbers.T
    figures = {"bid": bid, "clicks": clicks, "impressions": impressions, "revenue": clicks * bid}
    return Market(name, rows, figures)


def read_values(path: Path, charset: str = "letters") -> Mapping[str, float]:
    """Read a file with the columns term and value, for target=file; terms are folded like those of the log."""
    rows, numbers = _read_terms(path, "--values", ("value",), charset, gaps=False)
    return dict(zip(rows, numbers[:, 0].tolist(), strict=True))


def _read_terms(
    path: Path, option: str, columns: Sequence[str], charset: str, *, gaps: bool
) -> tuple[dict[str, int], FloatArray]:
    """Return each term's row number and the numbers, a row per term; with `gaps` an empty cell is allowed (NaN)."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _parse(path, stream, columns, charset, gaps)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check {option}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a UTF-8 CSV file; check {option}.") from None


def _parse(
    path: Path, stream: TextIO, columns: Sequence[str], charset: str, gaps: bool
) -> tuple[dict[str, int], FloatArray]:
    first = stream.readline()
    rows = csv.reader(chain((first,), stream), delimiter="\t" if "\t" in first else ",")
    header = next(rows, [])
    positions = _find_columns(path, header, columns)
    number: dict[str, int] = {}
    cells, lines = array("d"), array("q")
    for row in filter(None, rows):
        try:
            if len(row) != len(header):
                raise ValueError(f"it has {len(row)} cells, the first line {len(header)}; correct or quote it.")
            text = row[positions[0]]
            term = " ".join(terms(text, charset))  # one of several words matches nothing in a log
            if not term:
                raise ValueError(f"the term {text!r} holds no letter or digit; correct it or leave the line out.")
            if term in number:
                raise ValueError(f"the term {term!r} stands in line {lines[number[term]]} already; keep one of them.")
            cells.extend(_parse_number(row[at], name, gaps) for at, name in zip(positions[1:], columns, strict=True))
        except ValueError as fault:
            raise InputError(f"{path}, line {rows.line_num}: {fault}") from None
        number[term] = len(lines)
        lines.append(rows.line_num)
    if not number:
        raise InputError(f"{path} has no rows; give at least one term with its {' and '.join(columns)}.")
    return number, np.array(cells).reshape(len(number), len(columns))


def _find_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return the positions of the term column and of the number columns."""
    required = (_TERM, *columns)
    names = [name.strip().lower() for name in header]
    if not any(names):
        raise InputError(f"{path} is empty; give a file with the columns {', '.join(required)}.")
    for name in required:
        if names.count(name) != 1:
            fault = "stands there twice" if name in names else "is missing"
            cut = ", separated by commas or tabs" if len(names) == 1 else ""
            raise InputError(
                f"{path}, line 1: the column {name} {fault}; the file needs the columns {', '.join(required)}{cut}."
            )
    return [names.index(name) for name in required]


def _parse_number(text: str, column: str, gaps: bool) -> float:
    if gaps and not text.strip():
        return _NAN
    try:
        value = _NAN if "_" in text else float(text)
    except ValueError:
        value = _NAN
    if not 0 <= value <= MAX_VALUE:
        what = f"{text!r}; correct it" + (" or leave it empty" if gaps else "")
        raise ValueError(f"the {column} must be a number from 0 to {MAX_VALUE:g}, not {what}.")
    return value
