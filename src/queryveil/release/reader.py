"""Reading a release back: its rows, their digest, and whether they are what the manifest says."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.display import Tabular
from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.files import Folder, MemoryPath
from queryveil.kinds.base import Kind, kind_of
from queryveil.release.exports import EXPORT_FILE, FORMATS, PARQUET, ExportRecord, read_export, row_schema
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE, FileEntry, Manifest, load_manifest

WRONG_ROWS = "the rows do not have the digest that the manifest gives (content_sha256)"
NOT_LISTED = {MANIFEST_FILE, SIGNATURE_FILE}  # files that a manifest cannot list
_HASH_ROWS = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class Release(Tabular):
    """A release that has been read, or that would be written."""

    _shown = ("path", "manifest", "faults")
    path: Folder
    manifest: Manifest
    rows: pa.Table
    faults: tuple[str, ...] = ()  # where the folder is not what its manifest says
    export: ExportRecord | None = None  # where the rows are in another form

    @property
    def location(self) -> Folder:
        """Return where the release is; results of runs have the same attribute."""
        return self.path

    @property
    def kind(self) -> Kind:
        """Return the kind of the release."""
        return kind_of(self.manifest.kind)

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.rows

    def refuse_damaged(self, purpose: str) -> None:
        """Refuse a release that is not what its manifest says."""
        if self.faults:
            raise InputError(f"{self.path}: {self.faults[0]}; verify the release before {purpose} it.")

    def _repr_html_(self) -> str:
        counts = self.manifest.counts["after"]
        return (
            f"<b>release</b> <code>{escape(self.manifest.method)}</code>: {counts['people']:,} people, "
            f"{counts['terms']:,} distinct terms, {self.rows.num_rows:,} rows"
        )


def load_release(path: Folder, *, check_rows: bool = True) -> Release:
    """Read a release folder; what is missing or changed is a fault, what makes no sense an error.

    Without `check_rows` only the digests of the files are compared, not that of the rows, which takes longer.
    """
    return read_files(path, load_manifest(path), check_rows=check_rows)


def read_files(path: Folder, manifest: Manifest, *, check_rows: bool = True) -> Release:
    """Read the files that a manifest lists, or those of an export, and compare them with it."""
    digests: dict[str, str] = {}
    parts: list[pa.Table] = []
    table_faults: list[str] = []
    export, files, form = read_export(path), manifest.files, PARQUET
    if export is not None:
        files, form = export.files_with(manifest), FORMATS[export.format]
    for entry in files:
        if not _is_inside(path, entry.path):
            raise ReleaseError(f"{path / MANIFEST_FILE} names a file outside the release; do not trust it.")
        try:
            data = (path / entry.path).read_bytes()
        except OSError:
            continue
        digests[entry.path] = hashlib.sha256(data).hexdigest()
        if not entry.path.endswith(form.suffix):
            continue
        try:
            table = form.read(data, row_schema(manifest))
            table.validate(full=True)
        except (OSError, pa.ArrowException):
            table_faults.append(f"{entry.path} is not a readable {form.name} file")
            continue
        if table.num_rows != entry.rows:
            table_faults.append(f"{entry.path} does not have the number of rows that the manifest gives (files)")
        parts.append(table.replace_schema_metadata(None))
    unlisted = (
        _present_files(path) - {entry.path for entry in files} - NOT_LISTED - ({EXPORT_FILE} if export else set())
    )
    rows = _concatenate(path, parts, kind_of(manifest.kind))
    faults = [*file_faults(files, digests | dict.fromkeys(unlisted, "")), *table_faults]
    if rows.num_rows:
        faults += column_faults(manifest, rows.column_names)
    if check_rows and not faults:
        faults += row_faults(manifest, (rows,))
    return Release(path, manifest, rows, (*manifest_faults(manifest), *faults), export)


def _is_inside(folder: Folder, name: str) -> bool:
    """Return whether the file of a name would lie in the folder, on a disk where names may lead out of it."""
    if isinstance(folder, MemoryPath):
        return True
    return "\0" not in name and folder.resolve() in (folder / name).resolve().parents


def _present_files(folder: Folder) -> set[str]:
    """Return the names of all files of a folder."""
    if isinstance(folder, MemoryPath):
        return set(folder.files)
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()}


def manifest_faults(manifest: Manifest) -> list[str]:
    """Return whether fields of a manifest that was read from a file are not what its own digests say."""
    found, stated = manifest.field_digests(), manifest.fields_sha256
    altered = ", ".join(name for name in {**found, **stated} if stated and found.get(name) != stated.get(name))
    return [f"the manifest was changed after it was written: fields_sha256 does not fit {altered}"] if altered else []


def column_faults(manifest: Manifest, names: Sequence[str]) -> list[str]:
    """Return whether data has other columns than its manifest says: nobody has checked what these give away."""
    expected = (*kind_of(manifest.kind).columns, *manifest.uncovered_columns)
    if manifest.partition is not None:
        expected = (*expected, "partition")
    if tuple(names) == manifest.columns == expected:
        return []
    return ["the data has other columns than the manifest says (columns, uncovered_columns, partition)"]


def row_faults(manifest: Manifest, tables: Iterable[pa.Table]) -> list[str]:
    """Return whether rows have another digest than the manifest gives, or are not in the order of their kind."""
    faults: list[str] = []
    digest = content_digest(manifest.columns, kind_of(manifest.kind).watch_order(tables, faults))
    return faults if digest == manifest.content_sha256 else [WRONG_ROWS]


def file_faults(files: Sequence[FileEntry], digests: Mapping[str, str]) -> list[str]:
    """Return which listed files are missing or changed, and which files are not listed.

    `digests` has the SHA-256 of each file of the folder except the manifest, however it was computed.
    """
    faults = []
    for entry in files:
        if entry.path not in digests:
            faults.append(f"{entry.path} is missing")
        elif digests[entry.path] != entry.sha256:
            faults.append(f"{entry.path} has been changed since it was released")
    unlisted = digests.keys() - {entry.path for entry in files}
    return faults + [f"{name} is not in the manifest" for name in sorted(unlisted)]


def _concatenate(path: Folder, parts: Sequence[pa.Table], kind: Kind) -> pa.Table:
    """Return the parts as one table, empty where none is left, if it has the columns of its kind."""
    schema = kind.schema()
    if not parts:
        return schema.empty_table()
    if any(not part.schema.equals(parts[0].schema) for part in parts):
        raise ReleaseError(f"{path}: the parts of the data have different columns; the release is damaged.")
    rows = pa.concat_tables(parts)
    if pa.schema(list(rows.schema)[: len(schema)]) != schema:
        raise ReleaseError(
            f"{path}: the data does not have the columns {', '.join(schema.names)} of its kind; the release is damaged."
        )
    return rows


def content_digest(columns: Sequence[str], tables: Iterable[pa.Table]) -> str:
    r"""Return the SHA-256 of rows in their order, each as its values joined by tabs and ended by a line feed.

    A backslash, tab or line feed inside a value is written as \\, \t or \n, and no value as \N, so that different
    contents have different digests. It does not depend on how the rows are spread over tables, which need not be in
    memory together.
    """
    digest = hashlib.sha256("\t".join(columns).encode() + b"\n")
    for rows in tables:
        for start in range(0, rows.num_rows, _HASH_ROWS):
            part = rows.slice(start, _HASH_ROWS).combine_chunks()
            n, numbers = part.num_rows, np.arange(part.num_rows + 1, dtype=np.int32)
            tab, nothing, line_feed = (  # a scalar would import pandas where it is installed, as slow as verifying
                pa.StringArray.from_buffers(n, pa.py_buffer(numbers * np.int32(len(text))), pa.py_buffer(text * n))
                for text in (b"\t", b"", b"\n")
            )
            values = (*map(_escape, part.columns), tab)
            joined = pc.binary_join_element_wise(*values, null_handling="replace", null_replacement="\\N")
            for chunk in pc.binary_join_element_wise(joined, nothing, line_feed).chunks:
                _, offsets, data = chunk.buffers()
                first, end = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
                digest.update(memoryview(data)[first:end])
    return digest.hexdigest()


def _escape(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if pa.types.is_string(column.type):
        held = b"".join(chunk.buffers()[2] or b"" for chunk in text.chunks)
        for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n")):
            if raw.encode() in held:
                text = pc.replace_substring(text, raw, written)
    return text
