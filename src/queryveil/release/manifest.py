"""The manifest: what a release is and what it promises, and nothing that helps to undo it.

The keys of `manifest.json` appear in this module only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from queryveil._version import __version__
from queryveil.core.errors import ReleaseError
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.guarantees import guarantee_of
from queryveil.kinds.base import Counts, Kind, kind_of
from queryveil.logs.options import Cleaning

NAME = "manifest.json"
_TEXTS = ("queryveil", "kind", "method", "guarantee", "promise")
_COUNTS = ("people", "histories", "terms", "pairs", "occurrences")
_REQUIRED: Mapping[str, type] = {
    **dict.fromkeys(_TEXTS[:-1], str),
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

    def cleaning(self) -> Cleaning:
        """Return the cleaning options."""
        return Cleaning.from_record(self.options)


@dataclass(frozen=True)
class Manifest:
    """What a release is, what it promises, and what its files are."""

    queryveil: str
    kind: str
    method: str
    guarantee: str
    promise: str
    limits: tuple[str, ...]
    floor: int
    columns: tuple[str, ...]
    uncovered_columns: tuple[str, ...]
    partition: PartitionRecord | None
    cleaning: CleaningRecord
    before: Mapping[str, int]  # counts of the log
    after: Mapping[str, int]  # counts of the release
    content_sha256: str
    files: tuple[FileEntry, ...] = ()
    lists: Mapping[str, Any] | None = None  # digests of the user's word lists, where the method uses some
    other: Mapping[str, Any] = field(default_factory=dict, repr=False)  # keys that this version does not know

    @property
    def claim(self) -> ResolvedName:
        """Return the guarantee that is claimed."""
        return resolve("guarantee", self.guarantee)

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Return the counts before and after, by these words."""
        return {"before": self.before, "after": self.after}

    def kind_object(self) -> Kind:
        """Return the kind of the release."""
        return kind_of(self.kind)

    def record(self) -> dict[str, Any]:
        """Return the manifest as it is written, keys in order."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS}
        for name in ("limits", "floor", "columns", "uncovered_columns"):
            value = getattr(self, name)
            record[name] = list(value) if isinstance(value, tuple) else value
        record["partition"] = None if self.partition is None else asdict(self.partition)
        record["cleaning"] = _without_none(vars(self.cleaning))
        record["counts"] = {which: dict(counts) for which, counts in self.counts.items()}
        record["content_sha256"] = self.content_sha256
        if self.lists is not None:
            record["lists"] = dict(self.lists)
        record["files"] = [_without_none(vars(file)) for file in self.files]
        return record | dict(self.other)

    def encode(self) -> bytes:
        """Return the manifest as JSON, the same bytes for the same content."""
        return (json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n").encode()


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def build_manifest(
    kind: Kind,
    method: ResolvedName,
    claim: ResolvedName,
    *,
    floor: int,
    columns: Sequence[str],
    uncovered: Sequence[str],
    partition: PartitionRecord | None,
    cleaning: CleaningRecord,
    before: Counts,
    after: Counts,
    content_sha256: str,
    files: Sequence[FileEntry] = (),
    lists: Mapping[str, Any] | None = None,
) -> Manifest:
    """Return the manifest of a release, with the promise and its limits in words."""
    return Manifest(
        __version__,
        kind.name,
        str(method),
        str(claim),
        *guarantee_of(claim).sentences(claim),
        floor,
        tuple(columns),
        tuple(uncovered),
        partition,
        cleaning,
        before.record(),
        after.record(),
        content_sha256,
        tuple(files),
        lists,
    )


def load_manifest(release: Path) -> Manifest:
    """Read the manifest of a release folder."""
    path = release / NAME
    if release.is_file():
        raise ReleaseError(f"{release} is a file, not the folder of a release; check the path.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ReleaseError(f"{release} has no {NAME}, so it is not a finished release; check the path.") from None
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
    cleaning, partition = dict(record["cleaning"]), record.get("partition")
    known = {*_REQUIRED, "promise", "limits", "floor", "partition", "lists"}
    return Manifest(
        record["queryveil"],
        record["kind"],
        record["method"],
        record["guarantee"],
        record.get("promise", ""),
        tuple(record.get("limits", ())),
        record.get("floor", 1),
        tuple(record["columns"]),
        tuple(record["uncovered_columns"]),
        None if partition is None else PartitionRecord(**partition),
        CleaningRecord(cleaning["options"], cleaning.get("steps", ()), cleaning.get("meaning")),
        record["counts"].get("before", {}),
        record["counts"]["after"],
        record["content_sha256"],
        tuple(FileEntry(entry["path"], entry["sha256"], entry.get("rows")) for entry in record["files"]),
        record.get("lists") if isinstance(record.get("lists"), dict) else None,
        {key: value for key, value in record.items() if key not in known},
    )


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
