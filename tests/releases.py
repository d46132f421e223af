"""Small releases written by hand, whatever they hold."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.names import resolve
from queryveil.guarantees import KM
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, ReleaseContent
from queryveil.kinds.histories import HISTORIES
from queryveil.kinds.private_folder import RunRecord, write_private
from queryveil.release.manifest import MANIFEST_FILE, CleaningRecord, Manifest
from queryveil.release.reader import content_digest
from queryveil.release.writer import staging, write_rows

COUNTS = ("people", "histories", "terms", "pairs", "occurrences")


def manifest_of(profiles: Profiles, rows: pa.Table, claim: str, mask: NDArray[np.bool_] | None = None) -> Manifest:
    """Return the manifest of a release of kind `histories` without its files."""
    columns = tuple(rows.column_names)
    promise, limits = KM.sentences(resolve("guarantee", claim))
    return Manifest(
        kind=HISTORIES.name,
        method=str(resolve("method", claim)),
        guarantee=claim,
        promise=promise,
        limits=limits,
        floor=resolve("guarantee", claim).integer("k"),
        columns=columns,
        cleaning=CleaningRecord({}),
        counts={"before": Counts.of(profiles).record(), "after": Counts.of(profiles, mask).record()},
        content_sha256=content_digest(columns, (rows,)),
    )


def write_release(
    out: Path,
    private: Path | None,
    profiles: Profiles,
    content: ReleaseContent,
    manifest: Manifest,
    *,
    report: str = "<p>",
    force: bool = False,
) -> None:
    """Write a release and its private folder, as `anonymize` does, without verifying it."""
    with staging(out, private, force=force) as staged:
        if staged.private:
            parameters = dict(resolve("method", manifest.method).values)
            run = RunRecord(1, manifest.method, manifest.kind, manifest.queryveil, parameters=parameters)
            write_private(staged.private, profiles, content.release_ids, run)
        files = write_rows(staged, content.rows).files
        files = (*files, staged.write("report.html", report.encode()))
        manifest = replace(manifest, files=files)
        staged.write(MANIFEST_FILE, manifest.encode())
        staged.commit(manifest)


def edit_manifest(out: Path, **changes: Any) -> None:
    """Change fields of a manifest and nothing else; `...` takes a field away."""
    manifest = json.loads((out / MANIFEST_FILE).read_text()) | changes
    (out / MANIFEST_FILE).write_text(json.dumps({key: value for key, value in manifest.items() if value is not ...}))


def reseal(out: Path, private: Path | None = None) -> None:
    """Make the digests that a manifest and its private folder hold of its fields those of the fields as they are."""
    manifest = json.loads((out / MANIFEST_FILE).read_text())
    texts = {key: json.dumps(value, sort_keys=True) for key, value in manifest.items() if key != "fields_sha256"}
    digests = {key: hashlib.sha256(text.encode()).hexdigest() for key, text in texts.items()}
    (out / MANIFEST_FILE).write_text(json.dumps({**manifest, "fields_sha256": digests}))
    if private is not None:
        run = json.loads((private / "run.json").read_text())
        sealed = {"content_sha256": manifest["content_sha256"], "manifest_sha256": digests}
        (private / "run.json").write_text(json.dumps(run | sealed))
