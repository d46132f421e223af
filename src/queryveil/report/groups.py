"""What the report says about a release of groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.core.results import Score
from queryveil.report.figures import amount, number, plural
from queryveil.report.markup import Markup, table, tag
from queryveil.report.scores import notes


def groups_section(counts: Mapping[str, Any], scores: Sequence[Score]) -> Markup:
    """Say how many people are in how many groups, and how far each can be tied to a term."""
    before, after = counts["before"], counts["after"]
    gone = before["people"] - after["people"]
    cells = [(s.label, amount(s.value, s.unit), s.better or "neither") for s in scores]
    return tag(
        "section",
        tag("h2", "The groups"),
        tag(
            "p",
            f"{plural(after['people'], 'person is', 'people are')} in {plural(after['groups'], 'group', 'groups')} of "
            f"{number(after['terms'])} different terms; {number(gone)} of the log's people are in none.",
        ),
        table("What the groups give away, and what they are worth", ("", "Release", "Better is"), cells, numbers=(1,)),
        notes(scores),
    )
