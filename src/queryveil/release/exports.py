"""Exports: the rows of a release in a form that other programs read, next to its own manifest and a verdict.

An export is a release folder in which one file in another form takes the place of the data files. `manifest.json` and
its signature stay as they are, so that the digest of the rows that they state binds the exported rows too.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from queryveil._version import __version__
from queryveil.core.arrow import csv_bytes, memory_file, open_parquet, parquet_bytes
from queryveil.core.errors import ReleaseError
from queryveil.core.files import Folder
from queryveil.core.results import Verdict
from queryveil.kinds.base import kind_of
from queryveil.release.manifest import DIGEST, VERSION, FileEntry, Manifest, has_form

EXPORT_FILE = "export.json"
STATED = ("claim", "state", "counted", "caution", "checked")  # of a verdict
_BATCH = 100_000  # rows


def _read_csv(data: bytes, schema: pa.Schema, delimiter: str) -> pa.Table:
    import pyarrow.csv as csv

    return csv.read_csv(
        memory_file(data),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


def _jsonl_bytes(rows: pa.Table) -> bytes:
    for place, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type):
            rows = rows.set_column(place, column.name, rows[column.name].cast(pa.string()))
    dump = partial(json.dumps, ensure_ascii=False)
    return "".join(dump(row) + "\n" for batch in rows.to_batches(_BATCH) for row in batch.to_pylist()).encode()


def _read_jsonl(data: bytes, schema: pa.Schema) -> pa.Table:
    import pyarrow.json as lines

    return lines.read_json(memory_file(data), parse_options=lines.ParseOptions(explicit_schema=schema))


@dataclass(frozen=True)
class RowFormat:
    """A form of the rows: how to write them, and how to read them with the types of a schema."""

    name: str
    suffix: str
    write: Callable[[pa.Table], bytes]
    read: Callable[[bytes, pa.Schema], pa.Table]
    opens_in_spreadsheets: bool = False


PARQUET = RowFormat("Parquet", ".parquet", parquet_bytes, lambda data, _: open_parquet(data).read())
FORMATS: Mapping[str, RowFormat] = {
    "csv": RowFormat("CSV", ".csv", partial(csv_bytes, delimiter=","), partial(_read_csv, delimiter=","), True),
    "tsv": RowFormat("TSV", ".tsv", partial(csv_bytes, delimiter="\t"), partial(_read_csv, delimiter="\t"), True),
    "jsonl": RowFormat("JSON Lines", ".jsonl", _jsonl_bytes, _read_jsonl),
    "parquet": PARQUET,
}


def rows_file(form: str) -> str:
    """Return the name of the file of the rows; "" where there is no such form."""
    return f"rows{FORMATS[form].suffix}" if form in FORMATS else ""


def row_schema(manifest: Manifest) -> pa.Schema:
    """Return the types of the columns of a release, which a text file does not state."""
    columns = kind_of(manifest.kind).schema()
    for name in manifest.columns[len(columns) :]:
        columns = columns.append(pa.field(name, pa.timestamp("us") if name == "time" else pa.string()))
    return columns


@dataclass(frozen=True)
class ExportRecord:
    """What `export.json` states: the form of the rows, their file, and the verdict when they were exported."""

    queryveil: str
    format: str
    verdict: Mapping[str, Any]
    files: tuple[FileEntry, ...]

    def files_with(self, manifest: Manifest) -> tuple[FileEntry, ...]:
        """Return the files of the folder: those that a manifest lists, the file of the rows in place of its data."""
        return *(entry for entry in manifest.files if not entry.path.endswith(PARQUET.suffix)), *self.files

    def contradicts(self, verdict: Verdict) -> bool:
        """Return whether the stated verdict differs from one on the same claim, as far as they can be compared."""
        is_alike = (self.queryveil, self.verdict["counted"]) == (__version__, verdict.counted)
        names = STATED if is_alike else ("claim", "state", "caution")
        return any(self.verdict[name] != getattr(verdict, name) for name in names)


def encode_export(rows: pa.Table, form: str, verdict: Verdict) -> dict[str, bytes]:
    """Return the file of the rows in a form, and the record of the export, by name."""
    name, data = rows_file(form), FORMATS[form].write(rows)
    entry = FileEntry(name, hashlib.sha256(data).hexdigest(), rows.num_rows)
    stated = {each: getattr(verdict, each) for each in STATED}
    record = {"queryveil": __version__, "format": form, "verdict": stated, "files": [asdict(entry)]}
    return {name: data, EXPORT_FILE: (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()}


_FORM: Mapping[str, Any] = {
    "queryveil": VERSION,
    "format": str,
    "verdict": {
        **dict.fromkeys(("claim", "state", "caution"), str),
        "counted": re.compile("people|histories|nothing"),
        "checked": int,
    },
    "files": [{"path": str, "sha256": DIGEST, "rows": int}],
}


def read_export(release: Folder) -> ExportRecord | None:
    """Return the record of an exported release, None for a release that was not exported."""
    path = release / EXPORT_FILE
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}; check its permissions.") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} cannot be read as JSON; the export is damaged.") from None
    if not has_form(record, _FORM) or [entry["path"] for entry in record["files"]] != [rows_file(record["format"])]:
        raise ReleaseError(f"{path} is not what queryveil export writes; the export is damaged.")
    return ExportRecord(**record | {"files": tuple(FileEntry(**entry) for entry in record["files"])})
