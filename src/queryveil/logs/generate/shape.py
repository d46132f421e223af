"""The parameters of a synthetic log: query patterns, and how many people, words and queries there are.

A pattern is a string of slots, one letter each, that are filled with entries of the lexicon: `OWC` is an opening, a
word of the topic and a companion of the topic, such as "free soup recipes".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, IntArray

LONGEST = 8  # slots, and terms, in a query


class Slot(StrEnum):
    """What may stand at one position of a query. Entries are drawn slot by slot in this order."""

    TOPIC_WORD = "W"
    COMPANION = "C"  # a word that people add to queries about the topic
    GLUE = "G"  # a frequent word that goes with anything
    OPENING = "O"
    ERRAND = "E"  # what one looks for in a town
    DETAIL = "V"  # what one wants to know of a product or from a site
    STATE = "Z"
    PLACE = "T"
    FIRST_NAME = "F"
    LAST_NAME = "L"
    SITE = "S"
    BRAND = "B"
    WWW = "A"
    COM = "M"
    OPERATOR = "Q"  # "or", which is in no pattern: only some people combine terms by it
    RARE = "X"  # a rare term, made up when it is first used
    TOPIC_PLURAL = "P"
    PRODUCT_DETAIL = "J"
    SITE_DETAIL = "K"
    TRAVEL_DETAIL = "D"
    FAMOUS_DETAIL = "N"
    FAMILY_DETAIL = "R"
    AND = "&"
    IN = "i"
    FAMOUS_NAME = "U"
    FAMOUS_LAST_NAME = "u"
    # The same for all queries of a person
    HOME_TOWN = "H"
    HOME_STATE = "h"
    FAVOURITE_SITE = "Y"
    # The person's own name, or that of somebody they know
    KNOWN_FIRST_NAME = "f"
    KNOWN_LAST_NAME = "l"
    # Made up for each query
    MODEL_NUMBER = "#"
    SCREEN_NAME = "@"
    EMAIL = "e"
    TELEPHONE = "t"
    SOCIAL_SECURITY = "s"
    CARD = "c"


class PatternTable:
    """Patterns with their probabilities."""

    def __init__(self, patterns: Mapping[str, float], lengths: Sequence[float] = ()) -> None:
        """Take weights of patterns and of the lengths 1, 2, …; without lengths, the patterns' weights decide."""
        self.slots = frozenset(Slot(letter) for pattern in patterns for letter in pattern)
        by_length = {n: [p for p in patterns if len(p) == n] for n in range(1, LONGEST + 1)}
        weights = lengths or [sum(patterns[p] for p in of_length) for of_length in by_length.values()]
        self._lengths = cumulated(weights)
        self._patterns = {
            length: (
                cumulated([patterns[pattern] for pattern in of_length]),
                np.array([list(pattern.encode()) for pattern in of_length], np.uint8),
            )
            for length, of_length in by_length.items()
            if of_length
        }

    def draw_lengths(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw the number of slots of n queries."""
        return 1 + np.searchsorted(self._lengths, rng.random(n), side="right")

    def draw_slots(self, lengths: IntArray, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw a pattern of each given length: (queries, LONGEST), ord() of the slots, 0 after the last."""
        slots = np.zeros((len(lengths), LONGEST), np.uint8)
        for length, (bounds, patterns) in self._patterns.items():
            rows = np.flatnonzero(lengths == length)
            slots[rows, :length] = patterns[np.searchsorted(bounds, rng.random(len(rows)), side="right")]
        return slots


def cumulated(weights: Iterable[float]) -> FloatArray:
    """Return the cumulative probabilities without the last, which is 1."""
    sums = np.cumsum(list(weights))
    return np.asarray(sums[:-1] / sums[-1], np.float64)


@dataclass(frozen=True)
class Zipf:
    """A Zipf-Mandelbrot law: the item of rank r (from 1) is drawn in proportion to 1 / (r + shift) ** exponent."""

    exponent: float  # not exactly 1, whose distribution has another inverse
    shift: float


_DEFAULT_LAW = Zipf(1.2, 0.0)


@dataclass(frozen=True)
class LexiconSizes:
    """How many entries of each sort there are to draw from."""

    last_names: int
    sites: int
    brands: int
    topic_words: int = 1_500  # words or phrases per topic
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
    hours: Sequence[float] = ()  # how busy each hour of the day is; () is equally busy
    bots: float = 0.0  # bots per person
    operators: float = 0.0  # programs per person that combine terms by "or"


@dataclass(frozen=True)
class QueryMix:
    """What people type and click, each as a share of the queries unless stated otherwise."""

    repeat: float  # the previous query once more
    refine: float  # the previous query with a term more or less
    recall: float  # any earlier query of the person
    shared: float = 0.0  # of the new queries: one of those that many people think of
    rarity: float = 0.0  # of the words of a topic: replaced by a rare term
    strangers: float = 0.0  # of the people: use words that few others use
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
    laws: Mapping[Slot, Zipf]  # how popularity falls among the texts of a slot, where not by the default law
    activity: Activity
    patterns: PatternTable
    queries: QueryMix
    has_phrases: bool = False  # entries may consist of several words; otherwise each word is an entry
    largest: int = 0  # terms in the largest history
    original: Mapping[str, int] = field(default_factory=dict)  # published figures of the imitated log
    block: int = 20_000  # people generated at a time, which bounds the memory

    def law(self, slot: Slot) -> Zipf:
        """Return how popularity falls among the texts of a slot."""
        return self.laws.get(slot, _DEFAULT_LAW)
