"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from dataclasses import dataclass

from queryveil.spec import Declaration, Integer, Parameter

NEEDS_MARKET = (
    "the measure {} needs a market table; give a file with the columns term, bid, clicks, impressions by --market."
)


@dataclass(frozen=True)
class Measure(Declaration):
    """A measure: besides the declaration, whether it needs to know what terms are worth on the market."""

    needs_market: bool = False


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

DECLARATIONS = (RETENTION, MARKET, UNIQUE, CORRELATIONS)
