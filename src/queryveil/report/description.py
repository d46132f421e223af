"""The description of a log: its figures as sections for the terminal, a document and the web page, and what to do next.

No term and no query of the log is in it, only counts and shares; how many of the most common terms are stop words is
counted, but they are not named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from queryveil.core.display import Tabular, counted, html_table
from queryveil.core.results import Rate
from queryveil.report.rendering import count_range, percent, plural, render

MANY_STOP_WORDS = 3  # of the ten terms that most people hold
_KEPT_ENOUGH = 0.5  # share of the occurrences that terms of k people should make up
_SHARED_QUERIES = 0.1  # share of queries that 5 people must share for whole queries to be worth releasing
_LONG_HISTORIES = 100  # terms that a tenth of the histories have
NO_SCRIPT = "none"  # of queries without letters


@dataclass(frozen=True)
class SizeClass:
    """How many things are of a size from `low` to `high`, and what share of all occurrences is theirs."""

    low: int
    high: int | None  # None: whatever is larger
    number: int
    share: float


@dataclass(frozen=True)
class LongTail:
    """The distinct terms or whole queries of a log by the number of people who hold them."""

    unit: str  # term or query
    distinct: int
    occurrences: int
    holders: tuple[SizeClass, ...]

    def below(self, people: int) -> tuple[int, float]:
        """Return how many are held by fewer people, and their share of all occurrences; a class must begin there."""
        rare = [each for each in self.holders if each.low < people]
        return sum(each.number for each in rare), sum(each.share for each in rare)


@dataclass(frozen=True)
class SingledOut:
    """The share of histories that so many of their own random terms or queries single out; exact for one."""

    unit: str
    known: int
    rate: Rate
    asked: int  # histories


@dataclass(frozen=True)
class Quantiles:
    """How many queries people have: the smallest number that the named share of people does not exceed."""

    least: int
    median: int
    p90: int
    p99: int
    most: int
    mean: float


@dataclass(frozen=True)
class ContentEstimate:
    """What queries are about and how they are written, by word lists; estimated from a sample of a large log."""

    looked_at: int  # queries
    is_sample: bool
    sensitive: Rate  # share of queries, by the bundled model
    topics: Mapping[str, float]  # topic → share of queries, the largest first
    scripts: Mapping[str, float]  # script → share of queries, the largest first
    stop_words: float  # share of queries with an English stop word
    known_words: float  # share of terms that the English word list of the sensitivity model knows


@dataclass(frozen=True)
class Section:
    """A part of a description: a table, what it says in a sentence, and the bars of a chart of shares."""

    title: str
    lead: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chart: str = ""  # what the chart shows; there is none without
    bars: tuple[tuple[str, float], ...] = ()  # label and percentage


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


def suggest_commands(log: LogDescription) -> Iterator[tuple[str, str]]:
    """Yield commands and their reasons, what to check about the input first."""
    yield from _check_input(log)
    terms, queries = log.tails
    k = _largest_k(terms)
    if k is None:
        return
    options = ""
    if log.top_stop_words >= MANY_STOP_WORDS:
        options = " --stop-words english"
        reason = f"{log.top_stop_words} of the 10 terms that most people hold are stop words"
        yield f"queryveil describe {log.log}{options}", f"{reason}; leave them out"
    yield (
        f'queryveil compare {log.log}{options} --method "km(k=2|5|{max(10, k)}, m=1|2)" --out comparison.html',
        "shows what each guarantee costs before anything is released",
    )
    kept = percent(100 * (1 - terms.below(k)[1]))
    base = "of all occurrences, stop words included," if options else "of all occurrences,"
    yield (
        f'queryveil anonymize {log.log}{options} --method "km(k={k}, m=2)" --out RELEASE --private PRIVATE',
        f"terms that at least {k} people hold make up {kept} {base} the most that can be kept",
    )
    shared = 1 - queries.below(5)[1]
    if shared >= _SHARED_QUERIES:
        yield (
            f'queryveil anonymize {log.log} --method "query_k(k=5)" --out QUERIES --private QUERIES-PRIVATE',
            f"at least 5 people hold the same query for {percent(100 * shared)} of queries; these can be kept whole",
        )
    long = sum(each.number for each in log.histories_by_terms if each.low >= _LONG_HISTORIES)
    if log.begin is not None and 10 * long >= log.histories == log.people:
        yield (
            f'queryveil anonymize {log.log}{options} --history day --method "km(k={k}, m=2)" --out DAYS --private '
            "DAYS-PRIVATE",
            f"{counted(long, 'histories')} have {_LONG_HISTORIES} terms or more; shorter histories keep more of them",
        )
    yield (
        f"queryveil attack RELEASE --against {log.files} --private PRIVATE",
        "tries on the release what somebody who knows a person could do",
    )


def _check_input(log: LogDescription) -> Iterator[tuple[str, str]]:
    """Yield what to check about the columns of the log."""
    if log.is_one_query_each:
        yield (
            f"queryveil describe {log.log} --columns user=…",
            "everybody has one query only; check which column holds the user",
        )
    if log.begin is None:
        yield (
            f"queryveil describe {log.log} --columns time=…",
            "no times were found, so bots and repeated clicks were not looked for; name the column if there is one",
        )


def _largest_k(terms: LongTail) -> int | None:
    """Return the largest usual k whose terms make up enough of the log; a smaller one or None if little is shared."""
    kept = {k: 1 - terms.below(k)[1] for k in (50, 20, 10, 5, 2)}
    enough = next((k for k, share in kept.items() if k >= 5 and share >= _KEPT_ENOUGH), None)
    return enough or next((k for k, share in kept.items() if k <= 5 and terms.below(k)[0] < terms.distinct), None)
