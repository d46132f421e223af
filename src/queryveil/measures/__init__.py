"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from queryveil.core.names import Declaration, Integer, Parameter, Real, ResolvedName, Word
from queryveil.kinds.base import FOREIGN_LOG

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)
NEEDS_INDEX = "the measure {} needs an index of documents to search; make one with queryveil index, give it by --index."


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: besides the declaration, whether it needs to know what terms are worth, and of which releases it is.

    Its function takes the `Evidence`, of which it looks at the views it needs, and the measure with its parameters.
    """

    needs_market: bool = False
    needs_index: bool = False
    kinds: tuple[str, ...] = ("histories", "log", "queries")
    of_pair: bool = False  # it compares, person by person, what was issued with what was released
    needs_model: bool = False  # it must know how sensitive queries are
    by_person: str = ""  # of a pair: "module:function" that returns the figure of every person, where there is one

    def load_by_person(self) -> Callable[..., Any]:
        """Import and return the function that gives the figure of every person."""
        return replace(self, functions={"local": self.by_person}).load()


RETENTION = Measure(
    name="retention",
    purpose="how much of the log the release keeps: distinct terms, log size, users and user-term pairs",
    paper="Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010",
    functions={
        "local": "queryveil.measures.utility.retention:compute",
        "spark": "queryveil.measures.distributed.retention:compute",
    },
)

UNIQUE = Measure(
    name="unique",
    purpose="the share of people whom m random terms of theirs single out",
    parameters=(Parameter("m", Integer(minimum=1, maximum=6), "how many terms of a person are known"),),
    functions={
        "local": "queryveil.measures.privacy.unique:compute",
        "spark": "queryveil.measures.distributed.unique:compute",
    },
)

MARKET = Measure(
    name="market",
    purpose="how much of the terms' market value the release keeps: bid, clicks, impressions, revenue (--market)",
    paper=RETENTION.paper,
    functions={"local": "queryveil.measures.utility.market:compute"},
    needs_market=True,
    kinds=("histories", "log"),
)

CORRELATIONS = Measure(
    name="correlations",
    purpose="how term frequency, users, bid, clicks, impressions and revenue go together over terms (--market)",
    paper=RETENTION.paper,
    functions={"local": "queryveil.measures.utility.correlations:compute"},
    needs_market=True,
    kinds=("histories", "log"),
)

LINKABILITY = Measure(
    name="linkability",
    purpose="how likely members of published groups are tied to its terms, how large groups are, and how like members",
    parameters=(
        Parameter("p", Real(0, 1, above_minimum=True), "the share of members above which a person's term is counted"),
    ),
    paper="Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010",
    functions={"local": "queryveil.measures.privacy.linkability:compute"},
    kinds=("groups",),
)

_VOCABULARY_PAPER = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"

BLM = Measure(
    name="blm",
    purpose="how much less precise the occurrences of terms became, from 0; counts those that are gone (--private)",
    parameters=(Parameter("penalty", Real(1), "what an occurrence counts that is not published", 1),),
    paper=_VOCABULARY_PAPER,
    functions={"local": "queryveil.measures.utility.blm:compute_blm"},
    kinds=("vocabularies",),
)

LM = Measure(
    name="lm",
    purpose="the same as if vocabularies were sets, blind to how often terms occur, which flatters (--private)",
    paper=_VOCABULARY_PAPER,
    functions={"local": "queryveil.measures.utility.blm:compute_lm"},
    kinds=("vocabularies",),
)

PATTERNS = Measure(
    name="patterns",
    purpose="how many of the most frequent closed patterns of terms survive, and how far the others are from any",
    parameters=(
        Parameter("n", Integer(minimum=1, maximum=100_000), "how many patterns", 1_000),
        Parameter("eps", Integer(minimum=0, maximum=100), "terms more steps apart have nothing in common", 8),
    ),
    paper=_VOCABULARY_PAPER,
    functions={"local": "queryveil.measures.utility.patterns:compute"},
    kinds=("vocabularies", "histories", "log"),
)

SEARCH = Measure(
    name="search",
    purpose="how well search results ranked for a person's group agree with those ranked for the person (--index)",
    parameters=(
        Parameter("people", Integer(minimum=1), "how many people are looked at, drawn at random", 1_000),
        Parameter("queries", Integer(minimum=1), "how many queries of each, made of terms of theirs", 5),
        Parameter("depth", Integer(minimum=2), "how many of the engine's results are ranked", 100),
        Parameter(
            "relevant", Integer(minimum=1), "how many of them are relevant: those the own profile puts first", 30
        ),
        Parameter("blend", Real(0, 1), "how much the engine's own score weighs against the profile's", 0),
    ),
    paper=LINKABILITY.paper,
    functions={"local": "queryveil.measures.utility.search:compute"},
    needs_index=True,
    kinds=("groups",),
)

ON_SPARK = ("spi", "jsd", "impressions", "exposed")  # of the measures of pairs
PAIR_KINDS = ("queries", "log", "histories", FOREIGN_LOG.name)
CARPINETO = "Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018"


def _pair_measure(name: str, purpose: str, module: str, **fields: Any) -> Measure:
    """Declare a measure of a pair of logs whose functions are called after it."""
    place = f"queryveil.measures.privacy.{module}:{name}"
    functions = {"local": place}
    if name in ON_SPARK:
        functions["spark"] = f"queryveil.measures.distributed.pairs:{name}"
    given = {"by_person": f"{place}_by_person", "paper": CARPINETO, **fields}
    return Measure(name, purpose, functions=functions, kinds=PAIR_KINDS, of_pair=True, **given)


SPI = _pair_measure(
    "spi",
    "how far what is released of a person is from the original, sensitive queries weighing less; of any pair of logs",
    "spi",
    needs_model=True,
)
JSD = _pair_measure(
    "jsd", "the Jensen–Shannon divergence of a person's queries before and after; of any pair of logs", "spi"
)
IMPRESSIONS = _pair_measure(
    "impressions", "the share of queries that is released, and of people with none; of any pair of logs", "impressions"
)
PEL = _pair_measure(
    "pel",
    "the information that the release gives about a person's queries, in percent; of any pair of logs",
    "pel",
    parameters=(
        Parameter(
            "estimate",
            Word(("paper", "joint")),
            "how the joint probabilities are estimated: a released query is the query itself, or what became of a "
            "query of the original",
            "paper",
        ),
    ),
)
EXPOSED = _pair_measure(
    "exposed",
    "the share of what a person searched for that is sensitive and released; of any pair of logs",
    "exposed",
    needs_model=True,
    paper="",
)
WORST = _pair_measure(
    "worst",
    "what is exposed of the q-th percentile person, and the SPI that q % of people have at least; of any pair of logs",
    "exposed",
    parameters=(Parameter("q", Real(0, 100, above_minimum=True), "the percentile of people", 95),),
    needs_model=True,
    by_person="",
    paper="",
)

DECLARATIONS = (
    RETENTION,
    MARKET,
    UNIQUE,
    CORRELATIONS,
    LINKABILITY,
    SEARCH,
    BLM,
    LM,
    PATTERNS,
    SPI,
    JSD,
    IMPRESSIONS,
    PEL,
    EXPOSED,
    WORST,
)


def measure_of(measure: ResolvedName) -> Measure:
    """Return the declaration of a measure by its resolved name."""
    if not isinstance(measure.declaration, Measure):
        raise TypeError(f"{measure.declaration.name} is registered as a measure but is not a Measure")
    return measure.declaration
