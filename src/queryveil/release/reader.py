"""Reading a release back: its rows, whether they are what the manifest says, and as histories × terms."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.errors import ReleaseError
from queryveil.release import manifest as manifests
from queryveil.types import Tabular


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
            f"<b>release</b> <code>{escape(str(self.manifest['method']))}</code>: {counts['histories']:,} histories, "
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


def load(path: Path) -> Release:
    """Read a release folder; what is missing or changed is a fault, what cannot be read an error."""
    manifest = manifests.load(path)
    faults: list[str] = []
    parts: list[pa.Table] = []
    for entry in manifest["files"]:
        data = _file(path, entry, faults)
        if data is not None and str(entry["path"]).endswith(".parquet"):
            parts.append(_table(path / entry["path"], data))
    listed = {str(entry["path"]) for entry in manifest["files"]} | {manifests.NAME}
    present = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    faults += [f"{name} is not in the manifest" for name in sorted(present - listed)]
    if not parts:
        raise ReleaseError(f"{path} has no readable data; the release is damaged.")
    rows = pa.concat_tables(parts)
    wanted = manifests.COLUMNS[manifest["kind"]]
    if tuple(rows.column_names[: len(wanted)]) != wanted:
        raise ReleaseError(f"{path}: the data has the columns {rows.column_names}, not {', '.join(wanted)}.")
    if not faults and manifests.content_digest(rows) != manifest["content_sha256"]:
        faults.append("the rows do not have the digest that the manifest gives")
    return Release(path, manifest, rows, tuple(faults))


def _file(path: Path, entry: Mapping[str, Any], faults: list[str]) -> bytes | None:
    """Return a file's bytes, noting a fault where it is missing or not what the manifest says."""
    file = (path / str(entry["path"])).resolve()
    if path.resolve() not in file.parents:
        raise ReleaseError(f"{path / manifests.NAME} names a file outside the release; do not trust it.")
    try:
        data = file.read_bytes()
    except OSError:
        faults.append(f"{entry['path']} is missing")
        return None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        faults.append(f"{entry['path']} has been changed since it was released")
    return data


def _table(path: Path, data: bytes) -> pa.Table:
    try:
        return pq.ParquetFile(pa.BufferReader(data)).read()
    except pa.ArrowException:
        raise ReleaseError(f"{path} is not a readable Parquet file; the release is damaged.") from None


def histories_of(rows: pa.Table) -> ReleasedHistories:
    """Return the histories of the rows `user, term` (and `query_id`, `partition` where they are)."""
    users, user = np.unique(_numbers(rows["user"].combine_chunks()), return_inverse=True)
    encoded = rows["term"].combine_chunks().dictionary_encode()
    term = _as_array(encoded.indices.cast(pa.int64()))
    terms = tuple(encoded.dictionary.to_pylist())
    if any(text is None for text in terms) or rows["term"].null_count:
        raise ReleaseError("the release has rows without a term; it is damaged.")
    keys, counts = np.unique(user * max(len(terms), 1) + term, return_counts=True)
    history, ids = np.divmod(keys, max(len(terms), 1))
    indptr = np.searchsorted(history, np.arange(len(users) + 1)).astype(np.int64)
    partition = _partition(rows, user, len(users)) if "partition" in rows.column_names else None
    return ReleasedHistories(users, indptr, ids.astype(np.int32), counts.astype(np.int32), terms, partition)


def _numbers(users: pa.Array) -> NDArray[np.int64]:
    if users.null_count:
        raise ReleaseError("the release has rows without a user; it is damaged.")
    return _as_array(pc.cast(users, pa.int64()))


def _as_array(column: pa.Array) -> NDArray[np.int64]:
    # not column.to_numpy(): that imports pandas where it is installed, which costs more than a small verification
    return np.array(np.from_dlpack(column))


def _partition(rows: pa.Table, user: NDArray[np.int64], n_users: int) -> NDArray[np.int32]:
    """Return the partition of every history; one history cannot stand in two."""
    value = _as_array(rows["partition"].combine_chunks().dictionary_encode().indices.cast(pa.int64()))
    partition = np.full(n_users, -1, np.int64)
    partition[user] = value
    if not np.array_equal(partition[user], value):
        raise ReleaseError("the release has a history in two partitions; it is damaged.")
    return partition.astype(np.int32)
