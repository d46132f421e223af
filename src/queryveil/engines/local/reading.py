"""Reads the files of a log into one table `raw`: person, query, and those of time, rank, url, part that it has.

A bad line is one that DuckDB's reader rejects or whose person is NULL. A file with too many bad lines is refused;
otherwise they stay in `raw`, where row numbers identify the file, until `drop_bad_rows`.
"""

from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from queryveil.core.errors import LogError
from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences, fetch_number
from queryveil.engines.local.files import (
    LogFile,
    columns_sql,
    line_breaks_sql,
    parquet_sql,
    rows_sql,
    unreadable_time_sql,
)
from queryveil.logs.faults import NO_USER, OPEN_QUOTE, TOO_FEW, TOO_MANY, UNREADABLE_TIME, first_fault
from queryveil.logs.files import count_lines, lines_at, write_with_unix_line_ends
from queryveil.logs.options import Reading

TYPES = {
    "person": "VARCHAR",
    "query": "VARCHAR",
    "time": "TIMESTAMP",
    "rank": "VARCHAR",
    "url": "VARCHAR",
    "part": "VARCHAR",
}
_FAULTS = {
    "MISSING COLUMNS": TOO_FEW,
    "TOO MANY COLUMNS": TOO_MANY,
    "INVALID ENCODING": "bytes that are not UTF-8",
    "CAST": UNREADABLE_TIME,
    "UNQUOTED VALUE": OPEN_QUOTE,
    "LINE SIZE OVER MAXIMUM": "a line that is too long",
}


@dataclass(frozen=True)
class LineCounts:
    """The rows that one file added to `raw`, and its bad lines."""

    start: int  # the file's first row in `raw`
    n_rows: int
    n_unusable: int  # of these rows
    n_rejected: int  # lines that gave no row

    @property
    def n_bad(self) -> int:
        """Count the lines that gave no usable row."""
        return self.n_unusable + self.n_rejected

    @property
    def n_all(self) -> int:
        """Count all lines."""
        return self.n_rows + self.n_rejected


def create_raw(database: duckdb.DuckDBPyConnection, columns: tuple[str, ...]) -> None:
    """Create the empty table that the files are read into."""
    database.execute(f"CREATE TABLE raw ({', '.join(f'{name} {TYPES[name]}' for name in columns)})")


def read_file(connection: Connection, file: LogFile, reading: Reading, columns: tuple[str, ...]) -> int:
    """Append the rows of one file to `raw` and count its bad lines; refuse a file that has too many."""
    with duckdb_errors_as_sentences(str(file.path)):
        start = fetch_number(connection.database, "SELECT count(*) FROM raw")
        try:
            lines = _append_file(connection, file, columns, start)
        except duckdb.InvalidInputException as error:
            if "state machine" not in str(error):
                raise
            lines = None
        copy = connection.folder / "even"
        if lines is None or (lines.n_rows == 0 and file.layout.shape != "parquet"):  # caused by mixed line ends
            write_with_unix_line_ends(file.path, file.compression, copy)
            file = replace(file, normalized_copy=copy)
            lines = _append_file(connection, file, columns, start)
        n_bad = _check_bad_lines(connection.database, file, reading, lines)
        copy.unlink(missing_ok=True)
        return n_bad


def read_table(
    connection: Connection, table: pa.Table, file: LogFile, reading: Reading, columns: tuple[str, ...]
) -> int:
    """Append the rows of an Arrow table to `raw` and count its bad rows; refuse a table that has too many."""
    with duckdb_errors_as_sentences("the table"):
        lines = append_table(connection, table, file, columns)
        connection.database.register("memory_table", table)  # so that an error can name the first bad row
        n_bad = _check_bad_lines(connection.database, file, reading, lines)
        connection.database.unregister("memory_table")
        return n_bad


def append_table(connection: Connection, table: pa.Table, file: LogFile, columns: tuple[str, ...]) -> LineCounts:
    """Append the rows of an Arrow table to `raw` and count them."""
    database = connection.database
    database.register("memory_table", table)
    database.execute(f"INSERT INTO raw {columns_sql('memory_table', file.layout, columns)}")
    database.unregister("memory_table")
    return _count_rows(database, file, columns, 0, 0)


def drop_bad_rows(database: duckdb.DuckDBPyConnection) -> None:
    """Delete the unusable rows of `raw`."""
    database.execute("DELETE FROM raw WHERE person IS NULL")


def _append_file(connection: Connection, file: LogFile, columns: tuple[str, ...], start: int) -> LineCounts:
    """Append a file's rows; count them and the rejected lines."""
    database = connection.database
    database.execute("DROP TABLE IF EXISTS bad_lines; DROP TABLE IF EXISTS bad_scans")
    sql = rows_sql(file, columns, first_person=start, memory_bytes=connection.memory_bytes)
    database.execute(f"INSERT INTO raw {sql}")
    if file.layout.shape == "parquet":
        return _count_rows(database, file, columns, start, 0)
    n_rejected = fetch_number(database, "SELECT count(DISTINCT line) FROM bad_lines")
    lines = _count_rows(database, file, columns, start, n_rejected)
    if not file.layout.quote:
        return lines
    return replace(lines, n_rejected=n_rejected + _count_swallowed(connection, file, lines))


def _count_rows(
    database: duckdb.DuckDBPyConnection, file: LogFile, columns: tuple[str, ...], start: int, n_rejected: int
) -> LineCounts:
    """Count a file's rows; refuse a file with NUL bytes."""
    has_nul = " OR ".join(f"contains({name}, chr(0))" for name in columns if TYPES[name] == "VARCHAR")
    row = database.execute(
        f"SELECT count(*), count(*) FILTER (person IS NULL), coalesce(bool_or({has_nul}), false)"
        f" FROM raw WHERE rowid >= {start}"
    ).fetchall()[0]
    n_rows, n_unusable, is_binary = int(row[0]), int(row[1]), bool(row[2])
    if is_binary:
        raise LogError(f"{file.path} holds NUL bytes, so it is not a text log; convert it to UTF-8 text or Parquet.")
    return LineCounts(start, n_rows, n_unusable, n_rejected)


def _count_swallowed(connection: Connection, file: LogFile, lines: LineCounts) -> int:
    """Count the lines inside an unclosed quote: DuckDB may drop them without reporting it.

    Every line is the header, a row, a rejected line, or part of a field with line breaks; any other line was dropped.
    """
    missing = count_lines(*file.location) - int(file.layout.header) - lines.n_all
    if missing <= 0:
        return 0
    return max(0, missing - fetch_number(connection.database, line_breaks_sql(file, connection.memory_bytes)))


def _check_bad_lines(database: duckdb.DuckDBPyConnection, file: LogFile, reading: Reading, lines: LineCounts) -> int:
    """Return how many bad lines a file has; refuse it if they are too many or all."""
    if lines.n_all == 0:
        raise LogError(f"{file.path} has no rows; give a log with at least one query.")
    allowed = reading.allowed_bad_lines(lines.n_all)
    if lines.n_bad < lines.n_all and lines.n_bad <= allowed:
        return lines.n_bad
    what, where = ("row", "table") if file.layout.shape == "parquet" else ("line", "file")
    line, fault = _first_bad(database, file, lines)
    raise LogError(
        f"{file.path}: {lines.n_bad:,} of {lines.n_all:,} {what}s are bad and {allowed:,} may be; the first is {what} "
        f"{line:,} ({fault}); mend the {where}, check --format and --columns, or raise --max-bad-lines."
    )


def _first_bad(database: duckdb.DuckDBPyConnection, file: LogFile, lines: LineCounts) -> tuple[int, str]:
    """Return the number and the fault of the first bad line or row."""
    if file.layout.shape == "parquet":
        return _first_unusable_row(database, file, lines.start)
    found = [first_fault(*file.location, file.layout)] if file.layout.shape != "lines" else []
    rejects = database.execute(
        "SELECT min(byte_position), min(error_type::VARCHAR) FROM bad_lines GROUP BY line ORDER BY 1 LIMIT 1"
    ).fetchall()
    for position, kind in rejects:  # DuckDB's own line numbers count a field with line breaks as one line
        found.append((lines_at(*file.location, [int(position)])[0], _FAULTS.get(str(kind), "a malformed line")))
    return min((fault for fault in found if fault is not None), default=(1, "a malformed line"))


def _first_unusable_row(database: duckdb.DuckDBPyConnection, file: LogFile, start: int) -> tuple[int, str]:
    """Return the number and the fault of the first unusable row of a table."""
    row = fetch_number(database, f"SELECT min(rowid) FROM raw WHERE rowid >= {start} AND person IS NULL") - start
    source = "memory_table" if file.in_memory else parquet_sql(file)
    unreadable = unreadable_time_sql(file.layout) or "false"
    is_time = fetch_number(database, f"SELECT ({unreadable})::INTEGER FROM {source} LIMIT 1 OFFSET {row}")
    return row + 1, UNREADABLE_TIME if is_time else NO_USER
