"""The figures of a description of a log: classes of sizes, long tails, quantiles and estimates."""

from collections.abc import Mapping
from dataclasses import dataclass

from queryveil.core.results import Rate

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
