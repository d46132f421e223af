"""Runs of methods on one log side by side: a table and pictures for all runs that are measured alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import markupsafe

from queryveil.errors import QueryveilError
from queryveil.report.compared import Compared, Run
from queryveil.report.comparison_charts import Point
from queryveil.serve import charts
from queryveil.serve.jobs import Jobs
from queryveil.serve.store import RunRow
from queryveil.spec import Value, resolve
from queryveil.types import Score, Verdict
from queryveil.workflows.crowds import Crowds, crowds

Picture = tuple[markupsafe.Markup, str]  # with its caption
MOST_ROWS = 5_000_000  # of a release whose crowds are counted while somebody waits for the page


@dataclass(frozen=True)
class Axis:
    """A figure of runs, as an axis of a chart."""

    measure: str  # as a text name begins
    label: str
    title: str
    factor: float = 1.0


@dataclass(frozen=True)
class Family:
    """Kinds of release that are measured alike, and what is shown of them."""

    kinds: tuple[str, ...]
    title: str
    given_away: Axis | None
    kept: Axis


_LOG_SIZE = Axis("retention", "log size", "log size kept")
FAMILIES = (
    Family(
        ("histories", "log"),
        "Histories of terms",
        Axis("unique(m=3)", "singled out by 3 random terms", "singled out by 3 random terms"),
        _LOG_SIZE,
    ),
    Family(
        ("queries",),
        "Whole queries",
        Axis("unique(m=3)", "singled out by 3 random queries", "singled out by 3 random queries"),
        _LOG_SIZE,
    ),
    Family(
        ("groups",),
        "Groups of people",
        Axis("linkability", "linking probability of the worst term", "linking probability of the worst term", 100),
        Axis("linkability", "cosine to the published profile", "cosine to the published profile", 100),
    ),
    Family(
        ("vocabularies",), "Shared vocabularies", None, Axis("blm", "occurrences published", "occurrences published")
    ),
)


@dataclass(frozen=True)
class Made:
    """A run that has made a release, and what is known of it."""

    row: RunRow
    result: Mapping[str, Any]
    crowds: Crowds | None

    @property
    def kind(self) -> str:
        """Return the kind of its release."""
        return str(self.result["manifest"]["kind"])


@dataclass(frozen=True)
class Shown:
    """What a page shows of the runs of a family."""

    title: str
    headings: list[str]
    rows: list[tuple[RunRow | None, list[str]]]  # the first is the log itself
    pictures: list[Picture]


def made_by(rows: Sequence[RunRow], jobs: Jobs) -> list[Made]:
    """Return what the runs that are done have made, the oldest first."""
    found = ((row, jobs.result(row.id)) for row in reversed(rows) if row.state == "done")
    return [Made(row, result, crowds_of(row.id, result, jobs)) for row, result in found if result is not None]


def crowds_of(run: str, result: Mapping[str, Any], jobs: Jobs) -> Crowds | None:
    """Return how many people stand behind what a run published, unless it is too much to count now."""
    if sum(file.get("rows", 0) for file in result["manifest"]["files"]) > MOST_ROWS:
        return None
    return _crowds(jobs.release_of(run), jobs.private_of(run))


@lru_cache(1_000)
def _crowds(release: Path, private: Path) -> Crowds | None:
    """Count once: a release does not change."""
    try:
        return crowds(release, private)
    except QueryveilError:
        return None


def families(made: Sequence[Made]) -> list[Shown]:
    """Return the runs of each family side by side."""
    sorted_out = ((family, [each for each in made if each.kind in family.kinds]) for family in FAMILIES)
    return [_shown(family, members) for family, members in sorted_out if members]


def _shown(family: Family, made: Sequence[Made]) -> Shown:
    runs = [_run(each) for each in made]
    compared = Compared(tuple(runs), {}, {}, 0.0, "")
    columns = compared.columns()
    headings = ["run", *(column.heading for column in columns), "smallest crowd", "time"]
    original = [_figure(compared.original(column), "original") for column in columns]
    rows: list[tuple[RunRow | None, list[str]]] = []
    if any(figure != "–" for figure in original):
        rows.append((None, [*original, "", ""]))
    for each, run in zip(made, runs, strict=True):
        crowd = "–" if each.crowds is None else f"{each.crowds.smallest:,}"
        figures = [_figure(run.score(column), "value") for column in columns]
        rows.append((each.row, [*figures, crowd, f"{run.seconds:.1f} s"]))
    return Shown(family.title, headings, rows, _pictures(family, made, runs))


def _run(made: Made) -> Run:
    """Return a run as the comparison of the command line has it."""
    result = made.result
    method = str(result["manifest"]["method"])
    verdict = Verdict(result["verdict"]["claim"], result["verdict"]["state"], result["verdict"]["counted"])
    scores = tuple(
        Score(**{**score, "interval": score["interval"] and tuple(score["interval"])}) for score in result["scores"]
    )
    return Run(method, _parameters(method), result["seconds"], verdict, scores)


def _parameters(method: str) -> Mapping[str, Value]:
    return resolve("method", method).values


def _figure(score: Score | None, which: str) -> str:
    return "–" if score is None else score.figure(getattr(score, which))


def _pictures(family: Family, made: Sequence[Made], runs: Sequence[Run]) -> list[Picture]:
    """Draw what can be drawn of the runs: privacy against utility, what is kept as k grows, and the crowds."""
    return [picture for picture in (_against(family, runs), _growing(family, runs), _crowded(made)) if picture]


def _against(family: Family, runs: Sequence[Run]) -> Picture | None:
    if family.given_away is None:
        return None
    placed = ((run, _value(run, family.given_away), _value(run, family.kept)) for run in runs)
    points = tuple(Point(x, y, _series(run), _short(run)) for run, x, y in placed if x is not None and y is not None)
    if not points:
        return None
    chart = charts.against(points, family.given_away.title, family.kept.title, _names(points))
    return chart, "The higher, the more is kept; the further left, the less is given away."


def _growing(family: Family, runs: Sequence[Run]) -> Picture | None:
    placed = ((run, _value(run, family.kept)) for run in runs if "k" in run.parameters)
    points = tuple(Point(float(run.parameters["k"]), y, _series_at(run)) for run, y in placed if y is not None)
    if len({point.x for point in points}) < 2:
        return None
    title = family.kept.title
    return charts.growing(points, title, _names(points)), f"{title.capitalize()} as k grows."


def _crowded(made: Sequence[Made]) -> Picture | None:
    found = [(each.row.name, each.crowds) for each in made if each.crowds is not None and each.crowds.number]
    if not found:
        return None
    rows = tuple((name, sizes.smallest, sizes.median, sizes.largest) for name, sizes in found)
    what = f"the number of people behind a published {found[0][1].unit}"
    return charts.crowds(rows), f"From the smallest to the largest: {what}; the dot is the median."


def _names(points: Sequence[Point]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(point.series for point in points))


def _value(run: Run, axis: Axis) -> float | None:
    for score in run.scores:
        if score.measure.startswith(axis.measure) and score.label == axis.label and score.value is not None:
            return score.value * axis.factor
    return None


def _series(run: Run) -> str:
    """Return a run's method, with the words among its parameters that are not the usual ones."""
    name = run.method.partition("(")[0]
    usual = {p.name: p.default for p in resolve("method", run.method).declaration.parameters}
    words = [v for key, v in run.parameters.items() if isinstance(v, str) and v != usual[key]]
    return ", ".join([name, *words])


def _series_at(run: Run) -> str:
    m = run.parameters.get("m")
    return _series(run) if m is None else f"{_series(run)}, m={m}"


def _short(run: Run) -> str:
    """Return the numbers among a run's parameters."""
    usual = {p.name: p.default for p in resolve("method", run.method).declaration.parameters}
    shown = [f"{k}={v:g}" for k, v in run.parameters.items() if not isinstance(v, str | bool) and v != usual[k]]
    return " ".join(shown)
