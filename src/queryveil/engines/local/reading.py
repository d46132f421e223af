"""From the files of a log to one table `raw`: person, query, and time, rank, url, part where there are any.

A record that cannot be used is a bad line: the reader rejects it, or its person is NULL. Too many of them refuse the
file; else they stay in `raw`, where row numbers tell the files apart, until `drop_bad_rows`.
"""

from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from queryveil.core.errors import LogError
from queryveil.engines.local.connection import Connection, careful
from queryveil.engines.local.selecting import (
    Input,
    read_parquet,
    select,
    select_breaks,
    select_columns,
    unreadable_time,
)
from queryveil.logs.faults import NO_USER, OPEN_QUOTE, TOO_FEW, TOO_MANY, UNREADABLE_TIME, first_fault
from queryveil.logs.lines import count_lines, lines_at, write_with_even_ends
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
class Tally:
    """What reading one file gave."""

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
    """Make the empty table that the files are read into."""
    database.execute(f"CREATE TABLE raw ({', '.join(f'{name} {TYPES[name]}' for name in columns)})")


def read_file(connection: Connection, given: Input, reading: Reading, columns: tuple[str, ...]) -> int:
    """Append the rows of one file to `raw`; return how many bad lines were left out, or refuse the file."""
    with careful(str(given.path)):
        start = count(connection.database, "SELECT count(*) FROM raw")
        try:
            tally = _append(connection, given, columns, start)
        except duckdb.InvalidInputException as error:
            if "state machine" not in str(error):
                raise
            tally = None
        if tally is None or (tally.n_rows == 0 and given.layout.shape != "parquet"):  # line ends that differ do this
            given = replace(given, copy=connection.folder / "even")
            write_with_even_ends(given.path, given.compression, connection.folder / "even")
            tally = _append(connection, given, columns, start)
        n_bad = _judge(connection.database, given, reading, tally)
        (connection.folder / "even").unlink(missing_ok=True)
        return n_bad


def read_table(
    connection: Connection, table: pa.Table, given: Input, reading: Reading, columns: tuple[str, ...]
) -> int:
    """Append the rows of an Arrow table to `raw`; return how many bad rows were left out, or refuse the table."""
    with careful("the table"):
        tally = append_table(connection, table, given, columns)
        connection.database.register("given", table)  # to show which row is bad
        n_bad = _judge(connection.database, given, reading, tally)
        connection.database.unregister("given")
        return n_bad


def append_table(connection: Connection, table: pa.Table, given: Input, columns: tuple[str, ...]) -> Tally:
    """Append the rows of an Arrow table to `raw` and count them."""
    database = connection.database
    database.register("given", table)
    database.execute(f"INSERT INTO raw {select_columns('given', given.layout, columns)}")
    database.unregister("given")
    return _tally(database, given, columns, 0, 0)


def drop_bad_rows(database: duckdb.DuckDBPyConnection) -> None:
    """Take the rows that cannot be used out of `raw`."""
    database.execute("DELETE FROM raw WHERE person IS NULL")


def _append(connection: Connection, given: Input, columns: tuple[str, ...], start: int) -> Tally:
    """Append a file's rows and count them and the lines that gave none."""
    database = connection.database
    database.execute("DROP TABLE IF EXISTS bad_lines; DROP TABLE IF EXISTS bad_scans")
    sql = select(given, columns, first_person=start, memory_bytes=connection.memory_bytes)
    database.execute(f"INSERT INTO raw {sql}")
    if given.layout.shape == "parquet":
        return _tally(database, given, columns, start, 0)
    n_rejected = count(database, "SELECT count(DISTINCT line) FROM bad_lines")
    tally = _tally(database, given, columns, start, n_rejected)
    return (
        replace(tally, n_rejected=n_rejected + _n_swallowed(connection, given, tally)) if given.layout.quote else tally
    )


def _tally(
    database: duckdb.DuckDBPyConnection, given: Input, columns: tuple[str, ...], start: int, n_rejected: int
) -> Tally:
    """Count a file's rows, and refuse one that holds NUL bytes."""
    has_nul = " OR ".join(f"contains({name}, chr(0))" for name in columns if TYPES[name] == "VARCHAR")
    row = database.execute(
        f"SELECT count(*), count(*) FILTER (person IS NULL), coalesce(bool_or({has_nul}), false)"
        f" FROM raw WHERE rowid >= {start}"
    ).fetchall()[0]
    n_rows, n_unusable, is_binary = int(row[0]), int(row[1]), bool(row[2])
    if is_binary:
        raise LogError(f"{given.path} holds NUL bytes, so it is not a text log; convert it to UTF-8 text or Parquet.")
    return Tally(start, n_rows, n_unusable, n_rejected)


def _n_swallowed(connection: Connection, given: Input, tally: Tally) -> int:
    """Count the lines that an unclosed quote swallowed: DuckDB drops them and may not say so.

    Every line must be the header, give a row, be rejected or stand inside a field.
    """
    missing = count_lines(*given.place) - int(given.layout.header) - tally.n_all
    if missing <= 0:
        return 0
    return max(0, missing - count(connection.database, select_breaks(given, connection.memory_bytes)))


def _judge(database: duckdb.DuckDBPyConnection, given: Input, reading: Reading, tally: Tally) -> int:
    """Return how many bad lines a file has, or refuse it if they are too many or all."""
    if tally.n_all == 0:
        raise LogError(f"{given.path} has no rows; give a log with at least one query.")
    allowed = reading.allowed_bad_lines(tally.n_all)
    if tally.n_bad < tally.n_all and tally.n_bad <= allowed:
        return tally.n_bad
    what, where = ("row", "table") if given.layout.shape == "parquet" else ("line", "file")
    line, fault = _first_bad(database, given, tally)
    raise LogError(
        f"{given.path}: {tally.n_bad:,} of {tally.n_all:,} {what}s are bad and {allowed:,} may be; the first is {what} "
        f"{line:,} ({fault}); mend the {where}, check --format and --columns, or raise --max-bad-lines."
    )


def _first_bad(database: duckdb.DuckDBPyConnection, given: Input, tally: Tally) -> tuple[int, str]:
    """Return the number and the fault of the first bad line or row."""
    if given.layout.shape == "parquet":
        return _first_unusable_row(database, given, tally.start)
    found = [first_fault(*given.place, given.layout)] if given.layout.shape != "lines" else []
    rejects = database.execute(
        "SELECT min(byte_position), min(error_type::VARCHAR) FROM bad_lines GROUP BY line ORDER BY 1 LIMIT 1"
    ).fetchall()
    for position, kind in rejects:  # DuckDB's own line number counts a field of several lines as one
        found.append((lines_at(*given.place, [int(position)])[0], _FAULTS.get(str(kind), "a malformed line")))
    return min((fault for fault in found if fault is not None), default=(1, "a malformed line"))


def _first_unusable_row(database: duckdb.DuckDBPyConnection, given: Input, start: int) -> tuple[int, str]:
    """Return the number and the fault of the first row of a table that cannot be used."""
    row = count(database, f"SELECT min(rowid) FROM raw WHERE rowid >= {start} AND person IS NULL") - start
    source = "given" if given.in_memory else read_parquet(given)
    unreadable = unreadable_time(given.layout) or "false"
    is_time = count(database, f"SELECT ({unreadable})::INTEGER FROM {source} LIMIT 1 OFFSET {row}")
    return row + 1, UNREADABLE_TIME if is_time else NO_USER


def count(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return the one number that a query gives."""
    return int(database.execute(sql).fetchall()[0][0])
