"""What the report says about the measures: what was kept, who is still singled out, and anything else measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.core.errors import UnknownNameError
from queryveil.core.names import parse
from queryveil.core.results import Score
from queryveil.report.charts import retention_chart, unique_chart
from queryveil.report.figures import UNKNOWN, amount, number, percent, plural
from queryveil.report.markup import Markup, join, table, tag

NOT_MEASURED = "This was not measured for this report."


def kept_section(counts: Mapping[str, Any], scores: Sequence[Score]) -> Markup:
    """Show how much of the original is in the release."""
    rows = [score for score in scores if score.measure == "retention"]
    shares = [(score.label, score.value) for score in rows if score.value is not None]
    caption = "The full bar stands for the original log, the filled part for what the release keeps of it."
    heads = ("", "Original", "Released", "Kept")
    cells = [(s.label, number(s.units_counted), number(_released(s)), percent(s.value)) for s in rows]
    kept = table("The release in numbers", heads, cells, numbers=(1, 2, 3))
    return tag(
        "section",
        tag("h2", "What was kept, and what was removed"),
        tag("p", _people(counts)),
        _beside(retention_chart(shares) if shares else None, caption, kept) if rows else tag("p", NOT_MEASURED),
        notes(rows),
    )


def _released(score: Score) -> int | None:
    return None if score.value is None else round(score.value * score.units_counted / 100)


def _people(counts: Mapping[str, Any]) -> str:
    """Say in a sentence how many people, and how many histories where that is not the same, are left."""
    before, after = counts["before"], counts["after"]
    if before["people"] == before["histories"]:
        return f"Of {plural(before['people'], 'person', 'people')}, {number(after['people'])} are in the release."
    return (
        f"Of {number(before['histories'])} histories of {plural(before['people'], 'person', 'people')}, "
        f"{number(after['histories'])} histories of {number(after['people'])} are in the release."
    )


def market_section(scores: Sequence[Score]) -> Markup:
    """Show how much of the terms' market value is in the release, where that was measured."""
    rows = [score for score in scores if score.measure == "market"]
    if not rows:
        return Markup()
    shares = [(score.label, score.value) for score in rows if score.value is not None]
    caption = "The full bar stands for the sum over the original log, the filled part for what the release keeps of it."
    cells = [(score.label, number(score.units_counted), percent(score.value)) for score in rows]
    kept = table("Market value", ("", "Terms with a value", "Kept"), cells, numbers=(1, 2))
    return tag(
        "section",
        tag("h2", "What was kept of the market value"),
        tag("p", "Each occurrence of a term counts with the value that the market gives to the term."),
        _beside(retention_chart(shares) if shares else None, caption, kept),
        notes(rows),
    )


def singled_out_section(counts: Mapping[str, Any], scores: Sequence[Score], kind: str = "histories") -> Markup:
    """Show how many a few known terms, or queries, single out, before and after."""
    one, several = ("query", "queries") if kind == "queries" else ("term", "terms")
    rows = sorted(((m, score) for score in scores if (m := known_terms(score))), key=lambda row: row[0])
    heading = tag("h2", f"Who is singled out by a few known {several}")
    if not rows:
        return tag("section", heading, tag("p", NOT_MEASURED))
    whom = "people" if counts["before"]["people"] == counts["before"]["histories"] else "histories"
    caption = f"The share of {whom} that nobody else shares all the known {several} with; shorter bars are better."
    cells = [(str(m), percent(s.original), percent(s.value), _interval(s)) for m, s in rows]
    heads = (f"Known {several}", "Original", "Release", "95% interval")
    shares = [(m, score.original, score.value) for m, score in rows]
    chart = unique_chart(shares) if any(value is not None for row in shares for value in row[1:]) else None
    return tag(
        "section",
        heading,
        _reading(rows, whom, (f"random {one}", f"random {several}")),
        _beside(chart, caption, table(f"Share of {whom} singled out", heads, cells, numbers=(1, 2, 3))),
        notes([score for _, score in rows]),
    )


def known_terms(score: Score) -> int | None:
    """Return the m of a score of `unique(m=…)`, None for any other."""
    try:
        name = parse(score.measure)
    except UnknownNameError:
        return None
    m = dict(name.arguments).get("m")
    return int(m) if name.name == "unique" and isinstance(m, int) else None


def _reading(rows: Sequence[tuple[int, Score]], whom: str, known_by: tuple[str, str]) -> Markup:
    """Say in one sentence what the row with the most terms means, where both its figures are known."""
    known = [(m, score) for m, score in rows if score.original is not None and score.value is not None]
    if not known:
        return Markup()
    m, score = known[-1]
    return tag(
        "p",
        f"Someone who knows {plural(m, *known_by)} of a history singles out "
        f"{percent(score.original)} of the {whom} in the original log, and {percent(score.value)} of those in the "
        "release.",
    )


def _interval(score: Score) -> str:
    return f"{percent(score.interval[0])} to {percent(score.interval[1])}" if score.interval else UNKNOWN


def other_section(scores: Sequence[Score]) -> Markup:
    """Show the scores of all other measures, where there are any."""
    shown = ("retention", "market")
    rows = [score for score in scores if score.measure not in shown and known_terms(score) is None]
    if not rows:
        return Markup()
    cells = [
        (f"{s.measure}: {s.label}", amount(s.original, s.unit), amount(s.value, s.unit), s.better or "neither")
        for s in rows
    ]
    heads = ("Measure", "Original", "Release", "Better is")
    return tag(
        "section",
        tag("h2", "Other measures"),
        table("Other measures", heads, cells, numbers=(1, 2)),
        notes(rows),
    )


def _beside(chart: Markup | None, caption: str, numbers: Markup) -> Markup:
    """Put a chart and its table side by side, one below the other where there is no room."""
    figure = tag("figure", chart, tag("figcaption", caption)) if chart else ""
    return tag("div", figure, numbers, class_="beside")


def notes(scores: Sequence[Score]) -> Markup:
    """Give each different note once, with what it is about."""
    labels: dict[str, list[str]] = {}
    for score in scores:
        if score.note:
            labels.setdefault(score.note, []).append(score.label)
    lines = [tag("li", _note(note, about if len(about) < len(scores) else [])) for note, about in labels.items()]
    return tag("ul", *lines, class_="notes") if lines else Markup()


def _note(note: str, about: Sequence[str]) -> Markup:
    """Return a note as a sentence; what it is about is left out where it is about everything."""
    if about:
        return join((tag("b", ", ".join(about)), f": {note}."))
    return join((f"{note[0].upper()}{note[1:]}.",))
