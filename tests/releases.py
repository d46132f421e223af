"""Small releases written by hand, whatever they hold."""

from dataclasses import replace
from pathlib import Path

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
            run = RunRecord(1, manifest.method, manifest.kind, manifest.queryveil)
            write_private(staged.private, profiles, content.release_ids, run)
        files = write_rows(staged, content.rows).files
        files = (*files, staged.write("report.html", report.encode()))
        staged.write(MANIFEST_FILE, replace(manifest, files=files).encode())
        staged.commit(manifest.content_sha256)
