"""SQL sessions on this machine, in a private DuckDB database."""

from typing import Any

from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences
from queryveil.engines.sql import SqlSession
from queryveil.logs.options import Reading

_SUBJECT = "the release"  # of error messages


class DuckdbSession(SqlSession):
    """Arrow tables in an in-memory database, which is closed at the end."""

    def __init__(self) -> None:
        """Connect to a new database."""
        super().__init__()
        self._connection = Connection(Reading().memory_bytes())

    def register(self, name: str, table: Any) -> None:
        """Make an Arrow table available under a name."""
        with duckdb_errors_as_sentences(_SUBJECT):
            self._connection.database.register(name, table)
        self._names[name] = name

    def create(self, name: str, sql: str, **values: Any) -> None:
        """Store the result of a query as a table."""
        with duckdb_errors_as_sentences(_SUBJECT):
            self._connection.database.execute(f"CREATE TABLE {name} AS {self._statement(sql, values)}")
        self._names[name] = name

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with duckdb_errors_as_sentences(_SUBJECT):
            return self._connection.database.execute(self._statement(sql, values)).fetchall()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
