"""SQL sessions on Spark: temporary views with unique names, dropped at the end."""

import secrets
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
