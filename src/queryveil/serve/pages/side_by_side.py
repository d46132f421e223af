"""Runs of methods on one log side by side: a table and pictures for all runs that are measured alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import markupsafe

from queryveil.core.errors import QueryveilError
from queryveil.core.names import Value, resolve
from queryveil.core.results import Score, Verdict
from queryveil.kinds.base import kind_of
from queryveil.report.charts import Point, axis_end, growth_chart, scatter_chart
from queryveil.report.comparison import ComparedRun, MethodComparison
from queryveil.report.rendering import percent
from queryveil.serve import charts
from queryveil.serve.jobs import Jobs
from queryveil.serve.store import RunRow
from queryveil.serve.words import opening
from queryveil.workflows.crowds import Crowds, crowds

Picture = tuple[markupsafe.Markup, str]  # with its caption
MOST_ROWS = 5_000_000  # of a release whose crowds are counted while somebody waits for the page


@dataclass(frozen=True)
class Figure:
    """A figure of runs, as a column of a table or an axis of a chart."""

    measure: str  # as its text name begins
    label: str  # of the measure's several figures; empty where it gives one only
    heading: str
    factor: float = 1.0  # in a chart, whose axes are shares of a hundred


@dataclass(frozen=True)
class Family:
    """Kinds of release that are measured alike, and what is shown of them."""

    kinds: tuple[str, ...]
    title: str
    kept: tuple[Figure, ...]  # the first is drawn
    given_away: tuple[Figure, ...]  # the last is drawn
    notes: Mapping[str, str] = field(default_factory=dict)  # kind → what is different about its figures

    @property
    def columns(self) -> tuple[Figure, ...]:
        """Return all figures."""
        return (*self.kept, *self.given_away)


_RETENTION = (
    Figure("retention", "log size", "log size kept"),
    Figure("retention", "users", "people kept"),
)


def _singled_out(m: int) -> Figure:
    return Figure(f"unique(m={m})", "", f"singled out by {m} random terms" if m > 1 else "singled out by 1 random term")


FAMILIES = (
    Family(
        ("histories", "log", "queries"),
        "Histories",
        _RETENTION,
        tuple(_singled_out(m) for m in (1, 2, 3)),
        {"queries": "Of methods that release whole queries, what is known are queries in place of terms."},
    ),
    Family(
        ("groups",),
        "Groups of people",
        (
            Figure("linkability", "cosine to the published profile", "cosine to the published profile", 100),
            Figure("linkability", "people suppressed", "people suppressed"),
        ),
        (
            Figure("linkability", "linking probability", "linking probability", 100),
            Figure(
                "linkability", "linking probability of the worst term", "linking probability of the worst term", 100
            ),
        ),
    ),
    Family(
        ("vocabularies",),
        "Shared vocabularies",
        (
            Figure("blm", "occurrences published", "occurrences published"),
            Figure("patterns", "recall of patterns", "recall of patterns"),
            Figure("blm", "bLM", "loss of precision (bLM)"),
        ),
        (),
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
class Table:
    """Figures of runs, and before them those of the log itself, where it has any."""

    headings: list[str]
    rows: list[tuple[RunRow | str, list[str]]]


@dataclass(frozen=True)
class Shown:
    """What a page shows of the runs of a family."""

    title: str
    main: Table
    all: Table
    pictures: list[Picture]
    notes: list[str]


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
    main = [(figure.heading, [_score(run, figure) for run in runs]) for figure in family.columns]
    columns = MethodComparison(tuple(runs), {}, {}, 0.0, "").columns()
    every = [(column.heading, [run.score(column) for run in runs]) for column in columns]
    extra = {
        "smallest crowd": ["–" if each.crowds is None else f"{each.crowds.smallest:,}" for each in made],
        "time": [f"{run.seconds:.1f} s" for run in runs],
    }
    notes = [note for kind, note in family.notes.items() if any(each.kind == kind for each in made)]
    pictures = _pictures(family, made, runs)
    return Shown(family.title, _table(made, main, extra), _table(made, every, {}), pictures, notes)


def _table(
    made: Sequence[Made], columns: Sequence[tuple[str, list[Score | None]]], extra: Mapping[str, list[str]]
) -> Table:
    """Lay out scores and further texts, a row for each run."""
    rows: list[tuple[RunRow | str, list[str]]] = []
    for unit, places in _units(made).items():
        own = [_figure(next((s for i in places if (s := scores[i])), None), "original") for _, scores in columns]
        if any(figure != "–" for figure in own):
            rows.append((f"the log itself{unit}", [*own, *("" for _ in extra)]))
    for place, each in enumerate(made):
        figures = [_figure(scores[place], "value") for _, scores in columns]
        rows.append((each.row, [*figures, *(texts[place] for texts in extra.values())]))
    return Table([*(heading for heading, _ in columns), *extra], rows)


def _units(made: Sequence[Made]) -> dict[str, list[int]]:
    """Return the places of the runs that count terms, and of those that count whole queries."""
    found: dict[str, list[int]] = {}
    for place, each in enumerate(made):
        found.setdefault(", by whole queries" if kind_of(each.kind).unit == "query" else "", []).append(place)
    return found


def _run(made: Made) -> ComparedRun:
    """Return a run as the comparison of the command line has it."""
    result = made.result
    method = str(result["manifest"]["method"])
    verdict = Verdict(result["verdict"]["claim"], result["verdict"]["state"], result["verdict"]["counted"])
    scores = tuple(
        Score(**{**score, "interval": score["interval"] and tuple(score["interval"])}) for score in result["scores"]
    )
    return ComparedRun(method, _parameters(method), result["seconds"], verdict, scores)


def _parameters(method: str) -> Mapping[str, Value]:
    return resolve("method", method).values


def _figure(score: Score | None, which: str) -> str:
    return "–" if score is None else score.figure(getattr(score, which))


def _pictures(family: Family, made: Sequence[Made], runs: Sequence[ComparedRun]) -> list[Picture]:
    """Draw what can be drawn of the runs: privacy against utility, what is kept as k grows, and the crowds."""
    return [picture for picture in (_against(family, runs), _growing(family, runs), _crowded(made)) if picture]


def _against(family: Family, runs: Sequence[ComparedRun]) -> Picture | None:
    if not family.given_away:
        return None
    kept, given = family.kept[0], family.given_away[-1]
    placed = ((run, _value(run, given), _value(run, kept)) for run in runs)
    points = tuple(Point(x, y, _series(run), _short(run)) for run, x, y in placed if x is not None and y is not None)
    if len(points) < 2:
        return None
    own = next((score.original for run in runs if (score := _score(run, given)) is not None), None)
    caption = "The higher, the more is kept; the further left, the less is given away."
    caption += "" if own is None else f" In the log itself {percent(own)} are {given.heading}."
    return scatter_chart(points, given.heading, kept.heading, _names(points)), caption


def _growing(family: Family, runs: Sequence[ComparedRun]) -> Picture | None:
    kept = family.kept[0]
    placed = ((run, _value(run, kept)) for run in runs if "k" in run.parameters)
    points = tuple(Point(float(run.parameters["k"]), y, _series_at(run)) for run, y in placed if y is not None)
    if len({point.x for point in points}) < 2:
        return None
    ordered = tuple(sorted(points, key=lambda point: point.x))
    end = axis_end(point.y for point in points)
    return growth_chart(ordered, kept.heading, _names(points), end), f"{opening(kept.heading)} as k grows."


def _crowded(made: Sequence[Made]) -> Picture | None:
    found = [(each.row.name, each.crowds) for each in made if each.crowds is not None and each.crowds.number]
    if not found:
        return None
    rows = tuple((name, sizes.smallest, sizes.median, sizes.largest) for name, sizes in found)
    units = " or ".join(dict.fromkeys(sizes.unit for _, sizes in found))
    what = f"the number of people behind a published {units}"
    return charts.crowds(rows), f"From the smallest to the largest: {what}; the dot is the median."


def _names(points: Sequence[Point]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(point.series for point in points))


def _score(run: ComparedRun, figure: Figure) -> Score | None:
    own = (score for score in run.scores if score.measure.startswith(figure.measure))
    return next((score for score in own if figure.label in ("", score.label)), None)


def _value(run: ComparedRun, figure: Figure) -> float | None:
    """Return a figure as a share of a hundred."""
    score = _score(run, figure)
    return None if score is None or score.value is None else score.value * figure.factor


def _series(run: ComparedRun) -> str:
    """Return a run's method, with the words among its parameters that are not the usual ones."""
    name = run.method.partition("(")[0]
    usual = {p.name: p.default for p in resolve("method", run.method).declaration.parameters}
    words = [v for key, v in run.parameters.items() if isinstance(v, str) and v != usual[key]]
    return ", ".join([name, *words])


def _series_at(run: ComparedRun) -> str:
    m = run.parameters.get("m")
    return _series(run) if m is None else f"{_series(run)}, m={m}"


def _short(run: ComparedRun) -> str:
    """Return the numbers among a run's parameters."""
    usual = {p.name: p.default for p in resolve("method", run.method).declaration.parameters}
    shown = [f"{k}={v:g}" for k, v in run.parameters.items() if not isinstance(v, str | bool) and v != usual[k]]
    return " ".join(shown)
