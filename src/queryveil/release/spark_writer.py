"""Writing a release on a cluster: tasks make the files, the driver takes one at a time, digests and writes it.

Rows, their order and where they are cut into files are as on one machine, so the same content gives the same bytes
however many tasks made it. Files are staged in a workspace of this machine, or of the cluster's storage.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.core.arrow import open_parquet, parquet_bytes
from queryveil.core.errors import OutputError
from queryveil.core.files import scratch
from queryveil.core.rows import indptr_of, row_numbers
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.kinds.base import Kind
from queryveil.kinds.frames import FrameLayout
from queryveil.kinds.private_folder import CONTRIBUTORS, MEMBERSHIP, PROFILES, RUN_FILE, RunRecord, bind
from queryveil.release.atomic_folder import EXISTS
from queryveil.release.manifest import MANIFEST_FILE, FileEntry, Manifest
from queryveil.release.reader import content_digest
from queryveil.release.writer import DATA_FILE, PART_ROWS, Staging, WrittenRows, staging

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SAME_STORAGE = "give both as folders of this machine, or both as addresses such as hdfs://…"


@dataclass(frozen=True)
class ClusterStaging:
    """A release that a cluster writes, and where Spark finds it."""

    staged: "StagedRelease"
    uri: str  # of the release as it is written
    work: str  # where Spark may write intermediate results


@contextmanager
def cluster_staging(storage: Storage, out: str, private: str | None, *, force: bool) -> Iterator[ClusterStaging]:
    """Make the folders for a release and its private folder; both are removed unless they are committed."""
    folder, secret = local_path(out), None if private is None else local_path(private)
    if private is not None and (folder is None) != (secret is None):
        raise OutputError(f"--out and --private are on different storages; {_SAME_STORAGE}.")
    if folder is not None:
        with staging(folder, secret, force=force) as staged:
            yield ClusterStaging(staged, uri_of(staged.release), uri_of(staged.work))
        return
    with ExitStack() as stack:
        here = stack.enter_context(scratch("private")) if private is not None else None
        remote = stack.enter_context(_remote_staging(storage, out.rstrip("/"), private, here, force=force))
        yield ClusterStaging(remote, remote.uri, f"{remote.workspace}/work")


@dataclass(frozen=True)
class RemoteStaging:
    """A workspace in the cluster's storage; if this run dies, a later run with the same target removes it."""

    storage: Storage
    out: str
    private_uri: str | None
    private: Path | None  # of this machine
    workspace: str
    force: bool

    @property
    def uri(self) -> str:
        """Return where the release is written."""
        return f"{self.workspace}/new"

    def write(self, name: str, data: bytes, rows: int | None = None) -> FileEntry:
        """Write a file of the release and return what the manifest says about it."""
        self.storage.write(f"{self.uri}/{name}", data)
        return FileEntry(name, hashlib.sha256(data).hexdigest(), rows)

    def commit(self, manifest: Manifest) -> None:
        """Move the private folder and then the release to their targets."""
        if self.private is not None and self.private_uri is not None:
            bind(self.private, manifest.content_sha256, manifest.field_digests())
            for file in sorted(self.private.glob("*.*")):
                self.storage.upload(file, f"{self.workspace}/private/{file.name}")
            self._move_into_place(f"{self.workspace}/private", self.private_uri)
        try:
            self._move_into_place(self.uri, self.out)
        except BaseException:
            if self.private_uri is not None:
                self.storage.remove(self.private_uri)
            raise

    def _move_into_place(self, made: str, place: str) -> None:
        if self.storage.exists(place):
            if not self.force:
                raise OutputError(EXISTS.format(place))
            self.storage.move(place, f"{made}-before")  # it is removed with the workspace once the new one stands
        self.storage.move(made, place)


@contextmanager
def _remote_staging(
    storage: Storage, out: str, private: str | None, here: Path | None, *, force: bool
) -> Iterator[RemoteStaging]:
    for place, needed in ((out, MANIFEST_FILE), (private, RUN_FILE)):
        if place is None or not storage.exists(place):
            continue
        if not force:
            raise OutputError(EXISTS.format(place))
        if not storage.exists(f"{place}/{needed}"):
            raise OutputError(f"{place} was not made by queryveil, so --force does not replace it; choose another.")
    parent, _, name = out.rpartition("/")
    workspace = f"{parent}/.queryveil-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    storage.remove(workspace)
    storage.make_folder(f"{workspace}/new/data")
    try:
        yield RemoteStaging(storage, out, private, here, workspace, force)
    finally:
        storage.remove(workspace)


StagedRelease = Staging | RemoteStaging  # a release that is being written
_CHUNK = 50_000  # histories of the private tables that are in the driver's memory together


def ranked(work: ScratchTables, published: "DataFrame", layout: FrameLayout) -> "DataFrame":
    """Return the published records with `number`, the rank in the sorted content, and `before`, the rows before it."""
    sized = published.selectExpr(*layout.select).selectExpr("*", "size(entries) AS length")
    return work.numbered(sized, layout.order, "ranked", summed="length")


def write_rows(
    work: ScratchTables, ranked: "DataFrame", staged: StagedRelease, kind: Kind, layout: FrameLayout, *, has_parts: bool
) -> WrittenRows:
    """Write the rows of a kind of release as Parquet files."""
    schema = kind.schema().append(pa.field("partition", pa.string())) if has_parts else kind.schema()
    values = tuple(value.split()[0] for value in layout.arrays)
    carried = ranked.select("number", "before", "length", *values)
    cut = carried.mapInArrow(_cut, ", ".join(("file INT, number LONG, before LONG", *layout.arrays)))
    files = cut.groupBy("file").applyInArrow(_filing(schema, values), "file INT, data BINARY")
    entries: list[FileEntry] = []
    digest = content_digest(schema.names, _written(work.blobs(files, "files"), staged, entries))
    return WrittenRows(tuple(schema.names), digest, tuple(entries))


def _written(files: Iterable[tuple[bytes, ...]], staged: StagedRelease, entries: list[FileEntry]) -> Iterator[pa.Table]:
    """Write each file and yield its rows."""
    for number, (data,) in enumerate(files):
        entries.append(staged.write(DATA_FILE.format(number), data, open_parquet(data).metadata.num_rows))
        yield from tables_of(data)


def tables_of(data: bytes) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file batch by batch: of the file only the compressed bytes are in memory."""
    for batch in open_parquet(data).iter_batches():
        yield pa.Table.from_batches([batch])


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


def _filing(schema: pa.Schema, values: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return a function that makes the Parquet file of some histories' rows.

    Spark inspects the number of arguments, so it must be a plain function, not a callable object.
    """

    def spread(column: pa.ChunkedArray, history: pa.Array) -> pa.Array:
        return column.combine_chunks().flatten() if pa.types.is_list(column.type) else column.take(history)

    def file(table: pa.Table) -> pa.Table:
        table = table.sort_by("number").combine_chunks()
        lengths = table["entries"].combine_chunks().value_lengths().to_numpy()
        history = pa.array(row_numbers(indptr_of(lengths)))
        held = [spread(table[name], history) for name in ("number", *values)]
        rows = pa.table(dict(zip(schema.names, held, strict=False)), schema=schema)
        number, before = table["file"][0].as_py(), table["before"][0].as_py()
        start, end = max(0, number * PART_ROWS - before), (number + 1) * PART_ROWS - before
        data = parquet_bytes(rows.slice(start, end - start))
        return pa.table({"file": pa.array([number], pa.int32()), "data": pa.array([data], pa.binary())})

    return file


def write_private(
    work: ScratchTables, histories: "DataFrame", released: "DataFrame", folder: Path, run: RunRecord, *, has_parts: bool
) -> None:
    """Write membership, profiles and the run record.

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
                tables[CONTRIBUTORS] = membership.select(["person", "release_id"]).drop_null()
            for name, table in tables.items():
                if name not in writers:
                    path = folder / name
                    path.touch(0o600)
                    writers[name] = stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
                writers[name].write_table(table)
    run.write(folder)


def _private_chunk(table: pa.Table) -> pa.Table:
    """Make the two private tables of some histories, in order."""
    table = table.sort_by("place").combine_chunks()
    _, first = np.unique(table["place"].to_numpy(), return_index=True)  # a history in pieces has a row for each
    whole = table.take(pa.array(first)).combine_chunks()
    entries = whole["entries"].combine_chunks()
    history = np.repeat(whole["place"].to_numpy(), entries.value_lengths().to_numpy())
    columns = {"history": history, "term": entries.flatten(), "count": whole["counts"].combine_chunks().flatten()}
    if "weights" in table.column_names:
        columns["weight"] = whole["weights"].combine_chunks().flatten()
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
