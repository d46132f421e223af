"""Reading a table of terms: the words as the log's are folded, one number or none in each other column."""

import csv
from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.logs.characters import terms

TERM = "term"
_NAN = float("nan")
LARGEST = 1e15  # sums of products of two such numbers over any log stay far below the end of what a float holds


def read_terms(
    path: Path, option: str, columns: Sequence[str], charset: str, *, gaps: bool
) -> tuple[dict[str, int], NDArray[np.float64]]:
    """Return each term's row and the numbers, a row per term; with `gaps` an empty cell is no value (nan).

    The file is CSV, or TSV where its first line holds a tab; columns may stand in any order, others are ignored.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(path, stream, columns, charset, gaps)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check {option}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a UTF-8 CSV file; check {option}.") from None


def _read(
    path: Path, stream: TextIO, columns: Sequence[str], charset: str, gaps: bool
) -> tuple[dict[str, int], NDArray[np.float64]]:
    first = stream.readline()
    rows = csv.reader(chain((first,), stream), delimiter="\t" if "\t" in first else ",")
    header = next(rows, [])
    places = _places(path, header, columns)
    number: dict[str, int] = {}
    cells, lines = array("d"), array("q")
    for row in filter(None, rows):
        try:
            if len(row) != len(header):
                raise _LineError(f"it has {len(row)} cells, the first line {len(header)}; mend or quote it.")
            term = _term(row[places[0]], charset)
            if term in number:
                raise _LineError(f"the term {term!r} stands in line {lines[number[term]]} already; keep one of them.")
            cells.extend([_number(row[place], name, gaps) for place, name in zip(places[1:], columns, strict=True)])
        except _LineError as fault:
            raise InputError(f"{path}, line {rows.line_num}: {fault}") from None
        number[term] = len(lines)
        lines.append(rows.line_num)
    if not number:
        raise InputError(f"{path} has no rows; give at least one term with its {' and '.join(columns)}.")
    return number, np.array(cells).reshape(len(number), len(columns))


class _LineError(Exception):
    """What is wrong with a line."""


def _places(path: Path, header: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return where the column of terms and those of numbers stand."""
    wanted = (TERM, *columns)
    names = [name.strip().lower() for name in header]
    if not any(names):
        raise InputError(f"{path} is empty; give a file with the columns {', '.join(wanted)}.")
    for name in wanted:
        if names.count(name) != 1:
            fault = "stands there twice" if name in names else "is missing"
            cut = ", separated by commas or tabs" if len(names) == 1 else ""
            raise InputError(
                f"{path}, line 1: the column {name} {fault}; the file needs the columns {', '.join(wanted)}{cut}."
            )
    return [names.index(name) for name in wanted]


def _term(text: str, charset: str) -> str:
    """Return a term as the log's are folded; one of several words stays as it is, and matches nothing in a log."""
    term = " ".join(terms(text, charset))
    if not term:
        raise _LineError(f"the term {text!r} holds no letter or digit; mend it or leave the line out.")
    return term


def _number(text: str, column: str, gaps: bool) -> float:
    if gaps and not text.strip():
        return _NAN
    try:
        value = _NAN if "_" in text else float(text)
    except ValueError:
        value = _NAN
    if not 0 <= value <= LARGEST:
        what = f"{text!r}; mend it" + (" or leave it empty" if gaps else "")
        raise _LineError(f"the {column} must be a number from 0 to {LARGEST:g}, not {what}.")
    return value
