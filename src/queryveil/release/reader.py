"""Reading a release back: its rows, and whether they are what the manifest says."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.core.display import Tabular
from queryveil.core.errors import InputError, ReleaseError
from queryveil.kinds.base import Kind
from queryveil.release.digest import content_digest
from queryveil.release.manifest import NAME, FileEntry, Manifest, load_manifest


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """A release that has been read, or that would be written."""

    path: Path
    manifest: Manifest
    rows: pa.Table
    faults: tuple[str, ...] = ()  # where the folder is not what its manifest says

    @property
    def kind(self) -> Kind:
        """Return the kind of the release."""
        return self.manifest.kind_object()

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.rows

    def refuse_damaged(self, purpose: str) -> None:
        """Refuse a release that is not what its manifest says."""
        if self.faults:
            raise InputError(f"{self.path}: {self.faults[0]}; verify the release before {purpose} it.")

    def _repr_html_(self) -> str:
        counts = self.manifest.after
        return (
            f"<b>release</b> <code>{escape(self.manifest.method)}</code>: {counts['people']:,} people, "
            f"{counts['terms']:,} distinct terms, {self.rows.num_rows:,} rows"
        )


def load_release(path: Path, *, check_rows: bool = True) -> Release:
    """Read a release folder; what is missing or changed is a fault, what makes no sense an error.

    Without `check_rows` only the digests of the files are compared, not that of the rows, which takes longer.
    """
    return read_files(path, load_manifest(path), check_rows=check_rows)


def read_files(path: Path, manifest: Manifest, *, check_rows: bool = True) -> Release:
    """Read the files that a manifest lists, and compare them with it."""
    faults: list[str] = []
    parts: list[pa.Table] = []
    for entry in manifest.files:
        data = _file(path, entry, faults)
        if data is not None and entry.path.endswith(".parquet"):
            parts += _table(entry, data, faults)
    listed = {entry.path for entry in manifest.files} | {NAME}
    present = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_symlink() or not file.is_dir()}
    faults += unlisted_files(present, listed)
    rows = _joined(path, parts, manifest.kind_object())
    faults += _column_faults(rows, manifest)
    if check_rows and not faults and content_digest(rows) != manifest.content_sha256:
        faults.append(WRONG_ROWS)
    return Release(path, manifest, rows, tuple(faults))


WRONG_ROWS = "the rows do not have the digest that the manifest gives"


def missing_file(name: str) -> str:
    """Say that a listed file is missing."""
    return f"{name} is missing"


def changed_file(name: str) -> str:
    """Say that a listed file has another digest."""
    return f"{name} has been changed since it was released"


def unlisted_files(present: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Say which files are not in the manifest."""
    return [f"{name} is not in the manifest" for name in sorted(set(present) - set(listed))]


def _joined(path: Path, parts: Sequence[pa.Table], kind: Kind) -> pa.Table:
    """Return the parts as one table, empty where none is left, if it has the columns of its kind."""
    schema = kind.schema()
    if not parts:
        return schema.empty_table()
    if any(not part.schema.equals(parts[0].schema) for part in parts):
        raise ReleaseError(f"{path}: the parts of the data have different columns; the release is damaged.")
    rows = pa.concat_tables(parts)
    if pa.schema(list(rows.schema)[: len(schema)]) != schema:
        raise ReleaseError(
            f"{path}: the data has not the columns {', '.join(schema.names)} of its kind; the release is damaged."
        )
    return rows


def _column_faults(rows: pa.Table, manifest: Manifest) -> list[str]:
    """Find columns that the manifest does not account for: nobody has checked what they give away."""
    names = tuple(rows.column_names)
    if rows.num_rows == 0:
        return []
    known = {*manifest.kind_object().columns, *manifest.uncovered_columns}
    known |= {"partition"} if manifest.partition is not None else set()
    if manifest.columns == names and set(names) == known:
        return []
    return ["the data has other columns than the manifest says"]


def _file(path: Path, entry: FileEntry, faults: list[str]) -> bytes | None:
    """Return a file's bytes, adding a fault where it is missing or not what the manifest says."""
    name = entry.path
    if "\0" in name or path.resolve() not in (path / name).resolve().parents:
        raise ReleaseError(f"{path / NAME} names a file outside the release; do not trust it.")
    try:
        data = (path / name).read_bytes()
    except OSError:
        faults.append(missing_file(name))
        return None
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        faults.append(changed_file(name))
    return data


def _table(entry: FileEntry, data: bytes, faults: list[str]) -> list[pa.Table]:
    """Return the table in a data file, adding a fault where there is none or it has another number of rows."""
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
        table.validate(full=True)
    except (OSError, pa.ArrowException):
        faults.append(f"{entry.path} is not a readable Parquet file")
        return []
    if table.num_rows != entry.rows:
        faults.append(f"{entry.path} has not the number of rows that the manifest gives")
    return [table.replace_schema_metadata(None)]
