"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from dataclasses import dataclass

from queryveil.spec import Declaration, Integer, Parameter, Real

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)
NEEDS_INDEX = "the measure {} needs an index of documents to search; make one with queryveil index, give it by --index."


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: besides the declaration, whether it needs to know what terms are worth, and of which releases it is.

    Measures of groups take the released groups and their members, all others a `Comparison`; those that need an index
    take a `Searched` besides.
    """

    needs_market: bool = False
    needs_index: bool = False
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

DECLARATIONS = (RETENTION, MARKET, UNIQUE, CORRELATIONS, LINKABILITY, SEARCH)
