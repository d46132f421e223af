"""A file of term values (`term, value`), for target=file."""

import csv
from pathlib import Path

from queryveil.errors import InputError
from queryveil.logs.characters import fold


def read_values(path: Path, charset: str = "letters") -> dict[str, float]:
    """Read a CSV file with the columns term and value; terms are folded as the log's are."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(path, csv.DictReader(stream), charset)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check --values.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a UTF-8 CSV file; check --values.") from None


def _read(path: Path, rows: "csv.DictReader[str]", charset: str) -> dict[str, float]:
    missing = [name for name in ("term", "value") if name not in (rows.fieldnames or [])]
    if missing:
        raise InputError(f"{path}, line 1: the column {missing[0]} is missing; the file needs the columns term, value.")
    values: dict[str, float] = {}
    for row in rows:
        term, where = fold(row["term"] or "", charset).strip(), f"{path}, line {rows.line_num}"
        if not term:
            raise InputError(f"{where}: the term is empty; give one.")
        if term in values:
            raise InputError(f"{where}: the term {term!r} stands in the file twice; keep one of them.")
        values[term] = _number(row["value"], where)
    if not values:
        raise InputError(f"{path} has no rows; give the value of at least one term.")
    return values


def _number(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise InputError(f"{where}: the value must be a number of at least 0, not {text!r}.")
    return value
