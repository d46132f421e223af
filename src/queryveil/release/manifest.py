"""The manifest: what a release is and what it promises, and nothing that helps to undo it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil._version import __version__
from queryveil.errors import ReleaseError
from queryveil.guarantees import COMMON_LIMITS, GuaranteeDeclaration
from queryveil.spec import Bound
from queryveil.types import Profiles

NAME = "manifest.json"
COLUMNS = {"histories": ("user", "term"), "log": ("user", "query_id", "term")}
_REQUIRED = ("queryveil", "kind", "method", "guarantee", "files", "content_sha256", "cleaning", "counts")
_HASH_ROWS = 200_000


def make(
    kind: str,
    method: Bound,
    claim: Bound,
    rows: pa.Table,
    *,
    cleaning: Mapping[str, Any],
    counts: Mapping[str, Any],
    partition: Mapping[str, Any] | None,
    uncovered: Sequence[str],
) -> dict[str, Any]:
    """Return the manifest of a release except for its files, which are added when they are written."""
    promise = ""
    limits: tuple[str, ...] = COMMON_LIMITS
    if isinstance(claim.declaration, GuaranteeDeclaration):
        promise, limits = claim.declaration.sentence(claim), (*claim.declaration.limits, *COMMON_LIMITS)
    return {
        "queryveil": __version__,
        "kind": kind,
        "method": str(method),
        "guarantee": str(claim),
        "promise": promise,
        "limits": list(limits),
        "floor": claim["k"],
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
    history = np.repeat(np.arange(profiles.n_histories), np.diff(profiles.indptr))[kept]
    filled = np.unique(history)
    return {
        "people": len(np.unique(profiles.owner[filled])),
        "histories": len(filled),
        "terms": len(np.unique(profiles.ids[kept])),
        "pairs": int(np.count_nonzero(kept)),
        "occurrences": int(profiles.counts[kept].sum(dtype=np.int64)),
    }


def content_digest(rows: pa.Table) -> str:
    r"""Return the SHA-256 of the rows in their order, each as its values joined by tabs and ended by a line feed.

    A backslash, tab or line feed inside a value is written as \\, \t or \n, so that no two contents look alike.
    """
    digest = hashlib.sha256("\t".join(rows.column_names).encode() + b"\n")
    for start in range(0, rows.num_rows, _HASH_ROWS):
        part = rows.slice(start, _HASH_ROWS)
        columns = [_escaped(column) for column in part.columns]
        lines = pc.binary_join_element_wise(*columns, "\t").to_pylist()
        digest.update(("\n".join(lines) + "\n").encode())
    return digest.hexdigest()


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.fill_null(column.cast(pa.string()), "")
    if not pa.types.is_string(column.type):
        return text
    for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n")):
        text = pc.replace_substring(text, raw, written)
    return text


def encode(manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as JSON, the same bytes for the same content."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def load(release: Path) -> dict[str, Any]:
    """Read the manifest of a release folder."""
    path = release / NAME
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ReleaseError(f"{release} has no {NAME}, so it is not a finished release; check the path.") from None
    except (ValueError, OSError):
        raise ReleaseError(f"{path} cannot be read as JSON; the release is damaged.") from None
    missing = [key for key in _REQUIRED if not isinstance(manifest, dict) or key not in manifest]
    if missing:
        raise ReleaseError(f"{path} lacks {', '.join(missing)}; the release is damaged.")
    if manifest["kind"] not in COLUMNS:
        raise ReleaseError(f"{path}: releases of kind {manifest['kind']!r} are not known to this version; update it.")
    return dict(manifest)
