"""The page as a whole: static, self-contained, and without anything that is not in the release or its manifest."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from queryveil.report.markup import Markup, tag
from queryveil.report.scores import kept_section, market_section, other_section, singled_out_section
from queryveil.report.sections import (
    check_section,
    cleaning_section,
    files_section,
    promise_section,
    verdict_section,
)
from queryveil.types import Score, Verdict

TITLE = "Report on a released search log"
# Even if something slipped through, a browser would neither run it nor load anything for it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(manifest: Mapping[str, Any], verdict: Verdict, scores: Sequence[Score]) -> str:
    """Return the report as one HTML page; the same input gives the same bytes."""
    return f"<!DOCTYPE html>\n{tag('html', _head(), _body(manifest, verdict, scores), lang='en')}\n"


def _head() -> Markup:
    # The style is ours and holds nothing to escape; escaping would break its selectors.
    style = Markup(files("queryveil.report").joinpath("style.css").read_text(encoding="utf-8"))
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", TITLE),
        tag("style", style),
    )


def _body(manifest: Mapping[str, Any], verdict: Verdict, scores: Sequence[Score]) -> Markup:
    sections = (
        verdict_section(manifest, verdict),
        promise_section(manifest),
        kept_section(manifest["counts"], scores),
        market_section(scores),
        singled_out_section(manifest["counts"], scores),
        other_section(scores),
        cleaning_section(manifest["cleaning"]),
        files_section(manifest),
        check_section(),
    )
    tool = f"queryveil {manifest['queryveil']}"
    return tag(
        "body",
        tag("header", tag("p", tool, class_="tool"), tag("h1", TITLE)),
        tag("main", *sections),
        tag("footer", tag("p", f"Written by {tool}. This page runs no script and loads nothing from elsewhere.")),
    )
