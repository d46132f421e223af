"""Private DuckDB databases: their own temporary folder, no downloaded extensions, errors that quote no query."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from queryveil.core.errors import InputError, LogError, OutputError, QueryveilError
from queryveil.core.files import scratch
from queryveil.engines.sql import SqlSession
from queryveil.logs.options import ReadingOptions

MAX_LINE_BYTES = 1_000_000
MIN_MEMORY = 30_000_000
_THREAD_MEMORY = 64_000_000  # with less memory, a thread spends its time spilling


class Connection(ExitStack):
    """An in-memory database with a memory limit; what exceeds it is spilled to a private folder.

    Closing it closes the database and removes the folder.
    """

    def __init__(self, memory_bytes: int) -> None:
        if memory_bytes < MIN_MEMORY:
            raise InputError(
                f"--memory-limit must be at least {MIN_MEMORY // 1_000_000}MB to read a log; "
                "raise it, or leave it out for 2GB."
            )
        super().__init__()
        self.memory_bytes = memory_bytes
        self.folder = self.enter_context(scratch("spill"))
        try:
            threads = max(1, min(len(os.sched_getaffinity(0)), memory_bytes // _THREAD_MEMORY))
            settings: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": f"{memory_bytes}B",
                "threads": threads,
                "temp_directory": str(self.folder / "duckdb"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
            self.database = duckdb.connect(config=settings)
            self.callback(self.database.close)
            self.database.execute("SET enable_progress_bar = false")  # it would be printed among results
            self.database.execute("SET TimeZone = 'UTC'")  # days and times must not depend on where this runs
        except BaseException:
            self.close()
            raise

    def query_table(self, sql: str) -> pa.Table:
        """Return the result of a query as an Arrow table."""
        with duckdb_errors_as_sentences("the log"):
            return self.database.sql(sql).to_arrow_table()

    def query_batches(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in record batches."""
        with duckdb_errors_as_sentences("the log"):
            yield from self.database.sql(sql).to_arrow_reader(batch_rows)


def fetch_number(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return the single number that a query yields."""
    return int(database.execute(sql).fetchall()[0][0])


@contextmanager
def duckdb_errors_as_sentences(subject: str) -> Iterator[None]:
    """Replace DuckDB's errors, whose texts quote queries of the log, by sentences about the subject."""
    try:
        yield
    except duckdb.Error as error:
        raise _sentence(error, subject) from None


def _sentence(error: duckdb.Error, subject: str) -> QueryveilError:
    text = str(error)
    if re.search(r"max_temp_directory_size|no space left|disk", text, re.IGNORECASE):
        return OutputError(f"{subject}: the disk of the temporary folder is full; free space or set TMPDIR.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return InputError(f"{subject} does not fit into the memory limit; raise --memory-limit.")
    if isinstance(error, duckdb.ConnectionException):
        return InputError(f"{subject} is closed already; use it inside its with block.")
    if re.search(r"gzip|zstd|deflate|decompress", text, re.IGNORECASE):
        return LogError(f"{subject} is a truncated or damaged compressed file; fetch it again.")
    kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(error).__name__.removesuffix("Exception")).lower()
    return LogError(f"{subject} cannot be read ({kind} error); check that it is an undamaged file of its format.")


class DuckdbSession(SqlSession):
    """Arrow tables in a private in-memory database, which is closed at the end."""

    def __init__(self, **tables: Any) -> None:
        """Connect to a new database and register Arrow tables under their names."""
        super().__init__()
        self._connection = Connection(ReadingOptions().memory_bytes())
        for name, table in tables.items():
            self.register(name, table)

    def register(self, name: str, table: Any) -> None:
        """Make an Arrow table available under a name."""
        with duckdb_errors_as_sentences("the release"):
            self._connection.database.register(name, table)
        self._names[name] = name

    def create(self, name: str, sql: str, **values: Any) -> None:
        """Store the result of a query as a table."""
        self.query(f"CREATE TABLE {name} AS {sql}", **values)
        self._names[name] = name

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with duckdb_errors_as_sentences("the release"):
            return self._connection.database.execute(self._statement(sql, values)).fetchall()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
