"""The files of a release on a cluster: tasks make them, the driver takes one at a time, digests and writes it.

Rows, their order and where they are cut into files are as on one machine, so the same content gives the same bytes,
whatever number of tasks made it. The driver holds the bytes of one file at a time.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.core.files import write_file
from queryveil.core.rows import row_numbers_of
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.release import manifest as manifests
from queryveil.release.private import COUNTED, MEMBERSHIP, PROFILES, RUN, parquet_bytes
from queryveil.release.writer import PART_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CHUNK = 50_000  # histories of the private tables that are in the driver's memory together
_VALUES = {  # of a kind: the columns of its frame that become the columns of rows, after the number
    "histories": ("entries ARRAY<STRING>", "part STRING"),
    "queries": ("entries ARRAY<STRING>", "part STRING"),
    "groups": ("entries ARRAY<STRING>", "weights ARRAY<DOUBLE>"),
}
_ROW_TYPES = {"user": pa.int64(), "group": pa.int64(), "weight": pa.float64()}  # of columns that are no texts


class Folder(Protocol):
    """Where the files of a release go."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole."""


@dataclass
class WrittenData:
    """What was written: the files for the manifest, the columns and the digest of all rows."""

    columns: tuple[str, ...]
    content_sha256: str = ""
    files: list[dict[str, Any]] = field(default_factory=list)

    def no_rows(self) -> pa.Table:
        """Return a table of the same columns without rows."""
        return _row_schema(self.columns).empty_table()


def ranked(work: ScratchTables, kept: "DataFrame", kind: str) -> "DataFrame":
    """Return kept histories with `number`, their rank in the sorted content, and `before`, the rows before theirs.

    Of kind `queries`, a query stands as often as it was issued.
    """
    rows = kept.drop("counts")
    if kind == "queries":
        issued = "flatten(transform(arrays_zip(entries, counts), each -> array_repeat(each.entries, each.counts)))"
        rows = kept.selectExpr("person", "history", "part", f"{issued} AS entries")
    sized = rows.selectExpr("*", "size(entries) AS length")
    return work.numbered(sized, ("part", "entries", "person", "history"), "ranked", summed="length")


def ranked_groups(work: ScratchTables, published: "DataFrame") -> "DataFrame":
    """Return published groups with `number`, their rank in the sorted content, and `before`, the rows before theirs."""
    sized = published.selectExpr("*", "size(entries) AS length")
    return work.numbered(sized, ("entries", "weights", "block", "group"), "ranked", summed="length")


def write_data(work: ScratchTables, ranked: "DataFrame", folder: Folder, kind: str, *, has_parts: bool) -> WrittenData:
    """Write the rows of a kind (`user, term`, `user, query` or `group, term, weight`) as Parquet parts."""
    columns = (*manifests.COLUMNS[kind], *(("partition",) if has_parts else ()))
    values = tuple(value.split()[0] for value in _VALUES[kind])
    carried = ranked.select("number", "before", "length", *values)
    cut = carried.mapInArrow(_cut, ", ".join(("file INT, number LONG, before LONG", *_VALUES[kind])))
    files = cut.groupBy("file").applyInArrow(_filing(columns, values), "file INT, data BINARY")
    written = WrittenData(columns)
    written.content_sha256 = manifests.streamed_digest(
        written.columns, _written(work.blobs(files, "files"), folder, written)
    )
    return written


def _written(files: Iterable[tuple[bytes, ...]], folder: Folder, written: WrittenData) -> Iterator[pa.Table]:
    """Write each file and yield its rows."""
    for number, (data,) in enumerate(files):
        name = f"data/part-{number:05d}.parquet"
        folder.write(name, data)
        n_rows = pq.ParquetFile(pa.BufferReader(data)).metadata.num_rows
        written.files.append({**file_entry(name, data), "rows": n_rows})
        yield from tables_of(data)


def tables_of(data: bytes) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file in pieces: of a whole file only the compressed bytes are in memory."""
    for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches():
        yield pa.Table.from_batches([batch])


def file_entry(name: str, data: bytes) -> dict[str, Any]:
    """Return what the manifest says about a file."""
    return {"path": name, "sha256": hashlib.sha256(data).hexdigest()}


def _row_schema(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, _ROW_TYPES.get(name, pa.string())) for name in columns])


def _cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Send every history or group to the file of its rows, or to both where a file ends within it."""
    for batch in batches:
        before = np.asarray(batch["before"])
        first, last = before // PART_ROWS, (before + np.asarray(batch["length"]) - 1) // PART_ROWS
        for step in range(int((last - first).max(initial=-1)) + 1):
            taken = np.flatnonzero(first + step <= last)
            columns = {name: batch[name].take(pa.array(taken)) for name in batch.schema.names if name != "length"}
            file = pa.array((first + step)[taken].astype(np.int32))
            yield pa.RecordBatch.from_pydict({"file": file, **columns})


def _filing(columns: Sequence[str], values: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return what makes the Parquet file of some histories' rows; Spark counts its arguments, so a function."""

    def spread(column: pa.ChunkedArray, history: pa.Array) -> pa.Array:
        return column.combine_chunks().flatten() if pa.types.is_list(column.type) else column.take(history)

    def file(table: pa.Table) -> pa.Table:
        table = table.sort_by("number").combine_chunks()
        lengths = table["entries"].combine_chunks().value_lengths().to_numpy()
        history = pa.array(row_numbers_of(lengths))
        held = [spread(table[name], history) for name in ("number", *values)]
        rows = pa.table(dict(zip(columns, held, strict=False)), schema=_row_schema(columns))
        number, before = table["file"][0].as_py(), table["before"][0].as_py()
        start, end = max(0, number * PART_ROWS - before), (number + 1) * PART_ROWS - before
        data = parquet_bytes(rows.slice(start, end - start))
        return pa.table({"file": pa.array([number], pa.int32()), "data": pa.array([data], pa.binary())})

    return file


def write_private(
    work: ScratchTables,
    histories: "DataFrame",
    released: "DataFrame",
    folder: Path,
    run: Mapping[str, Any],
    *,
    has_parts: bool,
) -> None:
    """Write who is behind the release, what every history held and the run record.

    `released` is `person, history, release_id`. Histories with weights are people that were grouped.
    """
    numbered = work.numbered(histories, ("person", "history"), "numbered").withColumnRenamed("number", "place")
    joined = numbered.join(released, ["person", "history"], "left").selectExpr("*", f"INT(place / {_CHUNK}) AS chunk")
    chunks = joined.groupBy("chunk").applyInArrow(_private_chunk, "chunk INT, membership BINARY, profiles BINARY")
    with ExitStack() as stack:
        writers: dict[str, pq.ParquetWriter] = {}
        for blobs in work.blobs(chunks, "private"):
            membership, profiles = (pa.ipc.open_stream(blob).read_all() for blob in blobs)
            tables = {MEMBERSHIP: membership if has_parts else membership.drop_columns("partition"), PROFILES: profiles}
            if "weight" in profiles.column_names:
                tables[COUNTED] = membership.select(["person", "release_id"]).drop_null()
            for name, table in tables.items():
                if name not in writers:
                    path = folder / name
                    path.touch(0o600)
                    writers[name] = stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
                writers[name].write_table(table)
    write_file(folder / RUN, (json.dumps(run, indent=2) + "\n").encode(), 0o600)


def _private_chunk(table: pa.Table) -> pa.Table:
    """Make the two private tables of some histories, in order."""
    table = table.sort_by("place").combine_chunks()
    entries = table["entries"].combine_chunks()
    history = np.repeat(table["place"].to_numpy(), entries.value_lengths().to_numpy())
    columns = {"history": history, "term": entries.flatten(), "count": table["counts"].combine_chunks().flatten()}
    if "weights" in table.column_names:
        columns["weight"] = table["weights"].combine_chunks().flatten()
    pairs = pa.table(columns).sort_by([("history", "ascending"), ("term", "ascending")])
    membership = pa.table(
        {
            "person": table["person"],
            "history": table["place"],
            "release_id": table["release_id"],
            "partition": table["part"],
        }
    )
    blobs = {"membership": [_stream(membership)], "profiles": [_stream(pairs)]}
    schema = pa.schema([("chunk", pa.int32()), ("membership", pa.binary()), ("profiles", pa.binary())])
    return pa.table({"chunk": [table["chunk"][0].as_py()], **blobs}, schema=schema)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def counts_of(histories: "DataFrame") -> dict[str, int]:
    """Count people, histories, distinct terms, pairs and occurrences, as the manifest gives them."""
    from pyspark.sql import functions as f

    full = histories.where("size(entries) > 0")
    row = full.agg(
        f.countDistinct("person"),
        f.count(f.lit(1)),
        f.sum(f.size("entries")),
        f.sum(f.expr("aggregate(counts, 0L, (total, each) -> total + each)")),
    ).collect()[0]
    terms = full.select(f.explode("entries").alias("term")).distinct().count()
    figures = (row[0], row[1], terms, row[2] or 0, row[3] or 0)
    return dict(zip(manifests.COUNTS, map(int, figures), strict=True))
