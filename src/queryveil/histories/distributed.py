"""Cleaned histories on Spark: the rows of a person are in one Spark partition, which the local engine cleans.

Every cleaning step depends on one query or one person only, so the result does not depend on the Spark partitions and
equals that of one machine. Decisions about the whole log (whether it has times, whether too many lines are bad, whether
anybody is left) are made on the driver from counts.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import LogError, NoTermsError
from queryveil.core.progress import Progress, silent
from queryveil.engines import LogSource, Step
from queryveil.engines.spark.reading import read_log
from queryveil.histories.build import NO_TERMS, Unit, build
from queryveil.histories.profiles import Profiles
from queryveil.logs.layout import Layout
from queryveil.logs.scrub import KINDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = pa.schema(
    {
        "person": pa.string(),  # NULL in the one row per Spark partition that reports its cleaning steps
        "history": pa.int32(),  # the number of the history among the person's
        "part": pa.string(),
        "entries": pa.list_(pa.string()),
        "counts": pa.list_(pa.int32()),
        "steps": pa.string(),
    }
)
_ROWS_PER_TASK = 2_000_000  # a task that cleans holds all of its rows
SPARK_SCHEMA = "person STRING, history INT, part STRING, entries ARRAY<STRING>, counts ARRAY<INT>, steps STRING"


@dataclass(frozen=True)
class DistributedHistories:
    """The histories of a log as a data frame `person, history, part, entries, counts`, persisted until `release`."""

    frame: "DataFrame"
    steps: tuple[Step, ...]
    parts: tuple[str, ...]  # the values by which the log is partitioned, sorted
    persisted: "DataFrame"

    def release(self) -> None:
        """Free the cluster's storage."""
        self.persisted.unpersist()


def clean_histories(
    spark: "SparkSession", source: LogSource, *, unit: Unit = "term", progress: Progress = silent
) -> DistributedHistories:
    """Read and clean a log and return the entries of every history."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    progress("reading", 0, 1)
    raw = read_log(spark, source)
    times = f.count("time") if "time" in raw.layout.roles else f.lit(0)
    n_rows, n_read, n_times = map(int, raw.frame.agg(f.count(f.lit(1)), f.count("person"), times).collect()[0])
    n_unread, has_times = n_rows - n_read, n_times > 0
    _check_bad_lines(source, n_rows, n_unread)
    if source.cleaning.history != "user" and not has_times:
        raise LogError(f"--history {source.cleaning.history} needs times, and the log has none; use --history user.")
    progress("cleaning", 0, 1)
    n_tasks = max(int(spark.conf.get("spark.sql.shuffle.partitions") or 1), -(-n_read // _ROWS_PER_TASK))
    usable = raw.frame.where("person IS NOT NULL").repartition(n_tasks, "person")
    task = _CleaningTask(raw.layout, source, unit, has_times)
    persisted = usable.mapInArrow(task, SPARK_SCHEMA).persist(StorageLevel.DISK_ONLY)
    steps, parts, n_histories = _sum_steps(persisted, n_unread)
    _check_bad_lines(source, n_rows, steps["bad lines"].count)
    frame = persisted.where("person IS NOT NULL").drop("steps")
    if not n_histories:
        persisted.unpersist()
        only_bots = "all users of the log are bots by --bots; raise it, or give 0 to keep everybody."
        raise LogError(only_bots if steps["bots"].count else NO_TERMS)
    if parts:
        notes = steps["histories"].note.split(", ")[:-1]
        note = ", ".join([*notes, f"{len(parts):,} parts by {source.cleaning.partition_by}"])
        steps["histories"] = replace(steps["histories"], note=note)
    progress("cleaning", 1, 1)
    return DistributedHistories(frame, tuple(steps.values()), parts, persisted)


@dataclass(frozen=True)
class _CleaningTask:
    """Cleans the rows of a Spark partition and yields their histories, then one row that reports the steps."""

    layout: Layout
    source: LogSource
    unit: Unit
    has_times: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        table = pa.Table.from_batches(received)
        # sort by all columns, so that the order in which a shuffle delivers rows does not matter
        table = table.sort_by([(name, "ascending") for name in table.column_names])
        from queryveil.engines.local.reading import open_rows

        with open_rows(table, self.layout, self.source, has_times=self.has_times) as log:
            try:
                profiles = build(log, unit=self.unit)
                rows = _history_rows(profiles, log.partition_values)
            except NoTermsError:
                rows = _SCHEMA.empty_table()
            steps = [asdict(step) for step in log.steps.values()]
            report = json.dumps({"steps": steps, "parts": log.partition_values, "histories": len(rows)})
        yield from rows.to_batches(max_chunksize=20_000)
        empty: dict[str, list[Any]] = {name: [None] for name in _SCHEMA.names}
        yield pa.RecordBatch.from_pydict({**empty, "steps": [report]}, _SCHEMA)


def _history_rows(profiles: Profiles, parts: Sequence[str]) -> pa.Table:
    """Return one row per history."""
    owner = profiles.owner
    number = np.arange(len(owner)) - np.searchsorted(owner, owner)  # among the histories of the same person
    offsets = pa.array(profiles.indptr.astype(np.int32))
    entries = pa.array(profiles.vocabulary, pa.string()).take(pa.array(profiles.ids))
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


def _check_bad_lines(source: LogSource, n_rows: int, n_bad: int) -> None:
    """Refuse a log without rows, or with too many bad ones."""
    where = source.uris[0]
    if n_rows == 0:
        raise LogError(f"{where} has no rows; give a log with at least one query.")
    allowed = source.reading.allowed_bad_lines(n_rows)
    if n_bad == n_rows or n_bad > allowed:
        raise LogError(
            f"{where}: {n_bad:,} of {n_rows:,} lines are bad and {allowed:,} may be; correct the files, check --format "
            "and --columns, or raise --max-bad-lines."
        )


def _sum_steps(persisted: "DataFrame", n_unread: int) -> tuple[dict[str, Step], tuple[str, ...], int]:
    """Return the summed steps of all Spark partitions, the values that partition the log, and the history count."""
    found: dict[str, Step] = {}
    noted: dict[str, list[Step]] = {}
    parts: set[str] = set()
    n_histories = 0
    for row in persisted.where("steps IS NOT NULL").select("steps").collect():
        report = json.loads(row[0])
        n_histories += report["histories"]
        parts.update(report["parts"])
        for step in (Step(**each) for each in report["steps"]):
            before = found.get(step.name, Step(step.name, 0, step.unit))
            found[step.name] = _add_to_step(before, step.count, step.rows, step.people)
            noted.setdefault(step.name, []).append(step)
    steps = {name: replace(step, note=_merge_notes(noted[name])) for name, step in found.items()}
    steps["rows"] = _add_to_step(steps["rows"], n_unread, n_unread)
    steps["bad lines"] = _add_to_step(steps["bad lines"], n_unread, -n_unread)
    return steps, tuple(sorted(parts)), n_histories


def _add_to_step(step: Step, count: int, rows: int, people: int = 0) -> Step:
    return replace(step, count=step.count + count, rows=step.rows + rows, people=step.people + people)


def _merge_notes(steps: Iterable[Step]) -> str:
    """Return the notes of all Spark partitions on a step as one; counts ("2 email, 1 card") are added up."""
    counts: Counter[str] = Counter()
    noted = [step for step in steps if step.note]
    for step in noted:
        if not step.counts_by_kind():
            return min(each.note for each in noted)
        counts.update(step.counts_by_kind())
    order = sorted(counts, key=lambda word: KINDS.index(word) if word in KINDS else 0)
    return ", ".join(f"{counts[word]:,} {word}" for word in order)
