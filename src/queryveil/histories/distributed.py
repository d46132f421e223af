"""Cleaned histories on a cluster: the rows of a person stand in one partition, and the local engine cleans each.

Every step of cleaning looks at one query or at one person, so the result is the same as on one machine, however the
log is cut. What is decided about the whole log (whether it has times, how many lines may be bad, whether anybody is
left) is decided on the driver from counts.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import LogError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import per_entry
from queryveil.engines import LogSource, Step
from queryveil.engines.spark.reading import RawLog, read_log
from queryveil.histories.build import NO_TERMS, NoTermsError, Unit, build
from queryveil.histories.profiles import Profiles
from queryveil.logs.formats import Layout
from queryveil.logs.scrub import KINDS

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
_COUNT = re.compile(r"(\d[\d,]*) (.+)")
SPARK_SCHEMA = "person STRING, history INT, part STRING, entries ARRAY<STRING>, counts ARRAY<INT>, steps STRING"


@dataclass(frozen=True)
class DistributedHistories:
    """The histories of a log as a data frame: `person, history, part, entries, counts`, kept until it is released."""

    frame: "DataFrame"
    steps: tuple[Step, ...]
    parts: tuple[str, ...]  # the values by which the log is cut, in order
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
    raw = read_log(spark, source)
    n_rows, n_unread, has_times = _counted(raw)
    _judge(source, n_rows, n_unread)
    if source.cleaning.history != "user" and not has_times:
        raise LogError(f"--history {source.cleaning.history} needs times, and the log has none; use --history user.")
    progress("cleaning", 0, 1)
    usable = raw.frame.where("person IS NOT NULL").repartition("person")
    task = _Task(raw.layout, source, unit, has_times)
    kept = usable.mapInArrow(task, SPARK_SCHEMA).persist(StorageLevel.DISK_ONLY)
    steps, parts, n_histories = _summed(kept, n_unread)
    _judge(source, n_rows, steps["bad lines"].count)
    frame = kept.where("person IS NOT NULL").drop("steps")
    if not n_histories:
        kept.unpersist()
        raise LogError(_nobody(steps))
    if parts:
        words = steps["histories"].note.split(", ")[:-1]
        note = ", ".join([*words, f"{len(parts):,} parts by {source.cleaning.partition_by}"])
        steps["histories"] = replace(steps["histories"], note=note)
    progress("cleaning", 1, 1)
    return DistributedHistories(frame, tuple(steps.values()), parts, kept)


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
        from queryveil.engines.local import open_rows

        with open_rows(table, self.layout, self.source, has_times=self.has_times) as log:
            try:
                profiles = build(log, unit=self.unit)
                rows = _rows(profiles, log.partition_values)
            except NoTermsError:
                rows = _SCHEMA.empty_table()
            steps = [asdict(step) for step in log.steps]
            told = json.dumps({"steps": steps, "parts": log.partition_values, "histories": len(rows)})
        yield from rows.to_batches(max_chunksize=20_000)
        empty: dict[str, list[Any]] = {name: [None] for name in _SCHEMA.names}
        yield pa.RecordBatch.from_pydict({**empty, "steps": [told]}, _SCHEMA)


def _in_order(table: pa.Table) -> pa.Table:
    """Sort rows by their content: the order in which a shuffle brings them must not matter."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _rows(profiles: Profiles, parts: Sequence[str]) -> pa.Table:
    """Return one row per history."""
    owner = profiles.owner
    first = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(np.diff(owner)) + 1))
    number = np.arange(len(owner)) - per_entry(first, np.append(first, len(owner)))
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


def _counted(raw: RawLog) -> tuple[int, int, bool]:
    """Count all rows and those without a person, and say whether any has a time."""
    from pyspark.sql import functions as f

    times = f.count("time") if "time" in raw.layout.roles else f.lit(0)
    row = raw.frame.agg(f.count(f.lit(1)), f.count("person"), times).collect()[0]
    return int(row[0]), int(row[0] - row[1]), int(row[2]) > 0


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


def _summed(kept: "DataFrame", n_unread: int) -> tuple[dict[str, Step], tuple[str, ...], int]:
    """Add up what the steps of all partitions did, collect the values by which the log is cut, count histories."""
    found: dict[str, Step] = {}
    notes: dict[str, list[str]] = {}
    parts: set[str] = set()
    n_histories = 0
    for row in kept.where("steps IS NOT NULL").select("steps").collect():
        told = json.loads(row[0])
        n_histories += told["histories"]
        parts.update(told["parts"])
        for step in (Step(**each) for each in told["steps"]):
            before = found.get(step.name, Step(step.name, n_unread if step.name == "bad lines" else 0, step.unit))
            found[step.name] = replace(before, count=before.count + step.count)
            notes.setdefault(step.name, []).append(step.note)
    steps = {name: replace(step, note=_together(notes[name])) for name, step in found.items()}
    return steps, tuple(sorted(parts)), n_histories


def _together(notes: Iterable[str]) -> str:
    """Return the notes of all partitions on a step as one: counts ("2 email, 1 card") are added up."""
    said = [note for note in notes if note]
    counts: Counter[str] = Counter()
    for piece in (piece for note in said for piece in note.split(", ")):
        counted = _COUNT.fullmatch(piece)
        if counted is None:
            return min(said)
        counts[counted[2]] += int(counted[1].replace(",", ""))
    order = sorted(counts, key=lambda word: KINDS.index(word) if word in KINDS else 0)
    return ", ".join(f"{counts[word]:,} {word}" for word in order)


def _nobody(steps: Mapping[str, Step]) -> str:
    """Say why nobody is left."""
    if steps["bots"].count:
        return "all users of the log are bots by --bots; raise it, or give 0 to keep everybody."
    return NO_TERMS
