"""Runs of methods on one log side by side: a table and charts for each family of kinds that are measured alike."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import markupsafe

from queryveil.core.errors import QueryveilError
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.core.results import Score
from queryveil.kinds.base import ComparedFigure, ComparisonView, Kind, kind_of
from queryveil.report.charts import Point, axis_end, growth_chart, scatter_chart
from queryveil.report.comparison import ComparedRun, MethodComparison
from queryveil.report.rendering import percent
from queryveil.serve import charts
from queryveil.serve.jobs import Jobs
from queryveil.serve.rendering import capitalise
from queryveil.serve.store import RunRow
from queryveil.workflows.inspect import Crowds, crowds

CaptionedChart = tuple[markupsafe.Markup, str]
TableColumn = tuple[str, list[Score | None]]  # heading, and the score of each run
MOST_ROWS = 5_000_000  # of a release whose crowds are counted while the page loads


@dataclass(frozen=True)
class ReleasedRun:
    """A run that has made a release, with its scores."""

    row: RunRow
    kind: Kind
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

    def score(self, figure: ComparedFigure) -> Score | None:
        """Return the score that holds a figure, if it was measured."""
        own = (score for score in self.scores if score.measure.startswith(figure.measure))
        return next((score for score in own if figure.label in ("", score.label)), None)

    def percentage(self, figure: ComparedFigure) -> float | None:
        """Return a figure as a percentage, if it was measured."""
        score = self.score(figure)
        return None if score is None or score.value is None else score.value * figure.factor


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
    pictures: list[CaptionedChart]
    notes: list[str]


def compare_runs(rows: Sequence[RunRow], jobs: Jobs) -> list[FamilyComparison]:
    """Return a comparison of the finished runs of each family, oldest first."""
    done = [(row, jobs.result(row.id)) for row in reversed(rows) if row.state == "done"]
    runs = [_released_run(row, result, jobs) for row, result in done if result is not None]
    views = dict.fromkeys(kind_of(name).comparison for name in declarations("kind"))
    by_view = ((view, [run for run in runs if run.kind.comparison == view]) for view in views if view is not None)
    return [_compare(view, members) for view, members in by_view if members]


def _released_run(row: RunRow, result: Mapping[str, Any], jobs: Jobs) -> ReleasedRun:
    record, scores = result["manifest"], result["scores"]
    return ReleasedRun(
        row=row,
        kind=kind_of(record["kind"]),
        method=resolve("method", record["method"]),
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


def _compare(view: ComparisonView, runs: Sequence[ReleasedRun]) -> FamilyComparison:
    main = [(figure.heading, [run.score(figure) for run in runs]) for figure in (*view.kept, *view.given_away)]
    extra = {
        "smallest crowd": ["–" if run.crowds is None else f"{run.crowds.smallest:,}" for run in runs],
        "time": [f"{run.seconds:.1f} s" for run in runs],
    }
    drawn = [_privacy_chart(view, runs), _growth_chart(view, runs), _crowd_chart(runs)]
    return FamilyComparison(
        title=view.title,
        main=_table(runs, main, extra),
        all=_table(runs, _all_columns(runs), {}),
        pictures=[chart for chart in drawn if chart is not None],
        notes=_distinct(run.kind.comparison_note for run in runs if run.kind.comparison_note),
    )


def _all_columns(runs: Sequence[ReleasedRun]) -> list[TableColumn]:
    """Return a column for every figure that was measured of any run, headed as `queryveil compare` does."""
    compared = [ComparedRun(str(run.method), run.method.values, run.seconds, scores=run.scores) for run in runs]
    columns = MethodComparison(tuple(compared), {}, {}, 0.0, "").columns()
    return [(column.heading, [run.score(column) for run in compared]) for column in columns]


def _table(runs: Sequence[ReleasedRun], columns: Sequence[TableColumn], extra: Mapping[str, list[str]]) -> RunTable:
    """Return a table of scores and further texts: the log itself for each unit of counting, then each run."""
    rows: list[tuple[RunRow | str, list[str]]] = []
    for unit in _distinct(run.kind.unit for run in runs):
        places = [place for place, run in enumerate(runs) if run.kind.unit == unit]
        own = [_text(next((s for i in places if (s := scores[i])), None), "original") for _, scores in columns]
        if any(text != "–" for text in own):
            counted = ", by whole queries" if unit == "query" else ""
            rows.append((f"the log itself{counted}", [*own, *("" for _ in extra)]))
    for place, run in enumerate(runs):
        texts = [_text(scores[place], "value") for _, scores in columns]
        rows.append((run.row, [*texts, *(each[place] for each in extra.values())]))
    return RunTable([*(heading for heading, _ in columns), *extra], rows)


def _text(score: Score | None, attribute: str) -> str:
    return "–" if score is None else score.figure(getattr(score, attribute))


def _privacy_chart(view: ComparisonView, runs: Sequence[ReleasedRun]) -> CaptionedChart | None:
    """Draw what is kept against what is given away, if at least two runs have both figures."""
    if not view.given_away:
        return None
    kept, given = view.kept[0], view.given_away[-1]
    placed = ((run, run.percentage(given), run.percentage(kept)) for run in runs)
    points = tuple(Point(x, y, run.series, run.numbers) for run, x, y in placed if x is not None and y is not None)
    if len(points) < 2:
        return None
    own = next((score.original for run in runs if (score := run.score(given)) is not None), None)
    caption = "The higher, the more is kept; the further left, the less is given away."
    caption += "" if own is None else f" In the log itself {percent(own)} are {given.heading}."
    series = tuple(_distinct(point.series for point in points))
    return scatter_chart(points, given.heading, kept.heading, series), caption


def _growth_chart(view: ComparisonView, runs: Sequence[ReleasedRun]) -> CaptionedChart | None:
    """Draw what is kept as k grows, if the runs have at least two values of k."""
    kept = view.kept[0]
    placed = ((run, run.percentage(kept)) for run in runs if "k" in run.method.values)
    points = tuple(Point(run.method.real("k"), y, _series_at_m(run)) for run, y in placed if y is not None)
    if len({point.x for point in points}) < 2:
        return None
    ordered = tuple(sorted(points, key=lambda point: point.x))
    series, end = tuple(_distinct(point.series for point in points)), axis_end(point.y for point in points)
    return growth_chart(ordered, kept.heading, series, end), f"{capitalise(kept.heading)} as k grows."


def _series_at_m(run: ReleasedRun) -> str:
    m = run.method.values.get("m")
    return run.series if m is None else f"{run.series}, m={m}"


def _crowd_chart(runs: Sequence[ReleasedRun]) -> CaptionedChart | None:
    """Draw the sizes of the crowds behind what each run published, if any were counted."""
    found = [(run.row.name, run.crowds) for run in runs if run.crowds is not None and run.crowds.number]
    if not found:
        return None
    rows = tuple((name, sizes.smallest, sizes.median, sizes.largest) for name, sizes in found)
    units = " or ".join(_distinct(sizes.unit for _, sizes in found))
    caption = (
        f"From the smallest to the largest: the number of people behind a published {units}; the dot is the median."
    )
    return charts.crowds(rows), caption


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
