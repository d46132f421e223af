"""Reading a release back: its rows, whether they are what the manifest says, and as histories × terms."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.display import Tabular
from queryveil.core.errors import ReleaseError
from queryveil.release import manifest as manifests

_TYPES = {
    "user": pa.int64(),
    "query_id": pa.int64(),
    "term": pa.string(),
    "group": pa.int64(),
    "weight": pa.float64(),
    "count": pa.int32(),
    "level": pa.int32(),
    "query": pa.string(),
}


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """A release folder that has been read."""

    path: Path
    manifest: Mapping[str, Any]
    rows: pa.Table
    faults: tuple[str, ...]  # where the folder is not what its manifest says

    @property
    def kind(self) -> str:
        """Return the kind of the release."""
        return str(self.manifest["kind"])

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.rows

    def _repr_html_(self) -> str:
        counts = self.manifest["counts"]["after"]
        return (
            f"<b>release</b> <code>{escape(str(self.manifest['method']))}</code>: {counts['people']:,} people, "
            f"{counts['terms']:,} distinct terms, {self.rows.num_rows:,} rows"
        )


@dataclass(frozen=True, eq=False)
class ReleasedHistories:
    """The histories of a release over numbered terms; occurrences where the kind has them."""

    users: NDArray[np.int64]  # (histories,): the ids in the release, ascending
    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    terms: tuple[str, ...]
    partition: NDArray[np.int32] | None
    unit: Literal["term", "query"] = "term"  # what is called a term above is a whole query where the kind is queries


def load(path: Path, *, check_rows: bool = True) -> Release:
    """Read a release folder; what is missing or changed is a fault, what makes no sense an error.

    Without `check_rows` only the digests of the files are compared, not that of the rows, which takes longer.
    """
    manifest = manifests.load(path)
    faults: list[str] = []
    parts: list[pa.Table] = []
    for entry in manifest["files"]:
        data = _file(path, entry, faults)
        if data is not None and entry["path"].endswith(".parquet"):
            parts += _table(entry, data, faults)
    listed = {entry["path"] for entry in manifest["files"]} | {manifests.NAME}
    present = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_symlink() or not file.is_dir()}
    faults += [f"{name} is not in the manifest" for name in sorted(present - listed)]
    rows = _joined(path, parts, manifest)
    faults += _column_faults(rows, manifest)
    if check_rows and not faults and manifests.content_digest(rows) != manifest["content_sha256"]:
        faults.append("the rows do not have the digest that the manifest gives")
    return Release(path, manifest, rows, tuple(faults))


def _joined(path: Path, parts: list[pa.Table], manifest: Mapping[str, Any]) -> pa.Table:
    """Return the parts as one table, empty where none is left, if it has the columns of its kind."""
    wanted = pa.schema([(name, _TYPES[name]) for name in manifests.COLUMNS[manifest["kind"]]])
    if not parts:
        return wanted.empty_table()
    if any(not part.schema.equals(parts[0].schema) for part in parts):
        raise ReleaseError(f"{path}: the parts of the data have different columns; the release is damaged.")
    rows = pa.concat_tables(parts)
    if pa.schema(list(rows.schema)[: len(wanted)]) != wanted:
        raise ReleaseError(
            f"{path}: the data has not the columns {', '.join(wanted.names)} of its kind; the release is damaged."
        )
    return rows


def _column_faults(rows: pa.Table, manifest: Mapping[str, Any]) -> list[str]:
    """Find columns that the manifest does not account for: nobody has checked what they give away."""
    names = list(rows.column_names)
    if rows.num_rows == 0:
        return []
    known = {*manifests.COLUMNS[manifest["kind"]], *manifest["uncovered_columns"]}
    known |= {"partition"} if manifest.get("partition") is not None else set()
    if manifest["columns"] == names and set(names) == known:
        return []
    return ["the data has other columns than the manifest says"]


def _file(path: Path, entry: Mapping[str, Any], faults: list[str]) -> bytes | None:
    """Return a file's bytes, noting a fault where it is missing or not what the manifest says."""
    name = str(entry["path"])
    if "\0" in name or path.resolve() not in (path / name).resolve().parents:
        raise ReleaseError(f"{path / manifests.NAME} names a file outside the release; do not trust it.")
    try:
        data = (path / name).read_bytes()
    except OSError:
        faults.append(f"{name} is missing")
        return None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        faults.append(f"{name} has been changed since it was released")
    return data


def _table(entry: Mapping[str, Any], data: bytes, faults: list[str]) -> list[pa.Table]:
    """Return the table in a data file, noting a fault where there is none or it has another number of rows."""
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
        table.validate(full=True)
    except (OSError, pa.ArrowException):
        faults.append(f"{entry['path']} is not a readable Parquet file")
        return []
    if table.num_rows != entry.get("rows"):
        faults.append(f"{entry['path']} has not the number of rows that the manifest gives")
    return [table.replace_schema_metadata(None)]


def histories_of(rows: pa.Table) -> ReleasedHistories:
    """Return the histories of the rows `user, term` or `user, query` (and `query_id`, `partition` where they are)."""
    unit: Literal["term", "query"] = "query" if "query" in rows.column_names else "term"
    for name in ("user", unit):
        if rows[name].null_count:
            raise ReleaseError(f"the release has rows without a {name}; it is damaged.")
    users, user = np.unique(as_array(rows["user"]), return_inverse=True)
    encoded = rows[unit].combine_chunks().dictionary_encode()
    term = as_array(encoded.indices.cast(pa.int64()))
    terms = tuple(encoded.dictionary.to_pylist())
    keys, counts = np.unique(user * max(len(terms), 1) + term, return_counts=True)
    history, ids = np.divmod(keys, max(len(terms), 1))
    indptr = np.searchsorted(history, np.arange(len(users) + 1)).astype(np.int64)
    partition = _partition(rows, user, len(users)) if "partition" in rows.column_names else None
    return ReleasedHistories(users, indptr, ids.astype(np.int32), counts.astype(np.int32), terms, partition, unit)


def as_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a column of numbers without gaps."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    # not column.to_numpy(): that imports pandas where it is installed, which costs more than a small verification
    return np.array(np.from_dlpack(whole))


def _partition(rows: pa.Table, user: NDArray[np.int64], n_users: int) -> NDArray[np.int32]:
    """Return the partition of every history; one history cannot stand in two."""
    if rows["partition"].null_count or not pa.types.is_string(rows["partition"].type):
        raise ReleaseError("the release has rows without a partition; it is damaged.")
    value = as_array(rows["partition"].combine_chunks().dictionary_encode().indices.cast(pa.int64()))
    partition = np.full(n_users, -1, np.int64)
    partition[user] = value
    if not np.array_equal(partition[user], value):
        raise ReleaseError("the release has a history in two partitions; it is damaged.")
    return partition.astype(np.int32)
