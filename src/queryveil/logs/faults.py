"""Locating the first unusable record of a text file, for the error message when the file is rejected."""

import csv
import io
import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from queryveil.logs.files import Compression, open_decompressed
from queryveil.logs.layout import UNIX_TIMES, Layout

NO_USER = "no user"
UNREADABLE_TIME = "a time that is neither ISO 8601 nor seconds, milliseconds … since 1970"
TOO_FEW = "too few columns"
TOO_MANY = "too many columns"
OPEN_QUOTE = "a quote that is not closed"
BROKEN_JSON = "a record that is not JSON"


def first_fault(path: Path, compression: Compression, layout: Layout) -> tuple[int, str] | None:
    """Return the line number and the fault of the first record that is malformed or has no user or a wrong time.

    The engine checks texts of times and bytes that are not UTF-8, so they are ignored here.
    """
    with io.TextIOWrapper(
        open_decompressed(path, compression), encoding="utf-8-sig", errors="replace", newline="\n"
    ) as stream:
        records = _check_json_lines(stream, layout) if layout.shape == "json" else _check_rows(stream, layout)
        return next(((line, fault) for line, fault in records if fault), None)


def _check_json_lines(stream: TextIO, layout: Layout) -> Iterator[tuple[int, str]]:
    """Yield the line number and the fault, or an empty text, of every record."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield number, BROKEN_JSON
            continue
        fields = record if isinstance(record, dict) else {}
        yield number, _fault_of({role: fields.get(key) for role, key in layout.roles.items()}, layout)


def _check_rows(stream: TextIO, layout: Layout) -> Iterator[tuple[int, str]]:
    """Yield the line number and the fault, or an empty text, of every row of a delimited file."""
    index = {role: layout.columns.index(column) for role, column in layout.roles.items()}
    for line, n_lines, row in islice(_split_rows(stream, layout), int(layout.header), None):
        if row is None or (len(row) != len(layout.columns) and n_lines > 1):
            yield line, OPEN_QUOTE
        elif len(row) != len(layout.columns):
            yield line, TOO_FEW if len(row) < len(layout.columns) else TOO_MANY
        else:
            yield line, _fault_of({role: row[number] for role, number in index.items()}, layout)


def _split_rows(stream: TextIO, layout: Layout) -> Iterator[tuple[int, int, list[str] | None]]:
    """Yield the first line, the number of lines and the fields of every row that is not empty."""
    if not layout.quote:
        for number, line in enumerate(stream, 1):
            if line.strip("\r\n"):
                yield number, 1, line.rstrip("\r\n").split(layout.delimiter)
        return
    rows = csv.reader(stream, delimiter=layout.delimiter, quotechar=layout.quote)
    while True:
        begin = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error:  # a field is too long for the reader, since a quote is not closed
            yield begin, rows.line_num - begin + 1, None
            return
        if row is None:
            return
        if row:
            yield begin, rows.line_num - begin + 1, row


def _fault_of(fields: dict[str, object], layout: Layout) -> str:
    """Return the fault in the user or the time of a record, or an empty text."""
    user = fields.get("person")
    if user is None or not str(user).strip(" "):
        return NO_USER
    time = str("" if fields.get("time") is None else fields["time"]).strip(" ")
    if layout.time in UNIX_TIMES and time:
        try:
            return "" if math.isfinite(float(time)) else UNREADABLE_TIME
        except ValueError:
            return UNREADABLE_TIME
    return ""
