"""The manifest: what a release is and what it promises, and nothing that helps to undo it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil._version import __version__
from queryveil.core.errors import ReleaseError
from queryveil.core.names import ResolvedName
from queryveil.core.rows import count_runs
from queryveil.guarantees import COMMON_LIMITS, GuaranteeDeclaration
from queryveil.histories.profiles import Profiles

NAME = "manifest.json"
COUNTS = ("people", "histories", "terms", "pairs", "occurrences")
COLUMNS = {
    "histories": ("user", "term"),
    "log": ("user", "query_id", "term"),
    "groups": ("group", "term", "weight"),
    "vocabularies": ("user", "term", "count", "level"),
    "queries": ("user", "query"),
}
_REQUIRED: Mapping[str, type] = {
    "queryveil": str,
    "kind": str,
    "method": str,
    "guarantee": str,
    "columns": list,
    "uncovered_columns": list,
    "cleaning": dict,
    "counts": dict,
    "files": list,
    "content_sha256": str,
}
_HASH_ROWS = 200_000


def make(
    kind: str,
    method: ResolvedName,
    claim: ResolvedName,
    rows: pa.Table,
    *,
    floor: int,
    cleaning: Mapping[str, Any],
    counts: Mapping[str, Any],
    partition: Mapping[str, Any] | None = None,
    uncovered: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the manifest of a release except for its files, which are added when they are written."""
    promise, limits = "", list(COMMON_LIMITS)
    if isinstance(claim.declaration, GuaranteeDeclaration):
        promise, limits = claim.declaration.sentence(claim), claim.declaration.limit_sentences(claim)
    return {
        "queryveil": __version__,
        "kind": kind,
        "method": str(method),
        "guarantee": str(claim),
        "promise": promise,
        "limits": limits,
        "floor": floor,
        "columns": rows.column_names,
        "uncovered_columns": list(uncovered),
        "partition": partition,
        "cleaning": cleaning,
        "counts": counts,
        "content_sha256": content_digest(rows),
    }


def counts_of(profiles: Profiles, mask: np.ndarray[Any, np.dtype[np.bool_]] | None = None) -> dict[str, int]:
    """Count people, histories, distinct terms, pairs and occurrences of what is kept."""
    kept = np.ones(len(profiles.ids), np.bool_) if mask is None else mask
    history = profiles.row_numbers()[kept]
    counts = (
        count_runs(profiles.owner[history]),
        count_runs(history),
        int(np.count_nonzero(np.bincount(profiles.ids[kept]))),
        int(np.count_nonzero(kept)),
        int(profiles.counts[kept].sum(dtype=np.int64)),
    )
    return dict(zip(COUNTS, counts, strict=True))


def content_digest(rows: pa.Table) -> str:
    r"""Return the SHA-256 of the rows in their order, each as its values joined by tabs and ended by a line feed.

    A backslash, tab or line feed inside a value is written as \\, \t or \n, and no value as \N, so that no two
    contents look alike.
    """
    return streamed_digest(rows.column_names, (rows,))


def streamed_digest(columns: Sequence[str], parts: Iterable[pa.Table]) -> str:
    """Return the digest of rows that come in parts, which need not be in memory together."""
    digest = hashlib.sha256("\t".join(columns).encode() + b"\n")
    for rows in parts:
        for line in _lines(rows):
            digest.update(line)
    return digest.hexdigest()


def _lines(rows: pa.Table) -> Iterator[memoryview]:
    """Yield the rows as the text that is digested."""
    for start in range(0, rows.num_rows, _HASH_ROWS):
        part = rows.slice(start, _HASH_ROWS).combine_chunks()
        columns = [_escaped(column) for column in part.columns]
        joined = _joined(columns, b"\t", null_handling="replace", null_replacement="\\N")
        lines = _joined([joined, _repeated(b"", part.num_rows)], b"\n")
        for chunk in lines.chunks:
            _, offsets, data = chunk.buffers()
            first, end = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
            yield memoryview(data)[first:end]


def _joined(columns: Sequence[pa.ChunkedArray | pa.Array], separator: bytes, **options: str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*columns, _repeated(separator, len(columns[0])), **options)


def _repeated(text: bytes, n: int) -> pa.Array:
    """Return a column of one text; not a scalar: that imports pandas where it is, which takes as long as verifying."""
    offsets = np.arange(n + 1, dtype=np.int32) * len(text)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text * n))


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if pa.types.is_string(column.type):
        held = b"".join(chunk.buffers()[2] or b"" for chunk in text.chunks)
        for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n")):
            if raw.encode() in held:
                text = pc.replace_substring(text, raw, written)
    return text


def encode(manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as JSON, the same bytes for the same content."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def load(release: Path) -> dict[str, Any]:
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
    return decode(path, data)


def decode(path: Path | str, data: bytes) -> dict[str, Any]:
    """Read the bytes of a manifest; `path` is for messages."""
    try:
        manifest = json.loads(data)
        json.dumps(manifest, ensure_ascii=False).encode()  # half a surrogate pair could not be printed
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} cannot be read as JSON; the release is damaged.") from None
    if not isinstance(manifest, dict):
        raise ReleaseError(f"{path} is not a JSON object; the release is damaged.")
    _check(path, manifest)
    return manifest


def _check(path: Path | str, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that lacks something, or has something else where a thing belongs."""
    wrong = [key for key, kind in _REQUIRED.items() if not isinstance(manifest.get(key), kind)]
    if wrong:
        raise ReleaseError(f"{path} lacks {', '.join(wrong)}, or has it in another form; the release is damaged.")
    if manifest["kind"] not in COLUMNS:
        raise ReleaseError(f"{path}: releases of kind {manifest['kind']!r} are not known to this version; update it.")
    names = [*manifest["columns"], *manifest["uncovered_columns"]]
    counts = manifest["counts"].get("after")
    parts = {
        "columns": all(isinstance(name, str) for name in names),
        "cleaning": isinstance(manifest["cleaning"].get("options"), dict),
        "counts": isinstance(counts, dict) and all(type(counts.get(key)) is int for key in COUNTS),
        "files": all(_is_file_entry(entry) for entry in manifest["files"]),
    }
    if not all(parts.values()):
        wrong = [key for key, is_right in parts.items() if not is_right]
        raise ReleaseError(f"{path} has {', '.join(wrong)} of another form than a manifest's; the release is damaged.")


def _is_file_entry(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("path", "sha256"))
