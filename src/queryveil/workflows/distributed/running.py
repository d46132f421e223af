"""What runs on a cluster share: what they need, what they note of themselves, and how a release is finished."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from queryveil._version import __version__
from queryveil.core.errors import InternalError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.core.results import Score, Verdict
from queryveil.engines import LogSource
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.storage import Storage, local_path
from queryveil.release import distributed as releases
from queryveil.release import manifest as manifests
from queryveil.release.remote import Making
from queryveil.report import render_release_report
from queryveil.workflows.anonymized import digest_of
from queryveil.workflows.report_sections import report_section
from queryveil.workflows.requests import ReleaseRequest

Made = tuple[dict[str, Any], Verdict, list[Score], dict[str, Any]]  # manifest, verdict, scores, summary


@dataclass(frozen=True)
class Run:
    """What every step of a run needs."""

    bound: ResolvedName
    kind: str
    source: LogSource
    work: ScratchTables
    progress: Progress


def with_seed(options: ReleaseRequest) -> ReleaseRequest:
    """Return the options with a seed: the one given, else one of the system's randomness."""
    return replace(options, seed=secrets.randbits(64)) if options.seed is None else options


def record_of(run: Run, options: ReleaseRequest) -> dict[str, Any]:
    """Return the private record of the run."""
    storage = Storage(run.work.spark)
    inputs = [
        {"path": file, "bytes": size, "sha256": digest_of(local_path(file))}
        for uri in run.source.uris
        for file, size in storage.sizes(uri)
    ]
    return {
        "seed": options.seed,
        "method": str(run.bound),
        "kind": run.kind,
        "queryveil": __version__,
        "engine": "spark",
        "inputs": inputs,
    }


def must_hold(verdict: Verdict, run: Run) -> Verdict:
    """Return a verdict on a release of ours if it holds."""
    if not verdict.holds:
        raise InternalError(
            f"the release made for {run.bound} was refused by its own verifier ({verdict.state}), so nothing was "
            "released; please report this with the method's name and the size of the log."
        )
    return verdict


def finish(made: Making, manifest: dict[str, Any], verdict: Verdict, scores: Sequence[Score]) -> None:
    """Write the report and, last of all, the manifest."""
    section, context = report_section(manifest["kind"])
    page = render_release_report(manifest, verdict, scores, section=section, context=context).encode()
    made.write("report.html", page)
    manifest["files"] = [*manifest["files"], releases.file_entry("report.html", page)]
    made.write(manifests.NAME, manifests.encode(manifest))
