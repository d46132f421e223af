"""The report of a release: a document that holds nothing but what is in the release and its manifest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from queryveil.core.errors import UnknownNameError
from queryveil.core.names import declarations, parse
from queryveil.core.results import Score, Verdict
from queryveil.release.manifest import Manifest
from queryveil.report.attacks import COLUMNS, AttackReport, describe_risks
from queryveil.report.charts import bar_chart, grouped_bar_chart
from queryveil.report.rendering import group_notes, percent, plural, render

TITLE = "Report on a released search log"
_DEFAULTS: Mapping[str, Any] = {
    "unit": "term",  # what an item of a history is: a term or a query
    "checked": "Combinations checked",  # what the verifier counted
    "needs_private": False,  # verifying the release needs its private folder
    "advice": "",  # what might make the release more useful
}


def render_release_report(
    manifest: Manifest,
    verdict: Verdict,
    scores: Sequence[Score],
    *,
    section: str,
    context: Mapping[str, Any],
    attacks: AttackReport | None = None,
) -> str:
    """Return the report as one HTML document; the same input gives the same bytes.

    `section` names the template of the part that depends on the kind of release: one of ours such as
    "kinds/groups.html.j2", or another package's as "package:path in its templates folder". `context` holds what the
    kind tells the templates (see `_DEFAULTS`) and anything else that its own section needs.
    """
    functions = {function.__name__: function for function in _FUNCTIONS}
    unique = [(m, score) for score in scores if (m := known_items(score))]
    others = [s for s in scores if s.measure not in ("retention", "market") and known_items(s) is None]
    by_measure = {
        "scores": scores,
        "retention": [score for score in scores if score.measure == "retention"],
        "market": [score for score in scores if score.measure == "market"],
        "unique": sorted(unique, key=lambda row: row[0]),  # pairs of m and score
        "kept_unique": [s for s in others if s.measure.startswith("unique(")],  # by times, ranks and URLs
        "other_scores": [s for s in others if not s.measure.startswith("unique(")],
    }
    return render(
        "release.html.j2",
        title=manifest.title or TITLE,
        version=manifest.queryveil,
        manifest=manifest,
        verdict=verdict,
        section=section,
        attacks=attacks,
        risks=[] if attacks is None else describe_risks(attacks),
        attack_columns=COLUMNS,
        **{**_DEFAULTS, **by_measure, **functions, **context},
    )


def known_items(score: Score) -> int | None:
    """Return the m of a score of the measure `unique(m=…)` by items, None for other measures."""
    try:
        name = parse(score.measure)
    except UnknownNameError:
        return None
    arguments = dict(name.arguments)
    m = arguments.get("m")
    return int(m) if name.name == "unique" and isinstance(m, int) and "by" not in arguments else None


def kept_chart(scores: Sequence[Score]) -> Markup | None:
    """Draw which share of each thing is kept, None if no share is known."""
    shares = [(score.label, score.value) for score in scores if score.value is not None]
    if not shares:
        return None
    described = ", ".join(f"{label} {percent(value)}" for label, value in shares)
    end = max(100.0, *(value for _, value in shares))
    return bar_chart(shares, f"Bar chart of what was kept: {described}.", end=end, on_track=True)


def unique_chart(unique: Sequence[tuple[int, Score]], unit: str, units: str) -> Markup | None:
    """Draw who is singled out in the log and in the release by the number of known items, None if nothing is known."""
    rows = [(plural(m, unit, units), (score.original, score.value)) for m, score in unique]
    if all(value is None for _, figures in rows for value in figures):
        return None
    colours = {"original log": "var(--before)", "release": "var(--after)"}
    return grouped_bar_chart(rows, colours, f"Bar chart of the share singled out, by number of known {units}")


def score_notes(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Return each distinct note of the scores with the labels it is about."""
    return group_notes(((score.note, score.label) for score in scores), len(scores))


def measure_notes(measures: Iterable[str], labels: Iterable[str]) -> list[tuple[str, str]]:
    """Return what each measure says, with the labels of its figures; the two lists are of the same scores."""
    declared = {name: each.purpose for name, each in declarations("measure").items()}
    purposes = [declared.get(measure.partition("(")[0], "") for measure in measures]
    return group_notes(zip(purposes, labels, strict=True), len(purposes))


def explained_notes(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Return what the measures of scores say, followed by the notes of the scores."""
    return [*measure_notes((s.measure for s in scores), (s.label for s in scores)), *score_notes(scores)]


_FUNCTIONS = (kept_chart, unique_chart, score_notes, explained_notes)  # that templates call
