"""Writing a release that is staged: data, a verdict on what was written, the report, and the manifest at last."""

from collections.abc import Callable
from typing import Any

from queryveil.core.results import Score, Verdict
from queryveil.release import manifest as manifests
from queryveil.release.content import Content
from queryveil.release.reader import Release, load
from queryveil.release.writer import Staging, write_data, write_manifest, write_report
from queryveil.report import render_release_report
from queryveil.workflows.report_sections import report_section

Judge = Callable[[Release], tuple[Verdict, list[Score]]]  # of a release that has been written and read back


def write_verified(
    staged: Staging, manifest: dict[str, Any], content: Content, judge: Judge
) -> tuple[Verdict, list[Score], dict[str, Any]]:
    """Write data, judge what was written, then the report and at last the manifest, which is returned too."""
    manifest = {**manifest, "files": write_data(staged.release, content.rows)}
    write_manifest(staged.release, manifest)
    verdict, scores = judge(load(staged.release))
    (staged.release / manifests.NAME).unlink()
    section, context = report_section(manifest["kind"])
    report = render_release_report(manifest, verdict, scores, section=section, context=context)
    manifest["files"] = [*manifest["files"], write_report(staged.release, report)]
    write_manifest(staged.release, manifest)
    return verdict, scores, manifest
