"""The page of a comparison: what each method would keep and give away, as charts and as one table."""

from collections.abc import Iterable, Sequence

from queryveil.core.names import Value
from queryveil.core.results import Score
from queryveil.report.compared import Column, Compared, Run
from queryveil.report.comparison_charts import Point, axis_end, growth_chart, privacy_chart
from queryveil.report.document import document
from queryveil.report.figures import percent, plural
from queryveil.report.markup import Markup, table, tag
from queryveil.report.scores import known_terms
from queryveil.report.sections import cleaning_section

TITLE = "Comparison of methods on one search log"


def render_comparison(compared: Compared) -> str:
    """Return the comparison as one HTML page; the same input gives the same bytes."""
    sections = (
        _summary_section(compared),
        _privacy_section(compared),
        _growth_section(compared),
        _table_section(compared),
        cleaning_section(compared.cleaning),
    )
    return document(TITLE, f"queryveil {compared.queryveil}", sections, styles=("style.css", "comparison.css"))


def _summary_section(compared: Compared) -> Markup:
    counts, failed = compared.counts, len(compared.runs) - len(compared.made())
    log = (
        f"The log has {plural(counts['people'], 'person', 'people')} with {counts['histories']:,} histories, "
        f"{counts['terms']:,} distinct terms and {counts['occurrences']:,} occurrences."
    )
    made = f"{plural(len(compared.made()), 'run was', 'runs were')} made, and each was verified"
    rest = f"; {failed:,} could not be made, the table says why." if failed else "."
    return tag("section", tag("p", log), tag("p", f"{made}{rest} Nothing was released."))


def _privacy_section(compared: Compared) -> Markup:
    """Show what each run gives away against what it keeps, where both were measured."""
    given, kept = _given_away(compared), _kept(compared)
    heading = tag("h2", "Privacy against utility")
    if given is None or not kept:
        return tag(
            "section", heading, tag("p", "This needs the measures retention and unique, which were not asked for.")
        )
    column, score = given
    series = _Series(compared.made(), without=("k", "m"))
    shared = _Series(compared.made(), only=("k", "m"))
    figures = []
    for y in kept:
        points = [
            Point(a, b, series.of(run), shared.of(run))
            for run in compared.made()
            if (a := _value(run, column)) is not None and (b := _value(run, y)) is not None
        ]
        caption = f"The higher, the more is kept ({y.heading}); the further left, the fewer are singled out."
        chart = privacy_chart(points, score.label, f"{y.heading} kept", series.names()) if points else Markup()
        figures.append(tag("figure", chart, tag("figcaption", caption)))
    words = f"In the original log, {percent(score.original)} are {score.label}."
    return tag("section", heading, tag("p", words), tag("div", *figures, class_="charts"))


def _growth_section(compared: Compared) -> Markup:
    """Show what is kept as k grows, for each m apart, where k was varied."""
    runs = [run for run in compared.made() if isinstance(run.parameters.get("k"), int)]
    kept = _kept(compared)
    if len({run.parameters["k"] for run in runs}) < 2 or not kept:
        return Markup()
    series = _Series(runs, without=("k", "m"))
    figures = []
    for column in kept:
        top = axis_end(value for run in runs if (value := _value(run, column)) is not None)
        for m in sorted({str(run.parameters.get("m", "")) for run in runs}):
            points = [
                Point(float(run.parameters["k"]), value, series.of(run))
                for run in runs
                if str(run.parameters.get("m", "")) == m and (value := _value(run, column)) is not None
            ]
            chart = growth_chart(points, f"{column.heading} kept", series.names(), top)
            caption = f"{column.heading[0].upper()}{column.heading[1:]} kept, m = {m}" if m else column.heading
            figures.append(tag("figure", chart, tag("figcaption", caption)))
    return tag("section", tag("h2", "What is kept as k grows"), tag("div", *figures, class_="charts"))


def _table_section(compared: Compared) -> Markup:
    heads, rows = compared.table()
    numbers = tuple(range(1, len(heads) - 1))
    made = table("All runs; the first row is the log itself", heads, rows, numbers=numbers)
    return tag(
        "section",
        tag("h2", "All figures"),
        tag("div", made, class_="wide", role="region", aria_label="All figures", tabindex="0"),
        tag("p", "The time is that of the method alone, without verifying and measuring.", class_="notes"),
    )


class _Series:
    """Names for runs by those of their parameters that differ between them."""

    def __init__(self, runs: Sequence[Run], *, only: Sequence[str] = (), without: Sequence[str] = ()) -> None:
        names = dict.fromkeys(name for run in runs for name in run.parameters)
        chosen = [name for name in names if (name in only if only else name not in without)]
        self._names = [name for name in chosen if len({run.parameters.get(name) for run in runs}) > 1]
        self._methods = len({run.method.partition("(")[0] for run in runs}) > 1 and not only
        self._runs = runs

    def of(self, run: Run) -> str:
        """Return the name of a run's series."""
        parts = [run.method.partition("(")[0]] if self._methods else []
        parts += [_word(name, run.parameters[name]) for name in self._names if name in run.parameters]
        return ", ".join(parts)

    def names(self) -> list[str]:
        """Return all names in the order of the runs."""
        return list(dict.fromkeys(map(self.of, self._runs)))


def _word(name: str, value: Value) -> str:
    """Return a value that speaks for itself, or with its name."""
    return value if isinstance(value, str) else f"{name}={value}"


def _given_away(compared: Compared) -> tuple[Column, Score] | None:
    """Return the measure of privacy to show: unique for the largest m, since small ones are within the guarantee."""
    found = [
        (known, column, score)
        for column in compared.columns()
        if (score := compared.original(column)) is not None and (known := known_terms(score)) is not None
    ]
    return max(found, key=lambda row: row[0])[1:] if found else None


def _kept(compared: Compared) -> list[Column]:
    """Return the measures of utility to show: the log size, and all of market value."""
    shown: Iterable[Column] = compared.columns()
    return [c for c in shown if c.key == ("retention", "log size") or c.key[0] == "market"]


def _value(run: Run, column: Column) -> float | None:
    score = run.score(column)
    return None if score is None else score.value
