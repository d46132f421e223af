"""The comparison of methods on one log: a row per run as text, HTML, Arrow and JSON, and the document with charts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from queryveil.core.display import Brief, Tabular, html_table
from queryveil.core.names import Value, parse
from queryveil.core.results import Score, Verdict
from queryveil.report.charts import Point, axis_end, growth_chart, responsive, scatter_chart
from queryveil.report.release_report import known_items
from queryveil.report.rendering import capitalize_first, render

TITLE = "Comparison of methods on one search log"
ORIGINAL = "original log"
_OF_VERDICT = ("claim", "state", "checked", "caution", "warnings")
_POSITION = ("k", "m")  # parameters that charts show by position, so that they do not name a series

CaptionedChart = tuple[Markup, str]  # a chart and its caption
Figure = Callable[["ComparedRun"], float | None]  # a percentage of a run, None if it was not measured


@dataclass(frozen=True, repr=False)
class ComparedRun(Brief):
    """What one method would release of the log, or why it cannot."""

    _shown = ("method", "verdict", "scores", "problem")
    method: str
    parameters: Mapping[str, Value]
    seconds: float  # of the method alone, without verifying and measuring
    verdict: Verdict | None = None
    scores: tuple[Score, ...] = ()
    counts: Mapping[str, int] | None = None  # of what would be released
    summary: Mapping[str, Any] | None = None  # what the method reports about the run
    started_from: str | None = None  # the run whose result it began with
    problem: str = ""  # why it failed

    def score(self, column: "ScoreColumn") -> Score | None:
        """Return the run's score in a column."""
        return next((score for score in self.scores if (score.measure, score.label) == column.key), None)

    def note(self) -> str:
        """Return why the run failed, or that it is no anonymity, or how it differs from the run it started from."""
        caution = self.verdict.caution if self.verdict is not None else ""
        if self.problem or caution or self.started_from is None:
            return self.problem or caution
        given = parse(self.started_from).arguments
        return f"started from {', '.join(f'{name}={v}' for name, v in given if self.parameters.get(name) != v)}"


@dataclass(frozen=True)
class ScoreColumn:
    """One figure that was measured of every run."""

    key: tuple[str, str]  # measure and label
    heading: str

    def value(self, run: ComparedRun) -> float | None:
        """Return the value of a run's score in the column."""
        score = run.score(self)
        return None if score is None else score.value


@dataclass(frozen=True, repr=False)
class MethodComparison(Tabular):
    """The runs of a comparison in the order of the request; nothing was released."""

    _shown = ("runs", "seconds", "page")
    runs: tuple[ComparedRun, ...]
    counts: Mapping[str, int]  # of the log
    cleaning: Mapping[str, Any]
    seconds: float
    queryveil: str  # the version
    page: Path | None = None

    def successful_runs(self) -> list[ComparedRun]:
        """Return the runs that did not fail."""
        return [run for run in self.runs if not run.problem]

    def columns(self) -> list[ScoreColumn]:
        """Return the figures, headed by their label, or by the measure if it has one figure only."""
        keys = list(dict.fromkeys((score.measure, score.label) for run in self.runs for score in run.scores))
        of_measure = Counter(measure for measure, _ in keys)
        of_label = Counter(label for measure, label in keys if of_measure[measure] > 1)
        return [ScoreColumn(key, _heading(*key, of_measure, of_label)) for key in keys]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows as text; the first row is the log itself."""
        columns = self.columns()
        rows = [[ORIGINAL, *(figure_text(self.original(column), "original") for column in columns), "", ""]]
        for run in self.runs:
            figures = [figure_text(run.score(column), "value") for column in columns]
            rows.append([run.method, *figures, f"{run.seconds:.2f} s", run.note()])
        return ["method", *(column.heading for column in columns), "time", ""], rows

    def original(self, column: ScoreColumn) -> Score | None:
        """Return a score that holds the log's own figure of a column."""
        return next((score for run in self.runs if (score := run.score(column)) is not None), None)

    def to_arrow(self) -> Any:
        """Return a row per run: method, its parameters, every figure, time, what it started from, and problem."""
        import pyarrow as pa

        names = list(dict.fromkeys(name for run in self.runs for name in run.parameters))
        columns: dict[str, list[Any]] = {"method": [run.method for run in self.runs]}
        columns |= {name: [run.parameters.get(name) for run in self.runs] for name in names}
        columns |= {column.heading: [column.value(run) for run in self.runs] for column in self.columns()}
        columns["seconds"] = [run.seconds for run in self.runs]
        columns["started_from"] = [run.started_from for run in self.runs]
        columns["problem"] = [run.problem or None for run in self.runs]
        return pa.table(columns)

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "queryveil": self.queryveil,
            "log": dict(self.counts),
            "cleaning": dict(self.cleaning),
            "runs": [_run_record(run) for run in self.runs],
            "page": None if self.page is None else str(self.page),
            "seconds": round(self.seconds, 2),
        }

    def _repr_html_(self) -> str:
        return html_table(*self.table())


def _run_record(run: ComparedRun) -> dict[str, Any]:
    """Return a run for JSON; of the verdict, only what is informative about a claim that holds."""
    verdict = run.verdict
    return {
        "method": run.method,
        "parameters": dict(run.parameters),
        "started_from": run.started_from,
        "seconds": round(run.seconds, 3),
        "verdict": verdict and {name: getattr(verdict, name) for name in _OF_VERDICT},
        "counts": run.counts,
        "scores": [score.__dict__ for score in run.scores],
        "summary": run.summary,
        "problem": run.problem,
    }


def _heading(measure: str, label: str, of_measure: Mapping[str, int], of_label: Mapping[str, int]) -> str:
    if of_measure[measure] == 1:
        return measure
    return label if of_label[label] == 1 else f"{measure}: {label}"


def figure_text(score: Score | None, which: str) -> str:
    """Return the `original` or the `value` of a score, or a dash if there is none."""
    return "–" if score is None else score.figure(getattr(score, which))


def render_comparison(comparison: MethodComparison) -> str:
    """Return the comparison as one HTML document; the same input gives the same bytes."""
    headings, rows = comparison.table()
    return render(
        "comparison.html.j2",
        title=TITLE,
        version=comparison.queryveil,
        comparison=comparison,
        n_made=len(comparison.successful_runs()),
        privacy=_privacy(comparison),
        growth=_growth_figures(comparison),
        headings=headings,
        rows=rows,
    )


def _privacy(comparison: MethodComparison) -> dict[str, Any] | None:
    """Return scatter plots of utility over privacy and the score of privacy, None unless both were measured."""
    measured = [
        (m, column, score)
        for column in comparison.columns()
        if (score := comparison.original(column)) is not None and (m := known_items(score)) is not None
    ]
    utilities = _utility_columns(comparison)
    if not measured or not utilities:
        return None
    _, x, score = max(measured, key=lambda row: row[0])  # of the largest m: small ones are within the guarantee
    runs = comparison.successful_runs()
    drawn: list[tuple[Callable[[bool], Markup], str]] = []
    for y in utilities:
        caption = f"The higher, the more is kept ({y.heading}); the further left, the fewer are singled out."
        if any(x.value(run) is not None and y.value(run) is not None for run in runs):
            titles = score.label, f"{y.heading} kept"
            drawn.append((partial(draw_scatter, runs, x.value, y.value, *titles), caption))
    return {"score": score, "figures": _fill_page(drawn)}


def _fill_page(charts: Sequence[tuple[Callable[[bool], Markup], str]]) -> list[CaptionedChart]:
    """Draw charts with their captions; one that has the page to itself is drawn for wide screens too."""
    if len(charts) > 1:
        return [(chart(False), caption) for chart, caption in charts]
    return [(responsive(chart), caption) for chart, caption in charts]


def _growth_figures(comparison: MethodComparison) -> list[CaptionedChart]:
    """Return line charts of utility over k, one for each m, if k was varied."""
    runs = [run for run in comparison.successful_runs() if isinstance(run.parameters.get("k"), int)]
    if len({run.parameters["k"] for run in runs}) < 2:
        return []
    series = SeriesNames(runs, without=_POSITION)
    drawn: list[tuple[Callable[[bool], Markup], str]] = []
    for column in _utility_columns(comparison):
        by_m: dict[str, list[ComparedRun]] = {}
        for run in runs:
            if column.value(run) is not None:
                by_m.setdefault(str(run.parameters.get("m", "")), []).append(run)
        end = axis_end(value for run in runs if (value := column.value(run)) is not None)
        for m, at_m in sorted(by_m.items()):
            caption = f"{capitalize_first(column.heading)} kept, m = {m}" if m else column.heading
            drawn.append((partial(draw_growth, at_m, column.value, f"{column.heading} kept", series, end), caption))
    return _fill_page(drawn)


class SeriesNames:
    """Names runs by those of their parameters that differ between runs."""

    def __init__(self, runs: Sequence[ComparedRun], *, only: Sequence[str] = (), without: Sequence[str] = ()) -> None:
        """Take the runs, and the parameters that may occur in a name: `only` some, or all `without` some."""
        names = dict.fromkeys(name for run in runs for name in run.parameters)
        candidates = [name for name in names if (name in only if only else name not in without)]
        self._parameters = [name for name in candidates if len({run.parameters.get(name) for run in runs}) > 1]
        self._has_methods = len({run.method.partition("(")[0] for run in runs}) > 1 and not only
        self._runs = runs

    def of(self, run: ComparedRun) -> str:
        """Return the name of a run."""
        parts = [run.method.partition("(")[0]] if self._has_methods else []
        given = [(name, run.parameters[name]) for name in self._parameters if name in run.parameters]
        return ", ".join(parts + [value if isinstance(value, str) else f"{name}={value}" for name, value in given])

    def all(self) -> list[str]:
        """Return the distinct names in the order of the runs."""
        return list(dict.fromkeys(map(self.of, self._runs)))


def draw_scatter(
    runs: Sequence[ComparedRun], x: Figure, y: Figure, x_title: str, y_title: str, is_wide: bool = False
) -> Markup:
    """Draw the runs that have both figures as points; series differ in parameters other than k and m."""
    series, label = SeriesNames(runs, without=_POSITION), SeriesNames(runs, only=_POSITION)
    placed = ((run, x(run), y(run)) for run in runs)
    points = [Point(a, b, series.of(run), label.of(run)) for run, a, b in placed if a is not None and b is not None]
    return scatter_chart(points, x_title, y_title, series.all(), is_wide=is_wide)


def draw_growth(
    runs: Sequence[ComparedRun], figure: Figure, y_title: str, series: SeriesNames, end: float, is_wide: bool = False
) -> Markup:
    """Draw a figure of runs over their k, up to `end`."""
    placed = ((run, figure(run)) for run in runs)
    points = [Point(float(run.parameters["k"]), y, series.of(run)) for run, y in placed if y is not None]
    return growth_chart(points, y_title, series.all(), end, is_wide=is_wide)


def _utility_columns(comparison: MethodComparison) -> list[ScoreColumn]:
    """Return the measures of utility that charts show: the log size, and all of market value."""
    return [c for c in comparison.columns() if c.key == ("retention", "log size") or c.key[0] == "market"]
