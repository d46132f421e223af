"""Runs of methods on one log side by side: a table and charts for each family of kinds that are measured alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from queryveil.core.errors import QueryveilError
from queryveil.core.names import declarations, resolve
from queryveil.core.results import Score
from queryveil.kinds.base import PLURALS, Kind, kind_of
from queryveil.kinds.comparison_views import ComparedFigure, ComparisonView
from queryveil.report.charts import axis_end, crowd_chart
from queryveil.report.comparison import (
    CaptionedChart,
    ComparedRun,
    MethodComparison,
    SeriesNames,
    draw_growth,
    draw_scatter,
)
from queryveil.report.rendering import amount, capitalize_first, percent
from queryveil.serve.jobs import RunManager
from queryveil.serve.store import RunRow
from queryveil.workflows.inspect import Crowds, crowds

TableColumn = tuple[str, list[Score | None]]  # heading, and the score of each run
ACROSS = "Different kinds of releases, counted in {}"
MOST_ROWS = 5_000_000  # of a release whose crowds are counted while the page loads


@dataclass(frozen=True)
class ReleasedRun:
    """A run that has made a release, with its scores."""

    row: RunRow
    kind: Kind
    compared: ComparedRun
    crowds: Crowds | None


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
    all: RunTable | None  # None where `main` holds all figures
    pictures: list[CaptionedChart]
    notes: list[str]


def compare_runs(rows: Sequence[RunRow], jobs: RunManager) -> list[FamilyComparison]:
    """Return a comparison of the finished runs of each family, oldest first."""
    done = [(row, jobs.result(row.id)) for row in reversed(rows) if row.state == "done"]
    runs = [_released_run(row, result, jobs) for row, result in done if result is not None]
    views = dict.fromkeys(kind_of(name).comparison for name in declarations("kind"))
    by_view = ((view, [run for run in runs if run.kind.comparison == view]) for view in views if view)
    families = [_compare(resolve_name(view), members) for view, members in by_view if members]
    return [*families, *(found for members in _by_unit(runs) for found in _across_families(members))]


def _released_run(row: RunRow, result: Mapping[str, Any], jobs: RunManager) -> ReleasedRun:
    manifest = jobs.manifest(row.id)
    scores = tuple(
        Score(**{**each, "interval": each["interval"] and tuple(each["interval"])}) for each in result["scores"]
    )
    parameters = resolve("method", manifest.method).values
    compared = ComparedRun(manifest.method, parameters, result["seconds"], scores=scores)
    return ReleasedRun(row, kind_of(manifest.kind), compared, crowds_of(row.id, jobs))


def crowds_of(run: str, jobs: RunManager) -> Crowds | None:
    """Return how many people stand behind what a run published; None if the release is too large to count now."""
    is_forgotten = jobs.run_that_made(run).forgotten is not None
    if is_forgotten or sum(file.rows or 0 for file in jobs.manifest(run).files) > MOST_ROWS:
        return None
    return _count_crowds(jobs.release_of(run), jobs.private_of(run))


@lru_cache(1_000)  # a release does not change
def _count_crowds(release: Path, private: Path) -> Crowds | None:
    try:
        return crowds(release, private)
    except QueryveilError:
        return None


def _text(score: Score | None, which: str) -> str:
    """Return the `original` or the `value` of a score as the pages write figures."""
    value = None if score is None else getattr(score, which)
    return "–" if score is None or value is None else amount(value, score.unit)


def _score(figure: ComparedFigure, run: ComparedRun) -> Score | None:
    """Return the score of a run that holds a figure, if it was measured."""
    measured = (s for s in run.scores if s.measure.startswith(figure.measure) and figure.label in ("", s.label))
    return next(measured, None)


def _percentage(figure: ComparedFigure, run: ComparedRun) -> float | None:
    score = _score(figure, run)
    return None if score is None or score.value is None else score.value * figure.factor


def _compare(view: ComparisonView, runs: Sequence[ReleasedRun]) -> FamilyComparison:
    figures = (*view.kept, *view.given_away)
    main = [(figure.heading, [_score(figure, run.compared) for run in runs]) for figure in figures]
    extra = {
        "smallest crowd": ["–" if run.crowds is None else f"{run.crowds.smallest:,}" for run in runs],
        "time": [f"{run.compared.seconds:.1f} s" for run in runs],
    }
    compared = [run.compared for run in runs]
    columns = MethodComparison(tuple(compared), {}, {}, 0.0, "").columns()  # headed as `queryveil compare` does
    measured = [(column.heading, [run.score(column) for run in compared]) for column in columns]
    drawn = [chart for members in _by_unit(runs) for chart in _charts(view, members)]
    return FamilyComparison(
        title=view.title,
        main=_table(runs, main, extra),
        all=_table(runs, measured, {}),
        pictures=[chart for chart in drawn if chart is not None],
        notes=list(dict.fromkeys(run.kind.comparison_note for run in runs if run.kind.comparison_note)),
    )


def _across_families(runs: Sequence[ReleasedRun]) -> list[FamilyComparison]:
    """Return what runs of several families that count in the same unit were all measured by, if there is anything."""
    columns = MethodComparison(tuple(run.compared for run in runs), {}, {}, 0.0, "").columns()
    shared = []
    for column in columns:
        scores = [run.compared.score(column) for run in runs]
        if len({run.kind.comparison for run, score in zip(runs, scores, strict=True) if score is not None}) > 1:
            shared.append((column.heading, scores))
    if not shared:
        return []
    measured = [number for number in range(len(runs)) if any(scores[number] for _, scores in shared)]
    main = _table([runs[n] for n in measured], [(head, [scores[n] for n in measured]) for head, scores in shared], {})
    return [FamilyComparison(ACROSS.format(PLURALS[runs[0].kind.unit]), main, None, [], [])]


def _by_unit(runs: Sequence[ReleasedRun]) -> list[list[ReleasedRun]]:
    """Return the runs that count in the same unit together, since no axis may mix terms and whole queries."""
    units = dict.fromkeys(run.kind.unit for run in runs)
    return [[run for run in runs if run.kind.unit == unit] for unit in units]


def _charts(view: ComparisonView, runs: Sequence[ReleasedRun]) -> list[CaptionedChart | None]:
    """Return the charts of runs that count in the same unit."""
    unit, compared = runs[0].kind.unit, [run.compared for run in runs]
    return [_privacy_chart(view, compared, unit), _growth_chart(view, compared, unit), _crowd_chart(runs)]


def _table(runs: Sequence[ReleasedRun], columns: Sequence[TableColumn], extra: Mapping[str, list[str]]) -> RunTable:
    """Return a table of scores and further texts: the log itself for each unit of counting, then each run."""
    rows: list[tuple[RunRow | str, list[str]]] = []
    for unit in dict.fromkeys(run.kind.unit for run in runs):
        members = [number for number, run in enumerate(runs) if run.kind.unit == unit]
        own = [_text(next((s for i in members if (s := scores[i])), None), "original") for _, scores in columns]
        if any(text != "–" for text in own):
            counted = ", by whole queries" if unit == "query" else ""
            rows.append((f"the log itself{counted}", [*own, *("" for _ in extra)]))
    for number, run in enumerate(runs):
        texts = [_text(scores[number], "value") for _, scores in columns]
        rows.append((run.row, [*texts, *(each[number] for each in extra.values())]))
    return RunTable([*(heading for heading, _ in columns), *extra], rows)


def _privacy_chart(view: ComparisonView, runs: Sequence[ComparedRun], unit: str) -> CaptionedChart | None:
    """Draw what is kept against what is given away, if at least two runs have both figures."""
    if not view.given_away:
        return None
    kept, given = view.kept[0], view.given_away[-1]
    drawn = [run for run in runs if _score(given, run) and _percentage(kept, run) is not None]
    if len(drawn) < 2:
        return None
    own = next((score.original for run in drawn if (score := _score(given, run)) is not None), None)
    caption = "The higher, the more is kept; the further left, the less is given away."
    caption += "" if own is None else f" In the log itself {percent(own)} are {given.heading_for(unit)}."
    figures = partial(_percentage, given), partial(_percentage, kept)
    return draw_scatter(drawn, *figures, given.heading_for(unit), kept.heading), caption


def _growth_chart(view: ComparisonView, runs: Sequence[ComparedRun], unit: str) -> CaptionedChart | None:
    """Draw what is kept as k grows, if the runs have at least two values of k."""
    kept = view.kept[0]
    drawn = [run for run in runs if "k" in run.parameters and _percentage(kept, run) is not None]
    if len({run.parameters["k"] for run in drawn}) < 2:
        return None
    series, figure = SeriesNames(drawn, without=("k",)), partial(_percentage, kept)
    end = axis_end(value for run in drawn if (value := figure(run)) is not None)
    counted = f", counted in {PLURALS[unit]}"
    return draw_growth(
        drawn, figure, kept.heading, series, end
    ), f"{capitalize_first(kept.heading)} as k grows{counted}."


def _crowd_chart(runs: Sequence[ReleasedRun]) -> CaptionedChart | None:
    """Draw the sizes of the crowds behind what each run published, if any were counted."""
    found = [(run.row.name, run.crowds) for run in runs if run.crowds is not None and run.crowds.number]
    if not found:
        return None
    rows = tuple((name, sizes.smallest, sizes.median, sizes.largest) for name, sizes in found)
    units = " or ".join(dict.fromkeys(sizes.unit for _, sizes in found))
    ends = "From the smallest to the largest"
    return crowd_chart(rows), f"{ends}: the number of people behind a published {units}; the dot is the median."
