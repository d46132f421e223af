"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from dataclasses import dataclass

from queryveil.spec import Declaration, Integer, Parameter, Real

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: besides the declaration, whether it needs to know what terms are worth, and of which releases it is.

    Measures of groups take the released groups and their members, those of vocabularies a `Vocabularies`, all others a
    `Comparison`.
    """

    needs_market: bool = False
    kinds: tuple[str, ...] = ("histories", "log")


RETENTION = Measure(
    name="retention",
    purpose="how much of the log the release keeps: distinct terms, log size, users and user-term pairs",
    paper="Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010",
    functions={"local": "queryveil.measures.utility.retention:compute"},
)

UNIQUE = Measure(
    name="unique",
    purpose="the share of people whom m random terms of theirs single out",
    parameters=(Parameter("m", Integer(minimum=1, maximum=6), "how many terms of a person are known"),),
    functions={"local": "queryveil.measures.privacy.unique:compute"},
)

MARKET = Measure(
    name="market",
    purpose="how much of the terms' market value the release keeps: bid, clicks, impressions, revenue (--market)",
    paper=RETENTION.paper,
    functions={"local": "queryveil.measures.utility.market:compute"},
    needs_market=True,
)

CORRELATIONS = Measure(
    name="correlations",
    purpose="how term frequency, users, bid, clicks, impressions and revenue go together over terms (--market)",
    paper=RETENTION.paper,
    functions={"local": "queryveil.measures.utility.correlations:compute"},
    needs_market=True,
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

DECLARATIONS = (RETENTION, MARKET, UNIQUE, CORRELATIONS, LINKABILITY, BLM, LM, PATTERNS)
