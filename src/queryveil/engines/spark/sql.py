"""Tables on Spark: SQL sessions over temporary views, released histories, and the counts of histories."""

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queryveil.engines.sql import SqlSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkSqlSession(SqlSession):
    """Data frames as temporary views; several sessions can use one cluster at the same time."""

    def __init__(self, spark: "SparkSession", **tables: "DataFrame") -> None:
        """Register data frames under their names."""
        super().__init__()
        self._spark, self._prefix = spark, f"queryveil_{secrets.token_hex(8)}"
        self._stored: list[DataFrame] = []
        for name, frame in tables.items():
            self.register(name, frame)

    def register(self, name: str, table: Any) -> None:
        """Make a data frame available under a name."""
        self._names[name] = f"{self._prefix}_{name}"
        table.createOrReplaceTempView(self._names[name])

    def create(self, name: str, sql: str, **values: Any) -> None:
        """Cache the result of a query, which is computed when it is first used."""
        frame = self._spark.sql(self._statement(sql, values)).persist()
        self._stored.append(frame)
        self.register(name, frame)

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return [tuple(row) for row in self._spark.sql(self._statement(sql, values)).collect()]

    def close(self) -> None:
        """Drop the views and free the cluster's storage."""
        for name in self._names.values():
            self._spark.catalog.dropTempView(name)
        for frame in self._stored:
            frame.unpersist()


@dataclass(frozen=True)
class ReleasedHistoryFrame:
    """Released histories: `user, owner, term, partition`, each term of a history once."""

    rows: "DataFrame"
    is_linked: bool  # the owner is a person; else the history itself


@dataclass(frozen=True)
class VocabularyFrames:
    """Published vocabularies, and everybody's profiles where these are known."""

    rows: "DataFrame"  # `user, owner, term, count, level`
    is_linked: bool  # the owner is a person; else the history itself
    held: "DataFrame | None" = None  # `user, owner, term, count`; the user is NULL where nothing is published


def count_columns(frame: "DataFrame", *columns: str) -> list[int]:
    """Return how many rows of a frame have each column, or how many distinct values it has."""
    return [int(n) for n in frame.selectExpr(*(f"COUNT({column})" for column in columns)).collect()[0]]


def history_counts(histories: "DataFrame", owner: str = "person") -> tuple[int, int, int, int, int]:
    """Count the people (a column), histories, distinct terms, pairs and occurrences of `entries, counts`."""
    from pyspark.sql import functions as f

    nonempty = histories.where("size(entries) > 0")
    row = nonempty.agg(
        f.countDistinct(owner),
        f.count(f.lit(1)),
        f.sum(f.size("entries")),
        f.sum(f.expr("aggregate(counts, 0L, (total, each) -> total + each)")),
    ).collect()[0]
    terms = nonempty.select(f.explode("entries").alias("term")).distinct().count()
    return int(row[0]), int(row[1]), int(terms), int(row[2] or 0), int(row[3] or 0)
