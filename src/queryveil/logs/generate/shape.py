"""The parameters of a synthetic log: how many people, words and queries, and how they are distributed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from queryveil.logs.generate.patterns import PatternTable, Slot
from queryveil.logs.generate.weighted_ids import Zipf


@dataclass(frozen=True)
class LexiconSizes:
    """How many entries of each sort there are to draw from."""

    topic_words: int  # words or phrases per topic
    last_names: int
    sites: int
    brands: int
    rare_terms: int = 0
    shared_queries: int = 0  # queries that many people think of independently
    famous_people: int = 0
    home_towns: int = 0


@dataclass(frozen=True)
class Activity:
    """How much people search, and when."""

    queries: float  # per person, on average; log-normal …
    sigma: float  # … with this standard deviation of the logarithm …
    max_queries: int  # … up to this number
    pause: float  # seconds between the queries of a session, the median
    long_pause: float  # seconds between sessions, the mean
    session_queries: float  # mean length of a session
    margin: float = 0.0  # seconds before or after the sessions of people who would otherwise fill all the days
    hours: tuple[float, ...] = ()  # how busy each hour of the day is; () is equally busy
    bots: float = 0.0  # bots per person …
    bot_queries: tuple[int, int] = (0, 0)  # … and how many queries each types, in one session
    operators: float = 0.0  # programs per person that combine terms by "or" …
    operator_queries: int = 0  # … and how many queries each types


@dataclass(frozen=True)
class QueryMix:
    """What people type and click, each as a share of the queries unless stated otherwise."""

    patterns: PatternTable
    repeat: float  # the previous query once more
    refine: float  # the previous query with a term more or less
    recall: float  # any earlier query of the person
    shared: float = 0.0  # of the new queries: one of those that many people think of
    universal: float = 0.0  # of those: on any topic, not one of the person's own
    rarity: float = 0.0  # of the words of a topic: replaced by a rare term
    strangers: float = 0.0  # of the people: use words that few others use
    strange: float = 0.0  # of their terms: replaced by a rare term
    ordinary: float = 0.5  # of the terms that refine a query: any word of the topic, else a companion
    same_topic: float = 0.0  # of the new queries: stay on the topic of the new query before
    own_names: float = 0.0  # of the people: look for their own name
    misspelled: float = 0.0
    clicked: float = 0.0
    clicked_again: float = 0.0  # of the clicks: one more follows
    named_site_first: bool = False  # a site that a query names is the first result


@dataclass(frozen=True)
class LogShape:
    """All parameters of a kind of synthetic log."""

    name: str
    purpose: str
    users: int
    first_day: str
    days: int
    sizes: LexiconSizes
    laws: Mapping[Slot, Zipf]  # how popularity falls among the texts of a slot …
    default_law: Zipf  # … and among those of slots without a law of their own
    activity: Activity
    queries: QueryMix
    has_phrases: bool = False  # entries may consist of several words; otherwise each word is an entry
    largest: int = 0  # terms in the largest history
    original: Mapping[str, int] = field(default_factory=dict)  # published figures of the imitated log
    block: int = 20_000  # people generated at a time, which bounds the memory

    def law(self, slot: Slot) -> Zipf:
        """Return how popularity falls among the texts of a slot."""
        return self.laws.get(slot, self.default_law)
