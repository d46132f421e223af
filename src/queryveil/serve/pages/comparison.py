"""Runs of methods on one log side by side: a table and charts for each family of runs that are measured alike."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import markupsafe

from queryveil.core.errors import QueryveilError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.results import Score
from queryveil.kinds.base import kind_of
from queryveil.report.charts import Point, axis_end, growth_chart, scatter_chart
from queryveil.report.comparison import ComparedRun, MethodComparison
from queryveil.report.rendering import percent
from queryveil.serve import charts
from queryveil.serve.jobs import Jobs
from queryveil.serve.records import RunRow
from queryveil.serve.rendering import capitalise
from queryveil.workflows.crowds import Crowds, crowds

Chart = tuple[markupsafe.Markup, str]  # with its caption
TableColumn = tuple[str, list[Score | None]]  # heading, and the score of each run
MOST_ROWS = 5_000_000  # of a release whose crowds are counted while the page loads


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of runs, shown as a column of a table or an axis of a chart."""

    measure: str  # the beginning of the measure's text name
    label: str  # of one of the measure's figures; empty if it has only one
    heading: str
    factor: float = 1.0  # by which values are multiplied to become percentages in a chart

    def score_in(self, scores: Iterable[Score]) -> Score | None:
        """Return the score that holds this figure, if there is one."""
        own = (score for score in scores if score.measure.startswith(self.measure))
        return next((score for score in own if self.label in ("", score.label)), None)

    def percentage(self, run: "ReleasedRun") -> float | None:
        """Return the figure of a run as a percentage, if it was measured."""
        score = self.score_in(run.scores)
        return None if score is None or score.value is None else score.value * self.factor


@dataclass(frozen=True)
class Family:
    """Kinds of release that are measured alike, and the figures that are shown of them."""

    kinds: tuple[str, ...]
    title: str
    kept: tuple[ComparedFigure, ...]  # the first is drawn
    given_away: tuple[ComparedFigure, ...]  # the last is drawn
    notes: Mapping[str, str] = field(default_factory=dict)  # kind → how its figures differ


def _singled_out(m: int) -> ComparedFigure:
    terms = "1 random term" if m == 1 else f"{m} random terms"
    return ComparedFigure(f"unique(m={m})", "", f"singled out by {terms}")


def _linkability(label: str, factor: float = 1.0) -> ComparedFigure:
    return ComparedFigure("linkability", label, label, factor)


FAMILIES = (
    Family(
        ("histories", "log", "queries"),
        "Histories",
        (
            ComparedFigure("retention", "log size", "log size kept"),
            ComparedFigure("retention", "users", "people kept"),
        ),
        tuple(_singled_out(m) for m in (1, 2, 3)),
        {"queries": "Of methods that release whole queries, what is known are queries in place of terms."},
    ),
    Family(
        ("groups",),
        "Groups of people",
        (_linkability("cosine to the published profile", 100), _linkability("people suppressed")),
        (_linkability("linking probability", 100), _linkability("linking probability of the worst term", 100)),
    ),
    Family(
        ("vocabularies",),
        "Shared vocabularies",
        (
            ComparedFigure("blm", "occurrences published", "occurrences published"),
            ComparedFigure("patterns", "recall of patterns", "recall of patterns"),
            ComparedFigure("blm", "bLM", "loss of precision (bLM)"),
        ),
        (),
    ),
)


@dataclass(frozen=True)
class ReleasedRun:
    """A run that has made a release, with its scores."""

    row: RunRow
    kind: str  # of the release
    method: ResolvedName
    seconds: float
    scores: tuple[Score, ...]
    crowds: Crowds | None

    @property
    def series(self) -> str:
        """Return the name of the run's method with its parameters that are words and not defaults."""
        words = (value for value in self._chosen().values() if isinstance(value, str))
        return ", ".join([self.method.declaration.name, *words])

    @property
    def numbers(self) -> str:
        """Return the method's parameters that are numbers and not defaults."""
        chosen = self._chosen().items()
        return " ".join(f"{key}={value:g}" for key, value in chosen if not isinstance(value, str | bool))

    def _chosen(self) -> dict[str, Any]:
        defaults = {parameter.name: parameter.default for parameter in self.method.declaration.parameters}
        return {key: value for key, value in self.method.values.items() if value != defaults[key]}


@dataclass(frozen=True)
class RunTable:
    """Figures of the log itself, where they are known, and of runs."""

    headings: list[str]
    rows: list[tuple[RunRow | str, list[str]]]


@dataclass(frozen=True)
class FamilyComparison:
    """The runs of a family side by side."""

    title: str
    main: RunTable
    all: RunTable
    pictures: list[Chart]
    notes: list[str]


def compare_runs(rows: Sequence[RunRow], jobs: Jobs) -> list[FamilyComparison]:
    """Return a comparison of the finished runs of each family, oldest first."""
    done = [(row, jobs.result(row.id)) for row in reversed(rows) if row.state == "done"]
    runs = [_released_run(row, result, jobs) for row, result in done if result is not None]
    by_family = ((family, [run for run in runs if run.kind in family.kinds]) for family in FAMILIES)
    return [_compare(family, members) for family, members in by_family if members]


def _released_run(row: RunRow, result: Mapping[str, Any], jobs: Jobs) -> ReleasedRun:
    manifest, scores = result["manifest"], result["scores"]
    return ReleasedRun(
        row=row,
        kind=manifest["kind"],
        method=resolve("method", manifest["method"]),
        seconds=result["seconds"],
        scores=tuple(Score(**{**each, "interval": each["interval"] and tuple(each["interval"])}) for each in scores),
        crowds=crowds_of(row.id, result, jobs),
    )


def crowds_of(run: str, result: Mapping[str, Any], jobs: Jobs) -> Crowds | None:
    """Return how many people stand behind what a run published; None if the release is too large to count now."""
    if sum(file.get("rows", 0) for file in result["manifest"]["files"]) > MOST_ROWS:
        return None
    return _count_crowds(jobs.release_of(run), jobs.private_of(run))


@lru_cache(1_000)  # a release does not change
def _count_crowds(release: Path, private: Path) -> Crowds | None:
    try:
        return crowds(release, private)
    except QueryveilError:
        return None


def _compare(family: Family, runs: Sequence[ReleasedRun]) -> FamilyComparison:
    figures = (*family.kept, *family.given_away)
    main = [(figure.heading, [figure.score_in(run.scores) for run in runs]) for figure in figures]
    extra = {
        "smallest crowd": ["–" if run.crowds is None else f"{run.crowds.smallest:,}" for run in runs],
        "time": [f"{run.seconds:.1f} s" for run in runs],
    }
    notes = [note for kind, note in family.notes.items() if any(run.kind == kind for run in runs)]
    drawn = [_privacy_chart(family, runs), _growth_chart(family, runs), _crowd_chart(runs)]
    pictures = [chart for chart in drawn if chart is not None]
    return FamilyComparison(
        family.title, _table(runs, main, extra), _table(runs, _all_columns(runs), {}), pictures, notes
    )


def _all_columns(runs: Sequence[ReleasedRun]) -> list[TableColumn]:
    """Return a column for every figure that was measured of any run, headed as `queryveil compare` does."""
    compared = [ComparedRun(str(run.method), run.method.values, run.seconds, scores=run.scores) for run in runs]
    columns = MethodComparison(tuple(compared), {}, {}, 0.0, "").columns()
    return [(column.heading, [run.score(column) for run in compared]) for column in columns]


def _table(runs: Sequence[ReleasedRun], columns: Sequence[TableColumn], extra: Mapping[str, list[str]]) -> RunTable:
    """Return a table of scores and further texts: the log itself for each unit of counting, then each run."""
    rows: list[tuple[RunRow | str, list[str]]] = []
    for unit, places in _places_by_unit(runs).items():
        own = [_text(next((s for i in places if (s := scores[i])), None), "original") for _, scores in columns]
        if any(text != "–" for text in own):
            rows.append((f"the log itself{unit}", [*own, *("" for _ in extra)]))
    for place, run in enumerate(runs):
        texts = [_text(scores[place], "value") for _, scores in columns]
        rows.append((run.row, [*texts, *(each[place] for each in extra.values())]))
    return RunTable([*(heading for heading, _ in columns), *extra], rows)


def _places_by_unit(runs: Sequence[ReleasedRun]) -> dict[str, list[int]]:
    """Return the positions of the runs that count terms, and of those that count whole queries."""
    found: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        found.setdefault(", by whole queries" if kind_of(run.kind).unit == "query" else "", []).append(place)
    return found


def _text(score: Score | None, attribute: str) -> str:
    return "–" if score is None else score.figure(getattr(score, attribute))


def _privacy_chart(family: Family, runs: Sequence[ReleasedRun]) -> Chart | None:
    """Draw what is kept against what is given away, if at least two runs have both figures."""
    if not family.given_away:
        return None
    kept, given = family.kept[0], family.given_away[-1]
    placed = ((run, given.percentage(run), kept.percentage(run)) for run in runs)
    points = tuple(Point(x, y, run.series, run.numbers) for run, x, y in placed if x is not None and y is not None)
    if len(points) < 2:
        return None
    own = next((score.original for run in runs if (score := given.score_in(run.scores)) is not None), None)
    caption = "The higher, the more is kept; the further left, the less is given away."
    caption += "" if own is None else f" In the log itself {percent(own)} are {given.heading}."
    return scatter_chart(points, given.heading, kept.heading, _series_names(points)), caption


def _growth_chart(family: Family, runs: Sequence[ReleasedRun]) -> Chart | None:
    """Draw what is kept as k grows, if the runs have at least two values of k."""
    kept = family.kept[0]
    placed = ((run, kept.percentage(run)) for run in runs if "k" in run.method.values)
    points = tuple(Point(run.method.real("k"), y, _series_at_m(run)) for run, y in placed if y is not None)
    if len({point.x for point in points}) < 2:
        return None
    ordered = tuple(sorted(points, key=lambda point: point.x))
    end = axis_end(point.y for point in points)
    return growth_chart(ordered, kept.heading, _series_names(points), end), f"{capitalise(kept.heading)} as k grows."


def _series_at_m(run: ReleasedRun) -> str:
    m = run.method.values.get("m")
    return run.series if m is None else f"{run.series}, m={m}"


def _crowd_chart(runs: Sequence[ReleasedRun]) -> Chart | None:
    """Draw the sizes of the crowds behind what each run published, if any were counted."""
    found = [(run.row.name, run.crowds) for run in runs if run.crowds is not None and run.crowds.number]
    if not found:
        return None
    rows = tuple((name, sizes.smallest, sizes.median, sizes.largest) for name, sizes in found)
    units = " or ".join(dict.fromkeys(sizes.unit for _, sizes in found))
    caption = (
        f"From the smallest to the largest: the number of people behind a published {units}; the dot is the median."
    )
    return charts.crowds(rows), caption


def _series_names(points: Sequence[Point]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(point.series for point in points))
