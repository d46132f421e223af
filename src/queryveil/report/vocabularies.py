"""What the report says about a release of vocabularies."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.core.results import Score
from queryveil.report.figures import amount, number, plural
from queryveil.report.markup import Markup, table, tag
from queryveil.report.scores import notes


def vocabularies_section(counts: Mapping[str, Any], checked: int, scores: Sequence[Score]) -> Markup:
    """Say how many people share how many vocabularies, and what that cost."""
    before, after = counts["before"], counts["after"]
    gone = before["histories"] - after["histories"]
    rows = [
        (name.capitalize(), number(before[name]), number(after[name]))
        for name in ("people", "histories", "terms", "occurrences")
    ]
    cells = [(s.label, amount(s.value, s.unit), s.better or "neither") for s in scores]
    return tag(
        "section",
        tag("h2", "The vocabularies"),
        tag(
            "p",
            f"{plural(after['histories'], 'history is', 'histories are')} published with "
            f"{plural(checked, 'vocabulary', 'different vocabularies')}; of {number(gone)} of the log nothing is "
            "published. A published term may stand for others near it in meaning.",
        ),
        table("The release in numbers", ("", "Original", "Released"), rows, numbers=(1, 2)),
        table("What it cost", ("", "Release", "Better is"), cells, numbers=(1,)) if cells else "",
        notes(scores),
    )
