"""The manifest: what a release is and what it promises, and nothing that helps to undo it.

The top-level keys of `manifest.json` appear in this module only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from queryveil._version import __version__
from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.engines import Step
from queryveil.engines.kept_columns import KeptColumns
from queryveil.logs.options import CleaningOptions

MANIFEST_FILE = "manifest.json"
_COUNTS = ("people", "histories", "terms", "pairs", "occurrences")
_REQUIRED: Mapping[str, type] = {
    **dict.fromkeys(("queryveil", "kind", "method", "guarantee"), str),
    **dict.fromkeys(("columns", "uncovered_columns"), list),
    **dict.fromkeys(("cleaning", "counts"), dict),
    "files": list,
    "content_sha256": str,
}


@dataclass(frozen=True)
class FileEntry:
    """A file of a release."""

    path: str
    sha256: str
    rows: int | None = None  # of a data file


@dataclass(frozen=True)
class PartitionRecord:
    """How the log was cut into partitions."""

    column: str
    values: int = 0
    left_out: int = 0  # partitions with too few people


@dataclass(frozen=True)
class CleaningRecord:
    """What was done to the log before the method saw it."""

    options: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]] = ()
    meaning: Mapping[str, Any] | None = None  # how terms were compared and weighed, where they were

    def cleaning(self) -> CleaningOptions:
        """Return the cleaning options."""
        return CleaningOptions.from_record(self.options)

    def sentences(self) -> list[str]:
        """Return the steps in words."""
        return [str(Step(**step)) for step in self.steps]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a release is, what it promises, and what its files are; the fields are the keys of `manifest.json`."""

    queryveil: str = __version__
    kind: str
    method: str
    guarantee: str
    promise: str = ""
    limits: tuple[str, ...] = ()
    floor: int = 1
    columns: tuple[str, ...]
    uncovered_columns: tuple[str, ...] = ()
    kept: KeptColumns | None = None  # in which form the uncovered columns are, and how many people share a value
    partition: PartitionRecord | None = None
    cleaning: CleaningRecord
    counts: Mapping[str, Mapping[str, int]]  # of the log, `before`, and of the release, `after`
    content_sha256: str
    lists: Mapping[str, Any] | None = None  # digests of the user's word lists, where the method uses some
    files: tuple[FileEntry, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict, repr=False)  # keys that this version does not know

    @property
    def claim(self) -> ResolvedName:
        """Return the guarantee that is claimed."""
        return resolve("guarantee", self.guarantee)

    def record(self) -> dict[str, Any]:
        """Return the manifest as it is written, keys in order; optional parts that it does not have are left out."""
        record = asdict(self)
        other: dict[str, Any] = record.pop("other")
        if self.lists is None:
            del record["lists"]
        del record["kept"]
        if self.kept is not None:
            record["kept"] = self.kept.record()
        for name in ("limits", "columns", "uncovered_columns"):
            record[name] = list(record[name])
        cleaning, *files = (
            {key: value for key, value in part.items() if value is not None}
            for part in (record["cleaning"], *record["files"])
        )
        return record | {"cleaning": cleaning, "files": files} | other

    def encode(self) -> bytes:
        """Return the manifest as JSON, the same bytes for the same content."""
        return (json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n").encode()


def load_manifest(release: Path) -> Manifest:
    """Read the manifest of a release folder."""
    path = release / MANIFEST_FILE
    if release.is_file():
        raise ReleaseError(f"{release} is a file, not the folder of a release; check the path.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ReleaseError(
            f"{release} has no {MANIFEST_FILE}, so it is not a finished release; check the path."
        ) from None
    except OSError:
        raise ReleaseError(f"{path} cannot be read as JSON; the release is damaged.") from None
    return decode_manifest(path, data)


def decode_manifest(path: Path | str, data: bytes) -> Manifest:
    """Read the bytes of a manifest; `path` is for messages."""
    try:
        record = json.loads(data)
        json.dumps(record, ensure_ascii=False).encode()  # half a surrogate pair could not be printed
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} cannot be read as JSON; the release is damaged.") from None
    if not isinstance(record, dict):
        raise ReleaseError(f"{path} is not a JSON object; the release is damaged.")
    _check(path, record)
    known = {each.name for each in fields(Manifest)} - {"other"}
    values: dict[str, Any] = {key: value for key, value in record.items() if key in known}
    values |= {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    cleaning, partition, lists = record["cleaning"], record.get("partition"), record.get("lists")
    values |= {
        "partition": None if partition is None else PartitionRecord(**partition),
        "cleaning": CleaningRecord(cleaning["options"], cleaning.get("steps", ()), cleaning.get("meaning")),
        "counts": {"before": {}, **record["counts"]},
        "lists": lists if isinstance(lists, dict) else None,
        "kept": _decode_kept(path, record),
        "files": tuple(FileEntry(entry["path"], entry["sha256"], entry.get("rows")) for entry in record["files"]),
    }
    return Manifest(**values, other={key: value for key, value in record.items() if key not in known})


def _decode_kept(path: Path | str, record: Mapping[str, Any]) -> KeptColumns | None:
    """Return how the uncovered columns were kept, which a manifest must state of these and of no others."""
    try:
        kept = KeptColumns.from_record(record["kept"]) if "kept" in record else KeptColumns()
    except (InputError, ValueError, KeyError, TypeError, AttributeError):
        raise ReleaseError(f"{path} has kept of another form than a manifest's; the release is damaged.") from None
    if kept.names != tuple(record["uncovered_columns"]):
        raise ReleaseError(f"{path}: kept is not about the uncovered_columns; the release is damaged.")
    return kept if kept.columns else None


def _check(path: Path | str, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that lacks something, or has something else where a thing belongs."""
    wrong = [key for key, kind in _REQUIRED.items() if not isinstance(manifest.get(key), kind)]
    if wrong:
        raise ReleaseError(f"{path} lacks {', '.join(wrong)}, or has it in another form; the release is damaged.")
    if manifest["kind"] not in declarations("kind"):
        raise ReleaseError(f"{path}: releases of kind {manifest['kind']!r} are not known to this version; update it.")
    names = [*manifest["columns"], *manifest["uncovered_columns"]]
    counts, partition = manifest["counts"].get("after"), manifest.get("partition")
    known = PartitionRecord.__dataclass_fields__.keys()
    parts = {
        "columns": all(isinstance(name, str) for name in names),
        "cleaning": isinstance(manifest["cleaning"].get("options"), dict),
        "counts": isinstance(counts, dict) and all(type(counts.get(key)) is int for key in _COUNTS),
        "files": all(
            isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("path", "sha256"))
            for entry in manifest["files"]
        ),
        "floor": type(manifest.get("floor", 1)) is int,
        "partition": partition is None
        or (isinstance(partition, dict) and "column" in partition and partition.keys() <= known),
    }
    if not all(parts.values()):
        wrong = [key for key, is_right in parts.items() if not is_right]
        raise ReleaseError(f"{path} has {', '.join(wrong)} of another form than a manifest's; the release is damaged.")
