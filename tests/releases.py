"""Small releases written by hand, whatever they hold."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.names import resolve
from queryveil.guarantees import KM
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, ReleaseContent
from queryveil.kinds.histories import HISTORIES
from queryveil.kinds.private_folder import RunRecord, write_private
from queryveil.release.manifest import MANIFEST_FILE, CleaningRecord, Manifest
from queryveil.release.reader import content_digest
from queryveil.release.writer import DATA_FILE, staging, write_rows

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


def replace_rows(out: Path, private: Path, rows: pa.Table) -> None:
    """Write other rows, and forge all that is said of them: digests, counts, and the private record of the run."""
    data = out / DATA_FILE.format(0)
    pq.write_table(rows, data)
    manifest = json.loads((out / "manifest.json").read_text())
    unit = "query" if "query" in rows.column_names else "term"
    owner = rows.column_names[0]
    after = manifest["counts"]["after"]
    after["terms"] = len(rows[unit].unique())
    after["pairs"] = len({*zip(rows[owner].to_pylist(), rows[unit].to_pylist(), strict=True)})
    if "groups" in after:
        after |= {"groups": len(rows[owner].unique()), "occurrences": rows.num_rows}
    else:
        after["histories"] = len(rows[owner].unique())
        if manifest["kind"] != "histories":
            after["occurrences"] = sum(rows["count"].to_pylist()) if "count" in rows.column_names else rows.num_rows
    entry = manifest["files"][0] | {"sha256": hashlib.sha256(data.read_bytes()).hexdigest()}
    edit_manifest(
        out,
        counts=manifest["counts"],
        content_sha256=content_digest(rows.column_names, (rows,)),
        files=[entry | {"rows": rows.num_rows}, *manifest["files"][1:]],
    )
    reseal(out, private)
