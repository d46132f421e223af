"""How releases of a log are put side by side: the figures of each family of kinds that are measured alike."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of releases, shown as a column of a table or an axis of a chart."""

    measure: str  # the beginning of the measure's text name
    label: str  # of one of the measure's figures; empty if it has only one
    heading: str
    factor: float = 1.0  # by which values are multiplied to become percentages in a chart

    def heading_for(self, unit: str) -> str:
        """Return the heading for releases that count in terms or in whole queries."""
        return self.heading if unit == "term" else self.heading.replace("terms", "queries").replace("term", unit)


@dataclass(frozen=True)
class ComparisonView:
    """How releases of a log are put side by side; kinds with the same view are compared with each other."""

    title: str
    kept: tuple[ComparedFigure, ...]  # the first is drawn
    given_away: tuple[ComparedFigure, ...] = ()  # the last is drawn


HISTORIES = ComparisonView(
    "Histories",
    kept=(
        ComparedFigure("retention", "log size", "log size kept"),
        ComparedFigure("retention", "users", "people kept"),
    ),
    given_away=(
        ComparedFigure("unique(m=1)", "", "singled out by 1 random term"),
        ComparedFigure("unique(m=2)", "", "singled out by 2 random terms"),
        ComparedFigure("unique(m=3)", "", "singled out by 3 random terms"),
    ),
)
VOCABULARIES = ComparisonView(
    "Shared vocabularies",
    kept=(
        ComparedFigure("blm", "occurrences published", "occurrences published"),
        ComparedFigure("patterns", "recall of patterns", "recall of patterns"),
        ComparedFigure("blm", "bLM", "loss of precision (bLM)"),
    ),
)
_WORST_TERM = "linking probability of the worst term"
GROUPS = ComparisonView(
    "Groups of people",
    kept=(
        ComparedFigure("linkability", "cosine to the published profile", "cosine to the published profile", 100),
        ComparedFigure("linkability", "people suppressed", "people suppressed"),
    ),
    given_away=(
        ComparedFigure("linkability", "linking probability", "linking probability", 100),
        ComparedFigure("linkability", _WORST_TERM, _WORST_TERM, 100),
    ),
)
