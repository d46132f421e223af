"""Reads the files of a log into a table `raw` (person, query, and those of time, rank, url, part it has); cleans it.

A bad line is one that DuckDB's reader rejects or whose person is NULL. A file with too many bad lines is refused;
otherwise they stay in `raw`, where row numbers identify the file, until all files are read.
"""

from contextlib import ExitStack
from dataclasses import replace

import duckdb
import pyarrow as pa

from queryveil.core.errors import LogError
from queryveil.core.progress import Progress, silent
from queryveil.engines import BASKETS, LogSource, QueryLog, Step
from queryveil.engines.local.cleaning import clean
from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences, fetch_number
from queryveil.engines.local.files import (
    MEMORY_TABLE,
    LogFile,
    column_expressions,
    find_files,
    line_breaks_sql,
    parquet_sql,
    rows_sql,
)
from queryveil.logs.faults import NO_USER, OPEN_QUOTE, TOO_FEW, TOO_MANY, UNREADABLE_TIME, first_fault
from queryveil.logs.files import count_lines, line_at, write_as_utf8, write_with_unix_line_ends
from queryveil.logs.layout import Layout
from queryveil.logs.options import ReadingOptions

TYPES = dict.fromkeys(("person", "query", "time", "rank", "url", "part"), "VARCHAR") | {"time": "TIMESTAMP"}
_FAULTS = {
    "MISSING COLUMNS": TOO_FEW,
    "TOO MANY COLUMNS": TOO_MANY,
    "INVALID ENCODING": "bytes that are not UTF-8, see --encoding",
    "CAST": UNREADABLE_TIME,
    "UNQUOTED VALUE": OPEN_QUOTE,
    "LINE SIZE OVER MAXIMUM": "a line that is too long",
}


def open_files(source: LogSource, *, progress: Progress = silent) -> QueryLog:
    """Read and clean the files of a log, or its table; the caller closes it."""
    files = find_files(source)
    # a basket's person is its line, so a layout always has one
    columns = tuple(
        name for name in TYPES if all(name in {*each.layout.roles, "person"} - source.unwanted_roles for each in files)
    )
    has_baskets = all(each.layout.shape == "lines" for each in files)
    with ExitStack() as stack:
        connection = stack.enter_context(Connection(source.reading.memory_bytes()))
        connection.database.execute(f"CREATE TABLE raw ({', '.join(f'{name} {TYPES[name]}' for name in columns)})")
        if source.table is not None:
            connection.database.register(MEMORY_TABLE, source.table)
        n_bad = 0
        for number, each in enumerate(files):
            progress("reading", number, len(files))
            n_bad += _read_file(connection, each, source.reading, columns)
        progress("reading", len(files), len(files))
        progress("cleaning", 0, 1)
        log = _clean_rows(connection, files, source, columns, n_bad, has_baskets=has_baskets)
        progress("cleaning", 1, 1)
        stack.pop_all()
        return log


def open_rows(table: pa.Table, layout: Layout, source: LogSource, *, has_times: bool) -> QueryLog:
    """Clean the rows of some of a log's people; all of them may be left out as bots.

    Whether the log has times is known only to the caller, who sees all of it.
    """
    file = LogFile("the log", layout, "table", in_memory=True)
    columns = tuple(name for name in TYPES if name in layout.roles)
    with ExitStack() as stack:
        connection = stack.enter_context(Connection(source.reading.memory_bytes()))
        connection.database.execute(f"CREATE TABLE raw ({', '.join(f'{name} {TYPES[name]}' for name in columns)})")
        connection.database.register(MEMORY_TABLE, table)
        with duckdb_errors_as_sentences("the log"):
            _, n_bad, _ = _append_rows(connection, file, columns, 0)
        log = _clean_rows(connection, [file], source, columns, n_bad, has_times=has_times, may_be_empty=True)
        stack.pop_all()
        return log


def _clean_rows(
    connection: Connection,
    files: list[LogFile],
    source: LogSource,
    columns: tuple[str, ...],
    n_bad: int,
    *,
    has_times: bool | None = None,
    has_baskets: bool = False,
    may_be_empty: bool = False,
) -> QueryLog:
    """Clean the rows that were read; unless `has_times` is given, the log has times if any row has one."""
    database = connection.database
    with duckdb_errors_as_sentences("the log"):
        if n_bad:
            database.execute("DELETE FROM raw WHERE person IS NULL")
        n_rows = fetch_number(database, "SELECT count(*) FROM raw")
        if has_times is None:
            has_times = "time" in columns and fetch_number(database, "SELECT count(time) FROM raw") > 0
        columns = tuple(name for name in columns if name != "time" or has_times)
        steps = clean(database, columns, source.cleaning, baskets=has_baskets, may_be_empty=may_be_empty)
        has_parts = "part" in columns
        parts = database.execute("SELECT DISTINCT part FROM queries ORDER BY part").fetchall() if has_parts else []
        n_people = fetch_number(database, "SELECT count(*) FROM people")
    n_read = n_rows + n_bad
    unit = BASKETS if has_baskets else "rows read"
    read = Step("rows", n_read, unit, f"{n_people:,} people", n_read, n_people)
    bad = Step("bad lines", n_bad, "unreadable lines left out", rows=-n_bad)
    return QueryLog(
        source,
        {step.name: step for step in (read, bad, *steps)},
        has_times,
        files[0].format,
        all(each.layout.roles.get("query", "").lower() == "term" for each in files),
        columns,
        tuple(str(value) for (value,) in parts),
        connection,
    )


def _read_file(connection: Connection, file: LogFile, reading: ReadingOptions, columns: tuple[str, ...]) -> int:
    """Append the rows of a file or table to `raw` and count its bad lines; refuse one that has too many or no rows."""
    is_parquet = file.layout.shape == "parquet"
    text = connection.folder / "text"
    if not (is_parquet or file.in_memory or reading.is_utf8):
        write_as_utf8(file.path, file.compression, reading.encoding, text)
        file = replace(file, path=text, compression="none")
    with duckdb_errors_as_sentences(file.name):
        start = fetch_number(connection.database, "SELECT count(*) FROM raw")
        n_rows = n_bad = n_all = 0
        with_mixed_line_ends = False
        try:
            n_rows, n_bad, n_all = _append_rows(connection, file, columns, start)
        except duckdb.InvalidInputException as error:
            if "state machine" not in str(error):
                raise
            with_mixed_line_ends = True
        copy = connection.folder / "even"
        if with_mixed_line_ends or (n_rows == 0 and not is_parquet):
            write_with_unix_line_ends(file.path, file.compression, copy)
            file = replace(file, path=copy, compression="none")
            _, n_bad, n_all = _append_rows(connection, file, columns, start)
        if n_all == 0:
            raise LogError(f"{file.name} has no rows; give a log with at least one query.")
        allowed = reading.allowed_bad_lines(n_all)
        if n_bad == n_all or n_bad > allowed:
            what, where = ("row", "table") if is_parquet else ("line", "file")
            line, fault = _first_bad(connection.database, file, start)
            raise LogError(
                f"{file.name}: {n_bad:,} of {n_all:,} {what}s are bad and {allowed:,} may be; the first is {what} "
                f"{line:,} ({fault}); correct the {where}, check --format and --columns, or raise --max-bad-lines."
            )
        copy.unlink(missing_ok=True)
        text.unlink(missing_ok=True)
        return n_bad


def _append_rows(connection: Connection, file: LogFile, columns: tuple[str, ...], start: int) -> tuple[int, int, int]:
    """Append a file's rows to `raw` and count them, its bad lines and all its lines; refuse a file with NUL bytes."""
    database = connection.database
    database.execute("DROP TABLE IF EXISTS bad_lines; DROP TABLE IF EXISTS bad_scans")
    sql = rows_sql(file, columns, first_person=start, memory_bytes=connection.memory_bytes)
    database.execute(f"INSERT INTO raw {sql}")
    is_text = file.layout.shape != "parquet"
    n_rejected = fetch_number(database, "SELECT count(DISTINCT line) FROM bad_lines") if is_text else 0
    has_nul = " OR ".join(f"contains({name}, chr(0))" for name in columns if TYPES[name] == "VARCHAR")
    n_rows, n_unusable, is_binary = database.execute(
        f"SELECT count(*), count(*) FILTER (person IS NULL), coalesce(bool_or({has_nul}), false)"
        f" FROM raw WHERE rowid >= {start}"
    ).fetchall()[0]
    if is_binary:
        raise LogError(f"{file.name} holds NUL bytes, so it is not a text log; convert it to UTF-8 text or Parquet.")
    if is_text and file.layout.quote:
        # Every line is the header, a row, a rejected line, or part of a field with line breaks. Any other line was
        # inside an unclosed quote: DuckDB may drop such lines without reporting it.
        missing = count_lines(file.path, file.compression) - int(file.layout.header) - n_rows - n_rejected
        if missing > 0:
            n_rejected += max(0, missing - fetch_number(database, line_breaks_sql(file, connection.memory_bytes)))
    return n_rows, n_unusable + n_rejected, n_rows + n_rejected


def _first_bad(database: duckdb.DuckDBPyConnection, file: LogFile, start: int) -> tuple[int, str]:
    """Return the number and the fault of the first bad line or row."""
    if file.layout.shape == "parquet":
        unusable = f"SELECT min(rowid) FROM raw WHERE rowid >= {start} AND person IS NULL"
        row = fetch_number(database, unusable) - start
        has_bad_time = f"SELECT ({column_expressions(file.layout)[1] or 'false'})::INTEGER FROM {parquet_sql(file)}"
        is_time = fetch_number(database, f"{has_bad_time} LIMIT 1 OFFSET {row}")
        return row + 1, UNREADABLE_TIME if is_time else NO_USER
    found = [first_fault(file.path, file.compression, file.layout)] if file.layout.shape != "lines" else []
    rejects = database.execute(
        "SELECT min(byte_position), min(error_type::VARCHAR) FROM bad_lines GROUP BY line ORDER BY 1 LIMIT 1"
    ).fetchall()
    for position, kind in rejects:  # DuckDB's own line numbers count a field with line breaks as one line
        found.append((line_at(file.path, file.compression, int(position)), _FAULTS.get(str(kind), "a malformed line")))
    return min((fault for fault in found if fault is not None), default=(1, "a malformed line"))
