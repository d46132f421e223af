"""Cleaned histories on a cluster: the rows of a person stand in one partition, and the local engine cleans each.

Every step of cleaning looks at one query or at one person, so the result is the same as on one machine, however the
log is cut. What is decided about the whole log (whether it has times, how many lines may be bad, whether anybody is
left) is decided on the driver from counts.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.engines import LogSource, Step
from queryveil.engines.spark.reading import RawLog, read
from queryveil.errors import LogError
from queryveil.histories.build import NO_TERMS, NoTermsError, Unit, build
from queryveil.logs.formats import Layout
from queryveil.types import Profiles, Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = pa.schema(
    {
        "person": pa.string(),  # NULL in the one row of every partition that tells its steps
        "history": pa.int32(),  # the number within the person
        "part": pa.string(),
        "entries": pa.list_(pa.string()),
        "counts": pa.list_(pa.int32()),
        "steps": pa.string(),
    }
)
SPARK_SCHEMA = "person STRING, history INT, part STRING, entries ARRAY<STRING>, counts ARRAY<INT>, steps STRING"


@dataclass(frozen=True)
class DistributedHistories:
    """The histories of a log as a data frame: `person, history, part, entries, counts`, kept until it is released."""

    frame: "DataFrame"
    steps: tuple[Step, ...]
    kept: "DataFrame"  # what is held in the cluster's storage

    def release(self) -> None:
        """Give the cluster's storage back."""
        self.kept.unpersist()


def clean_histories(
    spark: "SparkSession", source: LogSource, *, unit: Unit = "term", progress: Progress = silent
) -> DistributedHistories:
    """Read and clean a log and collect every history's entries."""
    from pyspark import StorageLevel

    progress("reading", 0, 1)
    raw = read(spark, source)
    n_rows, n_bad, n_times = _counted(raw)
    _judge(source, n_rows, n_bad)
    has_times = n_times > 0
    if source.cleaning.history != "user" and not has_times:
        raise LogError(f"--history {source.cleaning.history} needs times, and the log has none; use --history user.")
    progress("cleaning", 0, 1)
    usable = raw.frame.where("person IS NOT NULL").repartition("person")
    task = _Task(raw.layout, source, unit, has_times)
    kept = usable.mapInArrow(task, SPARK_SCHEMA).persist(StorageLevel.DISK_ONLY)
    steps = (Step("rows", n_rows, "rows read"), Step("bad lines", n_bad, "unreadable lines left out"), *_summed(kept))
    frame = kept.where("person IS NOT NULL").drop("steps")
    if frame.isEmpty():
        kept.unpersist()
        raise LogError(_nobody(steps))
    progress("cleaning", 1, 1)
    return DistributedHistories(frame, steps, kept)


@dataclass(frozen=True)
class _Task:
    """What an executor does with the rows of its people."""

    layout: Layout
    source: LogSource
    unit: Unit
    has_times: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)
        if not given:
            return
        table = _in_order(pa.Table.from_batches(given))
        from queryveil.engines.local import open_part

        with open_part(table, self.layout, self.source, has_times=self.has_times) as log:
            try:
                profiles = build(log, unit=self.unit)
                rows = _rows(profiles, log.partition_values)
            except NoTermsError:
                rows = _SCHEMA.empty_table()
            steps = json.dumps([asdict(step) for step in log.steps])
        yield from rows.to_batches(max_chunksize=20_000)
        empty: dict[str, list[Any]] = {name: [None] for name in _SCHEMA.names}
        yield pa.RecordBatch.from_pydict({**empty, "steps": [steps]}, _SCHEMA)


def _in_order(table: pa.Table) -> pa.Table:
    """Sort rows by their content: the order in which a shuffle brings them must not matter."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _rows(profiles: Profiles, parts: Sequence[str]) -> pa.Table:
    """Return one row per history."""
    owner = profiles.owner
    first = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(np.diff(owner)) + 1))
    number = np.arange(len(owner)) - np.repeat(first, np.diff(np.append(first, len(owner))))
    offsets = pa.array(profiles.indptr.astype(np.int32))
    entries = pa.array(profiles.vocabulary.entries, pa.string()).take(pa.array(profiles.ids))
    part = pa.nulls(len(owner), pa.string())
    if profiles.partition is not None:
        part = pa.array(parts, pa.string()).take(pa.array(profiles.partition))
    columns = {
        "person": pa.array(profiles.persons, pa.string()).take(pa.array(owner)),
        "history": number.astype(np.int32),
        "part": part,
        "entries": pa.ListArray.from_arrays(offsets, entries),
        "counts": pa.ListArray.from_arrays(offsets, pa.array(profiles.counts)),
        "steps": pa.nulls(len(owner), pa.string()),
    }
    return pa.table(columns, schema=_SCHEMA)


def _counted(raw: RawLog) -> tuple[int, int, int]:
    """Count all rows, those without a person, and those with a time."""
    from pyspark.sql import functions as f

    times = f.count("time") if "time" in raw.layout.roles else f.lit(0)
    row = raw.frame.agg(f.count(f.lit(1)), f.count("person"), times).collect()[0]
    return int(row[0]), int(row[0] - row[1]), int(row[2])


def _judge(source: LogSource, n_rows: int, n_bad: int) -> None:
    """Refuse a log without rows, or with too many bad ones."""
    where = source.uris[0]
    if n_rows == 0:
        raise LogError(f"{where} has no rows; give a log with at least one query.")
    allowed = source.reading.allowed_bad_lines(n_rows)
    if n_bad == n_rows or n_bad > allowed:
        raise LogError(
            f"{where}: {n_bad:,} of {n_rows:,} lines are bad and {allowed:,} may be; mend the files, check --format "
            "and --columns, or raise --max-bad-lines."
        )


def _summed(kept: "DataFrame") -> tuple[Step, ...]:
    """Add up what the steps of all partitions did, a step's own words taken from the first that has any."""
    found: dict[str, Step] = {}
    for row in kept.where("steps IS NOT NULL").select("steps").toLocalIterator():
        for step in (Step(**each) for each in json.loads(row[0])):
            before = found.get(step.name, Step(step.name, 0, step.unit))
            found[step.name] = Step(step.name, before.count + step.count, step.unit, before.note or step.note)
    return tuple(found.values())


def _nobody(steps: Iterable[Step]) -> str:
    """Say why nobody is left."""
    if any(step.name == "bots" and step.count for step in steps):
        return "all users of the log are bots by --bots; raise it, or give 0 to keep everybody."
    return NO_TERMS
