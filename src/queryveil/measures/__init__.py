"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queryveil.core.names import Declaration, Integer, Parameter, Real, ResolvedName, Word
from queryveil.kinds.base import FOREIGN_LOG, KEEPABLE
from queryveil.search.ranking_settings import RankingOptions

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)
NEEDS_INDEX = "the measure {} needs an index of documents to search; make one with queryveil index, give it by --index."
BURGHARDT = "Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010"
ZHU = "Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010"
LIU = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"
CARPINETO = "Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018"


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: the declaration, the kinds of release it applies to, and the inputs it needs.

    Its function takes the `Evidence`, from which it gets the views it needs, and the measure with its parameters.
    """

    needs_market: bool = False
    needs_index: bool = False
    needs_clicks: bool = False  # which results people clicked
    kinds: tuple[str, ...] = ("histories", "log", "queries")
    of_pair: bool = False  # it compares, person by person, what was issued with what was released
    needs_model: bool = False  # it must know how sensitive queries are
    runs_beside: bool = False  # it looks at nothing but the `Comparison` and draws nothing
    by_person: str = ""  # of a pair: "module:function" that returns the figure of every person; "" if there is none

    def load_by_person(self) -> Callable[..., Any]:
        """Import and return the function that computes the figure of every person."""
        function: Callable[..., Any] = pkgutil.resolve_name(self.by_person)
        return function


RETENTION = Measure(
    "retention",
    "how much of the log the release keeps: distinct terms, log size (all occurrences of terms), users, and pairs of a "
    "user and a term",
    paper=BURGHARDT,
    functions={
        "local": "queryveil.measures.utility.retention:measure_retention",
        "spark": "queryveil.measures.utility.retention:measure_retention",
    },
)
TOGETHER = Measure(
    "together",
    "which terms of a person are still in one history: the pairs of terms of a person, the relative error of how many "
    "people have a pair (of twenty terms each that are equally popular), and tKd, the share of the 1,000 most frequent "
    "combinations of two or three terms that are not among the release's",
    paper="Terrovitis, Liagouris, Mamoulis, Skiadopoulos: Privacy Preservation by Disassociation, 2012",
    functions={"local": "queryveil.measures.utility.together:measure_together"},
    runs_beside=True,
    kinds=("histories", "log"),
)
UNIQUE = Measure(
    "unique",
    "the share of people whom m random terms of theirs single out, or values of a column that is released besides",
    (
        Parameter("m", Integer(minimum=1, maximum=6), "how many terms of a person are known"),
        Parameter("by", Word(("item", *KEEPABLE)), "what is known: items (terms or queries), or a kept column", "item"),
    ),
    functions={
        "local": "queryveil.measures.privacy.unique:measure_uniqueness",
        "spark": "queryveil.measures.spark_unique:measure_uniqueness",
    },
    kinds=("histories", "log", "queries", "vocabularies"),
)
MARKET = Measure(
    "market",
    "how much of the terms' market value the release keeps: bid, clicks, impressions, revenue (--market)",
    paper=BURGHARDT,
    functions={"local": "queryveil.measures.utility.market:measure_market"},
    needs_market=True,
    kinds=("histories", "log"),
)
CORRELATIONS = Measure(
    "correlations",
    "how term frequency, users, bid, clicks, impressions and revenue go together over terms (--market)",
    paper=BURGHARDT,
    functions={"local": "queryveil.measures.utility.market:measure_correlations"},
    needs_market=True,
    kinds=("histories", "log"),
)
LINKABILITY = Measure(
    "linkability",
    "how likely members of published groups are tied to its terms, how large groups are, and how like its group each "
    "member is: the cosine of two profiles is 1 if they have the same terms in the same proportions and 0 if none",
    (Parameter("p", Real(0, 1, excludes_minimum=True), "the share of members above which a person's term is counted"),),
    ZHU,
    {"local": "queryveil.measures.privacy.linkability:measure_linkability"},
    kinds=("groups",),
)
BLM = Measure(
    "blm",
    "bLM, the loss of precision: how much less is known of an occurrence of a term, from 0 for as typed to 1 for "
    "nothing, on average; one that is not published counts as the penalty",
    (Parameter("penalty", Real(1), "what an occurrence counts that is not published", 1),),
    LIU,
    {"local": "queryveil.measures.utility.blm:measure_blm"},
    kinds=("vocabularies",),
)
LM = Measure(
    "lm",
    "LM, the same as if vocabularies were sets, blind to how often terms occur, which flatters",
    paper=LIU,
    functions={"local": "queryveil.measures.utility.blm:measure_lm"},
    kinds=("vocabularies",),
)
PATTERNS = Measure(
    "patterns",
    "how the sets of terms that most vocabularies share (closed patterns) survive: recall is the share of their terms "
    "that are published together, distance how many steps of meaning a term is from the closest published set",
    (
        Parameter("n", Integer(minimum=1, maximum=100_000), "how many patterns", 1_000),
        Parameter("eps", Integer(minimum=0, maximum=100), "terms more steps apart have nothing in common", 8),
    ),
    LIU,
    {"local": "queryveil.measures.utility.patterns:measure_patterns"},
    kinds=("vocabularies", "histories", "log"),
)
_RANKING_PARAMETERS = tuple(
    Parameter(each.name, each.type, each.purpose.rstrip("."), each.default, each.is_optional)
    for each in RankingOptions.options()
)
SEARCH = Measure(
    "search",
    "how well search results ranked for a person's group agree with those ranked for the person (--index)",
    (
        Parameter("people", Integer(minimum=1), "how many people are looked at, drawn at random", 1_000),
        Parameter("queries", Integer(minimum=1), "how many queries of each, made of terms of theirs", 5),
        Parameter("depth", Integer(minimum=2), "how many of the engine's results are ranked", 100),
        Parameter(
            "relevant", Integer(minimum=1), "how many of them are relevant: those the own profile puts first", 30
        ),
        *_RANKING_PARAMETERS,
    ),
    ZHU,
    {"local": "queryveil.measures.utility.search:measure_search"},
    needs_index=True,
    kinds=("groups",),
)
CLICKS = Measure(
    "clicks",
    "how high the results that people clicked are ranked, by their mean reciprocal rank, before and after re-ranking "
    "(--index, of documents whose ids are the log's url)",
    (
        Parameter("people", Integer(minimum=1), "how many people are looked at, drawn at random", 1_000),
        Parameter("queries", Integer(minimum=1), "how many queries of each that were clicked", 5),
        Parameter("depth", Integer(minimum=2), "how many of the engine's results are ranked", 100),
        *_RANKING_PARAMETERS,
    ),
    functions={"local": "queryveil.measures.utility.clicks:measure_clicks"},
    needs_index=True,
    needs_clicks=True,
    kinds=("groups",),
)

ON_SPARK = ("spi", "jsd", "impressions", "exposed")  # of the measures of pairs
PAIR_KINDS = ("queries", "log", "histories", FOREIGN_LOG.name)


def _pair_measure(name: str, purpose: str, *parameters: Parameter, **fields: Any) -> Measure:
    """Declare a measure of a pair of logs; its functions have the same name."""
    function = f"queryveil.measures.privacy.pairs:{name}"
    functions = {"local": function} | ({"spark": f"queryveil.measures.spark_pairs:{name}"} if name in ON_SPARK else {})
    given = {"by_person": f"{function}_by_person", "paper": CARPINETO, **fields}
    purpose += "; of any pair of logs"
    return Measure(name, purpose, parameters, functions=functions, kinds=PAIR_KINDS, of_pair=True, **given)


SPI = _pair_measure(
    "spi",
    "how far what is released of a person is from the original, sensitive queries weighing less",
    needs_model=True,
)
JSD = _pair_measure("jsd", "the Jensen–Shannon divergence of a person's queries before and after")
IMPRESSIONS = _pair_measure("impressions", "the share of queries that is released, and of people with none")
PEL = _pair_measure(
    "pel",
    "the information that the release gives about a person's queries, in percent",
    Parameter(
        "estimate",
        Word(("paper", "joint")),
        "how the joint probabilities are estimated: a released query is the query itself, or what became of a "
        "query of the original",
        "paper",
    ),
)
EXPOSED = _pair_measure(
    "exposed", "the share of what a person searched for that is sensitive and released", needs_model=True, paper=""
)
WORST = _pair_measure(
    "worst",
    "what is exposed of the q-th percentile person, and the SPI that q % of people have at least",
    Parameter("q", Real(0, 100, excludes_minimum=True), "the percentile of people", 95),
    needs_model=True,
    by_person="",
    paper="",
)

TERM_MEASURES = (RETENTION, TOGETHER, MARKET, UNIQUE, CORRELATIONS, LINKABILITY, SEARCH, CLICKS, BLM, LM, PATTERNS)
DECLARATIONS = (*TERM_MEASURES, SPI, JSD, IMPRESSIONS, PEL, EXPOSED, WORST)


def measure_of(measure: ResolvedName) -> Measure:
    """Return the declaration of a measure by its resolved name."""
    if not isinstance(measure.declaration, Measure):
        raise TypeError(f"{measure.declaration.name} is registered as a measure but is not a Measure")
    return measure.declaration
