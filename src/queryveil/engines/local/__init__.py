"""The local engine: DuckDB reads and cleans a log within a memory limit."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from queryveil.core.progress import Progress, silent
from queryveil.engines import LogSource, QueryLog, Step
from queryveil.engines.local.cleaning import clean
from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences, fetch_number
from queryveil.engines.local.files import LogFile, expand_paths, find_files
from queryveil.engines.local.reading import append_table, create_raw, drop_bad_rows, read_file, read_table
from queryveil.logs.layout import Layout

__all__ = ["expand_paths", "open_log", "open_rows"]

_ORDER = ("person", "query", "time", "rank", "url", "part")


def open_log(source: LogSource, *, progress: Progress = silent) -> QueryLog:
    """Read and clean a log; the caller closes it."""
    files = find_files(source)
    return _connect(source, lambda connection: _open_files(source, files, connection, progress))


def open_rows(table: pa.Table, layout: Layout, source: LogSource, *, has_times: bool) -> QueryLog:
    """Clean the rows of some of a log's people; all of them may be left out as bots.

    Whether the log has times is known only to the caller, who sees all of it.
    """
    return _connect(source, lambda connection: _open_rows(table, layout, source, has_times, connection))


def _connect(source: LogSource, open_with: Callable[[Connection], QueryLog]) -> QueryLog:
    """Open a log with a new connection, which is closed if that fails."""
    connection = Connection(source.reading.memory_bytes())
    try:
        return open_with(connection)
    except BaseException:
        connection.close()
        raise


def _open_files(source: LogSource, files: list[LogFile], connection: Connection, progress: Progress) -> QueryLog:
    database = connection.database
    unwanted = {"rank", "url"} - set(source.keep)
    # a basket's person is its line, so a layout always has one
    columns = tuple(name for name in _ORDER if all(name in {*each.layout.roles, "person"} - unwanted for each in files))
    create_raw(database, columns)
    n_bad = 0
    for number, each in enumerate(files):
        progress("reading", number, len(files))
        if each.in_memory:
            n_bad += read_table(connection, source.table, each, source.reading, columns)
        else:
            n_bad += read_file(connection, each, source.reading, columns)
    progress("reading", len(files), len(files))
    progress("cleaning", 0, 1)
    with duckdb_errors_as_sentences("the log"):
        if n_bad:
            drop_bad_rows(database)
        n_rows = fetch_number(database, "SELECT count(*) FROM raw")
        has_times = "time" in columns and fetch_number(database, "SELECT count(time) FROM raw") > 0
        if not has_times:
            columns = tuple(name for name in columns if name != "time")
        baskets = all(each.layout.shape == "lines" for each in files)
        steps = clean(database, columns, source.cleaning, baskets=baskets)
        values = _partition_values(connection, columns)
    progress("cleaning", 1, 1)
    steps = [*_reading_steps(n_rows, n_bad), *steps]
    single_terms = all(each.layout.roles["query"].lower() == "term" for each in files)
    return QueryLog(source, tuple(steps), has_times, files[0].format, single_terms, columns, values, connection)


def _open_rows(table: pa.Table, layout: Layout, source: LogSource, has_times: bool, connection: Connection) -> QueryLog:
    file = LogFile(Path("the log"), layout, "table", in_memory=True)
    columns = tuple(name for name in _ORDER if name in layout.roles)
    create_raw(connection.database, columns)
    with duckdb_errors_as_sentences("the log"):
        lines = append_table(connection, table, file, columns)
        drop_bad_rows(connection.database)
        columns = tuple(name for name in columns if name != "time" or has_times)
        steps = clean(connection.database, columns, source.cleaning, may_be_empty=True)
        values = _partition_values(connection, columns)
    steps = [*_reading_steps(lines.n_rows - lines.n_unusable, lines.n_unusable), *steps]
    single_terms = layout.roles["query"].lower() == "term"
    return QueryLog(source, tuple(steps), has_times, "table", single_terms, columns, values, connection)


def _reading_steps(n_rows: int, n_bad: int) -> list[Step]:
    return [Step("rows", n_rows, "rows read"), Step("bad lines", n_bad, "unreadable lines left out")]


def _partition_values(connection: Connection, columns: tuple[str, ...]) -> tuple[str, ...]:
    if "part" not in columns:
        return ()
    rows = connection.database.execute("SELECT DISTINCT part FROM queries ORDER BY part").fetchall()
    return tuple(str(row[0]) for row in rows)
