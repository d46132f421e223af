"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from dataclasses import dataclass

from queryveil.spec import Declaration, Integer, Parameter, Real

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: besides the declaration, whether it needs to know what terms are worth, and of which releases it is.

    Measures of groups take the released groups and their members, all others a `Comparison`.
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

DECLARATIONS = (RETENTION, MARKET, UNIQUE, CORRELATIONS, LINKABILITY)
