"""What a comparison of methods found: one row for each run, as text, as HTML, as an Arrow table and for JSON."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.core.display import Tabular, html_table
from queryveil.core.names import Value, parse
from queryveil.core.results import Score, Verdict

ORIGINAL = "original log"


@dataclass(frozen=True)
class Run:
    """What one method would release of the log, or why it cannot."""

    method: str
    parameters: Mapping[str, Value]
    seconds: float  # of the method alone, without verifying and measuring
    verdict: Verdict | None = None
    scores: tuple[Score, ...] = ()
    counts: Mapping[str, int] | None = None  # of what would be released
    summary: Mapping[str, Any] | None = None  # what the method says of the run
    started_from: str | None = None  # the run whose result it began with
    problem: str = ""  # why it could not be made

    def score(self, column: "Column") -> Score | None:
        """Return the run's score in a column."""
        return next((score for score in self.scores if (score.measure, score.label) == column.key), None)

    def note(self) -> str:
        """Say why the run could not be made, or in what the run differs that it started from."""
        if self.problem or self.started_from is None:
            return self.problem
        given = parse(self.started_from).arguments
        return f"started from {', '.join(f'{name}={v}' for name, v in given if self.parameters.get(name) != v)}"


@dataclass(frozen=True)
class Column:
    """One figure that was measured of every run."""

    key: tuple[str, str]  # measure and label
    heading: str


@dataclass(frozen=True)
class Compared(Tabular):
    """The runs of a comparison in the order they were asked for; nothing was released."""

    runs: tuple[Run, ...]
    counts: Mapping[str, int]  # of the log
    cleaning: Mapping[str, Any]
    seconds: float
    queryveil: str  # the version
    page: Path | None = None

    def made(self) -> list[Run]:
        """Return the runs that could be made."""
        return [run for run in self.runs if not run.problem]

    def columns(self) -> list[Column]:
        """Return the figures, headed by their label, or by the measure where that gives one figure only."""
        keys = list(dict.fromkeys((score.measure, score.label) for run in self.runs for score in run.scores))
        of_measure = Counter(measure for measure, _ in keys)
        of_label = Counter(label for measure, label in keys if of_measure[measure] > 1)
        return [Column(key, _heading(*key, of_measure, of_label)) for key in keys]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows as text; the first row is the log itself."""
        columns = self.columns()
        rows = [[ORIGINAL, *(_figure(self.original(column), "original") for column in columns), "", ""]]
        for run in self.runs:
            figures = [_figure(run.score(column), "value") for column in columns]
            rows.append([run.method, *figures, f"{run.seconds:.2f} s", run.note()])
        return ["method", *(column.heading for column in columns), "time", ""], rows

    def original(self, column: Column) -> Score | None:
        """Return a score that holds the log's own figure."""
        return next((score for run in self.runs if (score := run.score(column)) is not None), None)

    def to_arrow(self) -> Any:
        """Return a row per run: method, its parameters, every figure, time, what it started from, and problem."""
        import pyarrow as pa

        names = list(dict.fromkeys(name for run in self.runs for name in run.parameters))
        columns: dict[str, list[Any]] = {"method": [run.method for run in self.runs]}
        columns |= {name: [run.parameters.get(name) for run in self.runs] for name in names}
        for column in self.columns():
            scores = [run.score(column) for run in self.runs]
            columns[column.heading] = [None if score is None else score.value for score in scores]
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


def _run_record(run: Run) -> dict[str, Any]:
    """Return a run for JSON, without the verdict's parts that say nothing where it holds."""
    verdict = run.verdict
    return {
        "method": run.method,
        "parameters": dict(run.parameters),
        "started_from": run.started_from,
        "seconds": round(run.seconds, 3),
        "verdict": verdict and {"claim": verdict.claim, "state": verdict.state, "checked": verdict.checked},
        "counts": run.counts,
        "scores": [score.__dict__ for score in run.scores],
        "summary": run.summary,
        "problem": run.problem,
    }


def _heading(measure: str, label: str, of_measure: Mapping[str, int], of_label: Mapping[str, int]) -> str:
    if of_measure[measure] == 1:
        return measure
    return label if of_label[label] == 1 else f"{measure}: {label}"


def _figure(score: Score | None, which: str) -> str:
    return "–" if score is None else score.figure(getattr(score, which))
