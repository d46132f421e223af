"""The description of a log: its figures as sections for the terminal, a document and the web page, and what to do next.

No term and no query of the log is in it, only counts and shares; how many of the most common terms are stop words is
counted, but they are not named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from queryveil.core.display import Tabular, counted, html_table
from queryveil.report.log_figures import NO_SCRIPT, ContentEstimate, LongTail, Quantiles, Section, SingledOut, SizeClass
from queryveil.report.rendering import count_range, percent, plural, render
from queryveil.report.suggestions import suggest_commands

TITLE = "Description of a search log"
_PLURALS = {"term": "terms", "query": "queries"}
_QUANTILES = {"least": "at least", "median": "half have at most", "p90": "90% have at most", "p99": "99% have at most"}
_HINT = "These are hints, not a classification: they look at characters and at two English word lists only."


@dataclass(frozen=True)
class LogDescription(Tabular):
    """A log in figures, without any of its terms, queries or people."""

    log: str  # the files and options as they were given, for the commands to try next
    files: str  # the same without options of cleaning, which the manifest of a release states
    format: str
    rows: int
    unreadable: int
    merged: int  # rows merged into the query they belong to
    bots: int
    people: int  # after cleaning
    with_terms: int  # people who have a term in a query
    histories: int  # with terms
    queries: int  # after cleaning
    without_terms: int  # queries among these
    begin: str | None  # of the time span
    end: str | None
    per_person: Quantiles
    people_by_queries: tuple[SizeClass, ...]
    histories_by_terms: tuple[SizeClass, ...]
    tails: tuple[LongTail, ...]  # of terms and of queries
    singled_out: tuple[SingledOut, ...]
    content: ContentEstimate
    identifiers: Mapping[str, int] | None  # kind → number; None if they were not looked for
    top_stop_words: int  # of the ten terms that most people hold
    is_one_query_each: bool
    steps: tuple[str, ...]  # what cleaning did
    queryveil: str  # the version
    seconds: float
    page: Path | None = None

    def __repr__(self) -> str:
        return f"LogDescription({self.people:,} people, {self.queries:,} queries, {self.tails[0].distinct:,} terms)"

    def sections(self) -> tuple[Section, ...]:
        """Return the figures as tables of texts."""
        return (
            _overview(self),
            _queries_per_person(self),
            *(_long_tail(tail) for tail in self.tails),
            _singled_out(self.singled_out),
            _histories(self),
            _sensitive(self.content),
            _identifiers(self.identifiers),
            _language(self.content),
        )

    def next_commands(self) -> tuple[tuple[str, str], ...]:
        """Return commands to try next, each with the reason in the figures."""
        return tuple(suggest_commands(self))

    def to_arrow(self) -> Any:
        """Return the cells of all sections as an Arrow table of texts: section, row, figure, value."""
        import pyarrow as pa

        rows = [
            (part.title, row[0], *pair) for part in self.sections() for row in part.rows for pair in _cells(part, row)
        ]
        names = ("section", "row", "figure", "value")
        return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        commands = [{"command": command, "reason": reason} for command, reason in self.next_commands()]
        page = None if self.page is None else str(self.page)
        return asdict(self) | {"next": commands, "page": page, "seconds": round(self.seconds, 2)}

    def _repr_html_(self) -> str:
        return "".join(html_table((each.title, *each.headings[1:]), each.rows) for each in self.sections())


def _cells(section: Section, row: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from zip(section.headings[1:], row[1:], strict=True)


def render_description(description: LogDescription) -> str:
    """Return the description as one HTML document; the same input gives the same bytes."""
    parts = [(part, chart_of(part.chart, part.bars)) for part in description.sections()]
    return render(
        "description.html.j2", title=TITLE, version=description.queryveil, description=description, parts=parts
    )


def chart_of(title: str, bars: Sequence[tuple[str, float]]) -> Any:
    """Return the chart of a section, None if it has none."""
    from queryveil.report.charts import share_chart  # slow to import, and a terminal shows no chart

    return share_chart(f"Bar chart of {title}", bars) if bars else None


def _overview(log: LogDescription) -> Section:
    span = "no times" if log.begin is None else f"{log.begin} to {log.end}"
    rows = {
        "Rows read": f"{log.rows:,}",
        "Unreadable rows, left out": f"{log.unreadable:,}",
        "Rows merged as clicks of one query": f"{log.merged:,}",
        "People left out as bots": f"{log.bots:,}",
        "People": f"{log.people:,}",
        "of these with a term": f"{log.with_terms:,}",
        "Histories with a term": f"{log.histories:,}",
        "Queries": f"{log.queries:,}",
        "of these empty or without a term": f"{log.without_terms:,}",
        "Distinct terms": f"{log.tails[0].distinct:,}",
        "Occurrences of terms": f"{log.tails[0].occurrences:,}",
        "Time span": span,
    }
    return Section("What is in it", f"Read as format {log.format}.", ("", "number"), tuple(rows.items()))


def _class_rows(classes: Sequence[SizeClass], unit: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (f"{count_range(each.low, each.high)} {unit}", f"{each.number:,}", percent(100 * each.share))
        for each in classes
    )


def _bars(classes: Sequence[SizeClass]) -> tuple[tuple[str, float], ...]:
    total = max(1, sum(each.number for each in classes))
    return tuple((count_range(each.low, each.high), 100 * each.number / total) for each in classes)


def _queries_per_person(log: LogDescription) -> Section:
    figures = log.per_person
    said = ", ".join(f"{words} {getattr(figures, name):,}" for name, words in _QUANTILES.items())
    return Section(
        "Queries per person",
        f"People have {figures.mean:,.1f} queries on average: {said}, and nobody more than {figures.most:,}.",
        ("queries of a person", "people", "share of all queries"),
        _class_rows(log.people_by_queries, ""),
        "how many queries people have",
        _bars(log.people_by_queries),
    )


def _long_tail(tail: LongTail) -> Section:
    units = _PLURALS[tail.unit]
    (alone, _), (few, share) = tail.below(2), tail.below(5)
    rows = (
        (label, f"{number:,}", percent(100 * number / max(1, tail.distinct)), percent(100 * part))
        for label, (number, part) in (
            ("1 person", tail.below(2)),
            ("2 people", tuple(b - a for a, b in zip(tail.below(2), tail.below(3), strict=True))),
            ("fewer than 5", tail.below(5)),
            ("fewer than 10", tail.below(10)),
            ("all", (tail.distinct, 1.0)),
        )
    )
    return Section(
        f"The long tail of {units}",
        f"{alone:,} of the {tail.distinct:,} distinct {units} are one person’s alone, which no method can publish and "
        f"promise that somebody else stands behind them; {few:,} are held by fewer than 5 people and make up "
        f"{percent(100 * share)} of all occurrences.",
        ("held by", units, f"share of distinct {units}", "share of occurrences"),
        tuple(rows),
        f"how many people hold a {tail.unit}",
        _bars(tail.holders),
    )


def _singled_out(found: Sequence[SingledOut]) -> Section:
    rows = [
        (
            plural(each.known, each.unit, _PLURALS[each.unit]),
            percent(100 * each.rate.value),
            "exact" if each.known == 1 else f"{percent(100 * each.rate.low)} to {percent(100 * each.rate.high)}",
            f"{each.asked:,}",
        )
        for each in found
    ]
    return Section(
        "Who is singled out",
        "Without names a log is not anonymous: this is the share of histories that nobody else shares a few random "
        "terms, or whole queries, with. Whoever knows these finds the whole history.",
        ("known", "singled out", "95% interval", "histories looked at"),
        tuple(rows),
        "the share of histories singled out, by what is known",
        tuple((row[0], 100 * each.rate.value) for row, each in zip(rows, found, strict=True)),
    )


def _histories(log: LogDescription) -> Section:
    return Section(
        "Histories",
        "The more terms a history has, the more combinations of them have to be shared by several people.",
        ("terms of a history", "histories", "share of all terms"),
        _class_rows(log.histories_by_terms, ""),
        "how many terms a history has",
        _bars(log.histories_by_terms),
    )


def _sensitive(found: ContentEstimate) -> Section:
    basis = "a sample of " if found.is_sample else "all "
    rows = [("all topics", percent(100 * found.sensitive.value))]
    rows += [(topic, percent(100 * share)) for topic, share in found.topics.items()]
    between = (
        f", between {percent(100 * found.sensitive.low)} and {percent(100 * found.sensitive.high)} in the whole log"
        if found.is_sample
        else ""
    )
    return Section(
        "Sensitive queries",
        f"Estimated by the bundled English model from {basis}{found.looked_at:,} queries{between}; the model errs, and "
        "a query counts under the topic of the word that weighs most.",
        ("topic", "share of queries"),
        tuple(rows),
        "the share of queries that are sensitive, by topic",
        tuple((topic, 100 * share) for topic, share in found.topics.items()),
    )


def _identifiers(found: Mapping[str, int] | None) -> Section:
    lead = "Direct identifiers were not looked for (--no-scrub)."
    if found is not None:
        total = counted(sum(found.values()), "direct identifiers")
        lead = f"{total} in queries; every command takes them out unless --no-scrub is given."
    rows = tuple((kind, f"{number:,}") for kind, number in (found or {}).items())
    return Section("Identifiers", lead, ("kind", "found"), rows)


def _language(found: ContentEstimate) -> Section:
    rows = [
        (f"queries in {script} script" if script != NO_SCRIPT else "queries without letters", share)
        for script, share in found.scripts.items()
    ]
    rows += [("queries with an English stop word", found.stop_words)]
    rows += [("terms that an English word list knows", found.known_words)]
    texts = tuple((label, percent(100 * share)) for label, share in rows)
    return Section("Language", _HINT, ("", "share"), texts)
