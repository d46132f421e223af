"""The beginning of a log as it would be read: its first rows by role, and what cleaning does to its first lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.files import scratch
from queryveil.engines import LogSource, open_log
from queryveil.logs.files import Sample, open_decompressed, take_sample
from queryveil.logs.formats.table import parquet_file

SAMPLED_LINES = 1_000  # that are cleaned to show what cleaning does
_SHOWN_ROWS, _SHOWN_LINES, _LONGEST_LINE = 8, 5, 300
_DELIMITERS = (",", "\t", ";", "|")


@dataclass(frozen=True)
class LogPreview:
    """What the beginning of a log looks like, or why it cannot be read and in which option the reason lies."""

    lines: tuple[str, ...]  # the first ones as they are in the file; none of a Parquet file
    columns: tuple[str, ...]  # of the file
    format: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)  # user, query, time, rank, url → column
    rows: tuple[Mapping[str, str], ...] = ()  # the first ones, by role
    steps: tuple[str, ...] = ()  # of cleaning the first lines, with what each found
    n_lines: int = 0  # that were cleaned
    problem: str = ""
    field: str = ""


def preview(source: LogSource) -> LogPreview:
    """Return the preview of a log of one file, or raise if the file cannot be a log, however it is read."""
    [path] = source.paths
    sample = take_sample(path)
    lines = () if sample.is_parquet else tuple(line[:_LONGEST_LINE] for line in sample.lines[:_SHOWN_LINES])
    found = LogPreview(lines, _column_names(sample))
    with scratch("preview") as folder:
        target = folder / f"log{'.parquet' if sample.is_parquet else ''}"
        n_lines = _write_beginning(sample, target)
        try:
            return _read(replace(source, paths=(target,)), replace(found, n_lines=n_lines))
        except QueryveilError as error:
            problem = str(error).replace(str(target), str(path))
            return replace(found, problem=problem, field=error.field if isinstance(error, InputError) else "")


def _column_names(sample: Sample) -> tuple[str, ...]:
    """Return what may be the names of a file's columns: its first line, cut where that gives the most parts."""
    if sample.is_parquet:
        with parquet_file(sample.path) as file:
            return tuple(file.schema_arrow.names)
    if sample.json_keys:
        return tuple(sample.json_keys)
    first = next(iter(sample.lines), "")
    parts = max((first.split(delimiter) for delimiter in _DELIMITERS), key=len)
    return tuple(part.strip().strip('"') for part in parts)


def _write_beginning(sample: Sample, target: Path) -> int:
    """Write the first lines, or rows, of a log into a file, and return how many there are."""
    if sample.is_parquet:
        with parquet_file(sample.path) as file:
            rows = pa.Table.from_batches(islice(file.iter_batches(SAMPLED_LINES), 1), file.schema_arrow)
        pq.write_table(rows, target)
        return int(rows.num_rows)
    with open_decompressed(sample.path, sample.compression) as stream:
        lines = list(islice(stream, SAMPLED_LINES))
    target.write_bytes(b"".join(lines))
    return len(lines)


def _read(source: LogSource, found: LogPreview) -> LogPreview:
    """Return the preview with what reading and cleaning the first lines finds."""
    from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences
    from queryveil.engines.local.files import find_files, rows_sql
    from queryveil.engines.local.reading import TYPES

    [file] = find_files(source)
    names = tuple(name for name in TYPES if name in {*file.layout.roles, "person"})
    with open_log(source) as log:
        steps = tuple(str(step) for step in log.steps.values())
    with Connection(source.reading.memory_bytes()) as connection, duckdb_errors_as_sentences("the log"):
        shown = f"({rows_sql(file, names)}) AS shown ({', '.join(names)})"
        rows = connection.database.execute(f"FROM {shown} WHERE person IS NOT NULL LIMIT {_SHOWN_ROWS}").fetchall()
    roles = ["user" if name == "person" else name for name in names]
    return replace(
        found,
        columns=file.layout.columns or found.columns,
        format=file.format,
        roles={("user" if role == "person" else role): column for role, column in file.layout.roles.items()},
        rows=tuple(
            {role: "" if value is None else str(value) for role, value in zip(roles, row, strict=True)} for row in rows
        ),
        steps=steps,
    )
