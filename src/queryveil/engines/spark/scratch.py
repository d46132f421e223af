"""Intermediate tables of a Spark run, kept in a scratch folder, and global row numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.engines.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class ScratchTables:
    """Data frames written to a scratch folder: plans stay short, and a lost executor repeats one step, not all."""

    spark: "SparkSession"
    folder: str

    def keep(self, frame: "DataFrame", name: str) -> "DataFrame":
        """Compute a frame, write it to the folder and return the stored frame."""
        path = f"{self.folder}/{name}"
        frame.write.mode("overwrite").option("compression", "zstd").parquet(path)
        return self.spark.read.schema(frame.schema).parquet(path)

    def keep_counting(self, frame: "DataFrame", name: str, total: str) -> tuple["DataFrame", int]:
        """Store a frame like `keep`, and return the sum of an expression over its rows too.

        The tasks that write compute the sum; Spark counts each task once, however often it is retried.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        observed = Observation()
        kept = self.keep(frame.observe(observed, f.expr(f"sum({total})").alias("total")), name)
        return kept, int(observed.get["total"] or 0)

    def drop(self, name: str) -> None:
        """Delete a stored frame."""
        Storage(self.spark).remove(f"{self.folder}/{name}")

    def numbered(
        self, frame: "DataFrame", order: Sequence[str], name: str, *, summed: str | None = None
    ) -> "DataFrame":
        """Return the rows with their rank from 0 as the column `number`; the order must be total.

        With `summed`, the column `before` is the sum of that column over all preceding rows.
        """
        from pyspark.sql import functions as f

        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
        ordered = frame.repartitionByRange(*order).sortWithinPartitions(*order)
        added = "_partition INT, _position LONG, _sum LONG"
        local = self.keep(ordered.mapInArrow(_AddPosition(summed), f"{schema}, {added}"), name)
        last = local.groupBy("_partition").agg(
            f.max("_position"), f.max(f.col("_sum") + (f.col(summed) if summed else 0))
        )
        ends = {partition: (position + 1, end) for partition, position, end in last.collect()}
        sizes = np.array([ends.get(partition, (0, 0)) for partition in range(max(ends, default=-1) + 1)], np.int64)
        first, start = (np.cumsum(sizes, axis=0) - sizes).reshape(-1, 2).T
        numbered = local.withColumn("number", local["_position"] + _lookup(first, "_partition"))
        if summed:
            numbered = numbered.withColumn("before", local["_sum"] + _lookup(start, "_partition"))
        return numbered.drop("_partition", "_position", "_sum")

    def blobs(self, frame: "DataFrame", name: str) -> Iterator[tuple[bytes, ...]]:
        """Compute a frame of a row number and binary columns; yield the rows in order, loading one at a time."""
        first, *others = frame.columns
        path = f"{self.folder}/{name}"
        frame.write.mode("overwrite").partitionBy(first).parquet(path)
        schema = ", ".join(f"{column} BINARY" for column in others)
        storage = Storage(self.spark)
        number = 0
        while storage.exists(f"{path}/{first}={number}"):
            (row,) = self.spark.read.schema(schema).parquet(f"{path}/{first}={number}").collect()
            yield tuple(bytes(value) for value in row)
            number += 1


def _lookup(values: NDArray[np.int64], column: str) -> "Column":
    """Return the value at the index in a column; the values are a text in the plan, so no broadcast is needed."""
    from pyspark.sql import functions as f

    return f.expr(f"CAST(split('{','.join(map(str, values.tolist()))}', ',')[{column}] AS LONG)")


@dataclass(frozen=True)
class _AddPosition:
    """Adds the partition, the position in it and the sum over the preceding rows of the partition to every row."""

    summed: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        before = total = 0
        for batch in batches:
            sizes = np.asarray(batch[self.summed]).astype(np.int64) if self.summed else np.zeros(len(batch), np.int64)
            table = pa.Table.from_batches([batch])
            table = table.append_column("_partition", pa.array(np.full(len(batch), partition, np.int32)))
            table = table.append_column("_position", pa.array(np.arange(before, before + len(batch), dtype=np.int64)))
            table = table.append_column("_sum", pa.array(total + np.cumsum(sizes) - sizes))
            before, total = before + len(batch), total + int(sizes.sum())
            yield from table.to_batches()
