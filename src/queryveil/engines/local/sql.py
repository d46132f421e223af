"""SQL sessions on this machine."""

from typing import Any

from queryveil.engines.local.connection import Connection, duckdb_errors_as_sentences
from queryveil.engines.sql import SqlSession
from queryveil.logs.options import ReadingOptions


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
