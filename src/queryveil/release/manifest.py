"""The manifest: what a release is and what it promises, and nothing that helps to undo it.

The top-level keys of `manifest.json` appear in this module only.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from queryveil._version import __version__
from queryveil.core import files
from queryveil.core.display import Brief
from queryveil.core.errors import InputError, ReleaseError, UnknownNameError
from queryveil.core.files import Folder
from queryveil.core.names import ResolvedName, Value, declarations, parse, resolve
from queryveil.engines import Step
from queryveil.engines.kept_columns import KeptColumns
from queryveil.logs.options import CleaningOptions

MANIFEST_FILE, SIGNATURE_FILE = files.MANIFEST_FILE, "manifest.sig"
DIGEST, VERSION = re.compile("[0-9a-f]{64}"), re.compile(r"\d+(\.\d+)+[\w.+-]*")
_OPTIONAL = ("made", "title", "dataset", "kept", "lists", "excluded")  # left out where there is nothing to say
_COUNTS = {**dict.fromkeys(("people", "histories", "terms", "pairs", "occurrences"), int), "*": int}
_FORMS: Mapping[str, Any] = {  # see `has_form`
    "queryveil": VERSION,
    "made?": re.compile(r"\d{4}-\d\d-\d\d"),
    **dict.fromkeys(("title?", "dataset?"), str),
    **dict.fromkeys(("kind", "method", "guarantee", "promise"), str),
    **{key: [str] for key in ("limits", "columns", "uncovered_columns")},
    "floor": int,
    "kept?": {"columns": [str], "floor": int},
    "partition": (None, {"column": str, "values": int, "left_out": int}),
    "cleaning": {
        "options": {f"{each.name}?": (str, bool, int) for each in CleaningOptions.own_options()},
        "steps": [dict],
        "meaning?": dict.fromkeys(("network", "weights", "unknown_terms"), str),
    },
    "counts": {"before": _COUNTS, "after": _COUNTS},
    "content_sha256": DIGEST,
    "lists?": {"*": (None, DIGEST)},
    "excluded?": {"terms": int, "digest": DIGEST},
    "files": [{"path": str, "sha256": DIGEST, "rows?": int}],
    "fields_sha256": {"*": DIGEST},
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Manifest(Brief):
    """What a release is, what it promises, and what its files are; the fields are the keys of `manifest.json`."""

    _shown = ("kind", "method", "guarantee", "columns", "files")
    queryveil: str = __version__
    made: str = ""  # the day, in UTC
    title: str = ""  # by the owner, of the report
    dataset: str = ""  # by the owner: what the log is
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
    lists: Mapping[str, Any] | None = None  # digests of the lists that the guarantee is about, None for the bundled
    excluded: Mapping[str, Any] | None = None  # how many terms the owner excluded, and a digest of them
    files: tuple[FileEntry, ...] = ()
    fields_sha256: Mapping[str, str] = field(default_factory=dict, compare=False)
    # the digest of every other field as the file states it; empty for a manifest that was not read from a file

    @property
    def claim(self) -> ResolvedName:
        """Return the guarantee that is claimed."""
        return resolve("guarantee", self.guarantee)

    @property
    def parameters(self) -> Mapping[str, Value]:
        """Return the parameters that the name of the method gives, without defaults; no method is imported."""
        return dict(parse(self.method).arguments)

    def field_digests(self) -> dict[str, str]:
        """Return the SHA-256 of every field as JSON."""
        texts = {name: json.dumps(value, sort_keys=True) for name, value in self._contents().items()}
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}

    def record(self) -> dict[str, Any]:
        """Return the manifest as it is written, keys in order; optional parts that it does not have are left out."""
        return self._contents() | {"fields_sha256": self.field_digests()}

    def _contents(self) -> dict[str, Any]:
        """Return all fields but their digests."""
        record = asdict(self)
        del record["fields_sha256"]
        record["kept"] = None if self.kept is None else self.kept.record()
        for name in _OPTIONAL:
            if not record[name]:
                del record[name]
        for name in ("limits", "columns", "uncovered_columns"):
            record[name] = list(record[name])
        cleaning, *files = (
            {key: value for key, value in part.items() if value is not None}
            for part in (record["cleaning"], *record["files"])
        )
        return record | {"cleaning": cleaning, "files": files}

    def encode(self) -> bytes:
        """Return the manifest as JSON, the same bytes for the same content."""
        return (json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n").encode()


def load_manifest(release: Folder) -> Manifest:
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
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}; check its permissions.") from None
    return decode_manifest(path, data)


def decode_manifest(path: Folder | str, data: bytes) -> Manifest:
    """Read the bytes of a manifest; `path` is for messages."""
    try:
        record = json.loads(data)
        json.dumps(record, ensure_ascii=False).encode()  # half a surrogate pair could not be printed
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} cannot be read as JSON; the release is damaged.") from None
    if not isinstance(record, dict):
        raise ReleaseError(f"{path} is not a JSON object; the release is damaged.")
    _refuse_other_forms(path, record)
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
    if record["partition"] is not None:
        values["partition"] = PartitionRecord(**record["partition"])
    values["cleaning"] = CleaningRecord(**record["cleaning"])
    values["files"] = tuple(FileEntry(**entry) for entry in record["files"])
    values["kept"] = _decode_kept(path, record)
    return Manifest(**values)


def _decode_kept(path: Folder | str, record: Mapping[str, Any]) -> KeptColumns | None:
    """Return how the uncovered columns were kept, which a manifest must state of these and of no others."""
    try:
        kept = KeptColumns.from_record(record["kept"]) if "kept" in record else KeptColumns()
    except (InputError, ValueError, KeyError, TypeError, AttributeError):
        raise ReleaseError(f"{path} has kept of another form than a manifest's; the release is damaged.") from None
    if kept.names != tuple(record["uncovered_columns"]):
        raise ReleaseError(f"{path}: kept is not about the uncovered_columns; the release is damaged.")
    return kept if kept.columns else None


def _refuse_other_forms(path: Folder | str, record: Mapping[str, Any]) -> None:
    """Refuse a manifest that lacks something, has something else in its place, or has more than a manifest has."""
    known = {each.name for each in fields(Manifest)}
    unknown = sorted(map(repr, record.keys() - known))
    if unknown:
        raise ReleaseError(f"{path} has {', '.join(unknown)}, which no manifest of this version has; do not trust it.")
    wrong = [name.rstrip("?") for name, form in _FORMS.items() if not has_form(record, {name: form, "*": object})]
    if not wrong and record["fields_sha256"].keys() != record.keys() - {"fields_sha256"}:
        wrong = ["fields_sha256"]
    if wrong:
        raise ReleaseError(f"{path} lacks {', '.join(wrong)}, or has it in another form; the release is damaged.")
    if record["kind"] not in declarations("kind"):
        raise ReleaseError(f"{path}: releases of kind {record['kind']!r} are not known to this version; update it.")
    try:
        parse(record["method"])
        resolve("guarantee", record["guarantee"])
        CleaningOptions.from_record(record["cleaning"]["options"])
    except UnknownNameError as error:
        raise ReleaseError(f"{path}: the method, guarantee or cleaning cannot be read: {error}") from None


def has_form(value: Any, form: Any) -> bool:
    """Return whether JSON has a form: a type, a pattern, [form of each item], (alternatives) or {key: form}.

    A mapping has the given keys, maybe those that end in `?`, and others only where there is a form `*` for them.
    """
    if isinstance(form, tuple):
        return any(has_form(value, each) for each in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(has_form(each, form[0]) for each in value)
    if isinstance(form, dict):
        forms = {key.rstrip("?"): each for key, each in form.items()}
        needed = {key for key in form if not key.endswith(("?", "*"))}
        return (
            isinstance(value, dict)
            and needed <= value.keys()
            and all(has_form(each, forms.get(key, forms.get("*", ()))) for key, each in value.items())
        )
    if isinstance(form, re.Pattern):
        return isinstance(value, str) and form.fullmatch(value) is not None
    if form is int:
        return type(value) is int and value >= 0
    return value is None if form is None else isinstance(value, form)
