"""SQL that runs unchanged on both engines: a session holds named tables and answers queries, on DuckDB or on Spark.

Statements are standard SQL with the names of tables in braces: `SELECT COUNT(*) FROM {pairs} WHERE support < {k}`.
Names that are no tables are values passed with the statement. Texts compare by code point on both engines. Shares are
compared by multiplying out exact integers (`integer`), because DuckDB divides decimals as floating-point numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self


class SqlSession(ABC):
    """Named tables of one engine that SQL statements can use; a context manager that drops them at the end."""

    def __init__(self) -> None:
        """Start without tables."""
        self._names: dict[str, str] = {}  # the name in statements → the name on the engine

    @abstractmethod
    def register(self, name: str, table: Any) -> None:
        """Make a table of the engine (an Arrow table or a Spark data frame) available under a name."""

    @abstractmethod
    def create(self, name: str, sql: str, **values: Any) -> None:
        """Store the result of a query as a table, so that later statements do not compute it again."""

    @abstractmethod
    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    @abstractmethod
    def close(self) -> None:
        """Drop the tables."""

    def first(self, sql: str, order: str, **values: Any) -> tuple[int, tuple[Any, ...]]:
        """Return how many rows a query has, and the first of them in an order; without rows, an empty one."""
        ((n_rows,),) = self.query(f"SELECT COUNT(*) FROM ({sql}) AS found", **values)
        return (n_rows, self.query(f"{sql} ORDER BY {order} LIMIT 1", **values)[0]) if n_rows else (0, ())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _statement(self, sql: str, values: dict[str, Any]) -> str:
        return sql.format(**self._names, **values)


@dataclass(frozen=True)
class HistoryTables:
    """Released histories as the table `items` of a session: `owner, item, part`, each item of a history once."""

    open: Callable[[], AbstractContextManager[SqlSession]]
    is_linked: bool  # the owner is a person; else the history itself
    text_of: Callable[[Any], str] = str  # the text of an item, which may be stored as its rank among the texts


@dataclass(frozen=True)
class KeptTables:
    """The columns released besides the items as the table `kept` of a session, as in `KeptValues`."""

    open: Callable[[], AbstractContextManager[SqlSession]]
    is_linked: bool  # the owner is a person; else the history itself


@dataclass(frozen=True)
class GroupTables:
    """Released groups, and the profiles of everybody where these are known, as the tables of a session.

    `released`: `group_id, term, weight, file, place`, in the order of files and places; `members`: `history, group_id`
    of everybody, NULL for the suppressed; `pairs`: `history, term, weight`.
    """

    open: Callable[[], AbstractContextManager[SqlSession]]
    has_members: bool
    frozen: tuple[int, ...] = ()  # ids of the groups that are published as in an earlier release


def open_sql_session(**tables: Any) -> SqlSession:
    """Open a session on this machine, in a private in-memory database, with Arrow tables under their names."""
    from queryveil.engines.local.connection import DuckdbSession

    return DuckdbSession(**tables)


def integer(expression: str | int) -> str:
    """Return SQL for an integer of up to 38 digits, so that products do not overflow."""
    return f"CAST({expression} AS DECIMAL(38, 0))"


def double(expression: str) -> str:
    """Return SQL for a floating-point number."""
    return f"CAST({expression} AS DOUBLE)"


def floor_division(dividend: str, divisor: str) -> str:
    """Return SQL for the largest integer that is at most the quotient of two that are not negative.

    Without the remainder the quotient is a whole number, which rounding restores where the engine divides inexactly.
    """
    return f"CAST(ROUND(({dividend} - {dividend} % {divisor}) / {divisor}) AS BIGINT)"
