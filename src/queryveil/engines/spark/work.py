"""A folder for what is computed once and read several times, and numbers in a global order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.engines.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Work:
    """Frames written to a folder of the run's own: plans stay short, and a lost executor costs one step, not all."""

    spark: "SparkSession"
    folder: str

    def keep(self, frame: "DataFrame", name: str) -> "DataFrame":
        """Compute a frame and return it as it stands in the folder."""
        place = f"{self.folder}/{name}"
        frame.write.mode("overwrite").option("compression", "zstd").parquet(place)
        return self.spark.read.schema(frame.schema).parquet(place)

    def drop(self, name: str) -> None:
        """Give the space of a frame back."""
        Storage(self.spark).remove(f"{self.folder}/{name}")

    def numbered(self, frame: "DataFrame", order: Sequence[str], name: str) -> "DataFrame":
        """Return the rows with their rank, from 0, as the column `number`; the order must be one of all rows."""
        from pyspark.sql import functions as f

        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
        ordered = frame.repartitionByRange(*order).sortWithinPartitions(*order)
        placed = self.keep(ordered.mapInArrow(_place, f"{schema}, piece INT, place LONG"), name)
        sizes = sorted((row["piece"], row["count"]) for row in placed.groupBy("piece").count().collect())
        offsets, before = [], 0
        for piece, size in sizes:
            offsets.append((piece, before))
            before += size
        starts = self.spark.createDataFrame(offsets, "piece INT, start LONG")
        joined = placed.join(f.broadcast(starts), "piece")
        return joined.withColumn("number", joined["start"] + joined["place"]).drop("piece", "place", "start")


def _place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add the partition and the place in it to every row."""
    import numpy as np
    from pyspark import TaskContext

    context = TaskContext.get()
    piece = 0 if context is None else context.partitionId()
    before = 0
    for batch in batches:
        table = pa.Table.from_batches([batch])
        table = table.append_column("piece", pa.array(np.full(len(batch), piece, np.int32)))
        table = table.append_column("place", pa.array(np.arange(before, before + len(batch), dtype=np.int64)))
        before += len(batch)
        yield from table.to_batches()
