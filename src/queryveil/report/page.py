"""The report of a release as a whole: without anything that is not in the release or its manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.core.results import Score, Verdict
from queryveil.report.document import document
from queryveil.report.groups import groups_section
from queryveil.report.markup import Markup
from queryveil.report.scores import kept_section, market_section, other_section, singled_out_section
from queryveil.report.sections import (
    check_section,
    cleaning_section,
    files_section,
    promise_section,
    verdict_section,
)
from queryveil.report.vocabularies import vocabularies_section

TITLE = "Report on a released search log"


def render(manifest: Mapping[str, Any], verdict: Verdict, scores: Sequence[Score]) -> str:
    """Return the report as one HTML page; the same input gives the same bytes."""
    sections = (
        verdict_section(manifest, verdict),
        promise_section(manifest),
        *_of_kind(manifest, verdict, scores),
        cleaning_section(manifest["cleaning"]),
        files_section(manifest),
        check_section(manifest["kind"]),
    )
    return document(TITLE, f"queryveil {manifest['queryveil']}", sections)


def _of_kind(manifest: Mapping[str, Any], verdict: Verdict, scores: Sequence[Score]) -> tuple[Markup, ...]:
    """Return what there is to say of a kind of release."""
    counts = manifest["counts"]
    if manifest["kind"] == "groups":
        return (groups_section(counts, scores),)
    if manifest["kind"] == "vocabularies":
        return (vocabularies_section(counts, verdict.checked, scores),)
    return (
        kept_section(counts, scores),
        market_section(scores),
        singled_out_section(counts, scores, manifest["kind"]),
        other_section(scores),
    )
