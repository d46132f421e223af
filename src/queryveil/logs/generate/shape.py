"""What a generated log looks like, in figures: one `Shape` for each log that can be imitated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Zipf:
    """A Zipf-Mandelbrot law: the item of rank r (from 1) is used in proportion to 1 / (r + shift) ** exponent."""

    exponent: float
    shift: float


@dataclass(frozen=True)
class Pools:
    """How many things of each sort exist in the world of the log, and how popularity falls among them."""

    phrases: int  # words and phrases per topic
    sites: int
    brands: int
    famous: int
    towns: int
    phrase_law: Zipf
    site_law: Zipf
    brand_law: Zipf
    famous_law: Zipf
    town_law: Zipf


@dataclass(frozen=True)
class Activity:
    """How much people search, and in which rhythm."""

    queries_log_mean: float  # queries per person are log-normal …
    queries_log_sigma: float
    max_queries: int  # … up to here
    session_queries: float  # mean length of a session
    pause_log_mean: float  # seconds between queries of a session are log-normal
    pause_log_sigma: float
    bots_per_person: float
    bot_queries: tuple[int, int]  # fewest and most, all in one session


@dataclass(frozen=True)
class Habits:
    """What people do, each as a share of their queries."""

    kinds: Mapping[str, float]  # kind → weight; see `composers.KINDS`
    repeat: float  # the query before, once more
    refine: float  # the query before, a word more or less
    recall: float  # any of the person's earlier queries
    misspell: float
    click: float  # at least one click
    next_click: float  # given a click, one more
    favourite: float  # a site visited is one of the person's few favourites
    vanity: float  # of the people, who look for their own name


@dataclass(frozen=True)
class Shape:
    """All figures of one imitated log."""

    name: str
    purpose: str
    users: int
    first_day: str
    days: int
    pools: Pools
    activity: Activity
    habits: Habits
    block: int = field(default=10_000)  # people made at a time: bounds the memory


DEMO = Shape(
    name="demo",
    purpose="a small log in the AOL format that shows everything queryveil deals with",
    users=5_000,
    first_day="2006-03-01",
    days=91,
    pools=Pools(
        phrases=500,
        sites=60_000,
        brands=60_000,
        famous=6_000,
        towns=5_000,
        phrase_law=Zipf(1.25, 1.0),
        site_law=Zipf(1.05, 0.5),
        brand_law=Zipf(0.75, 1.0),
        famous_law=Zipf(1.0, 1.0),
        town_law=Zipf(0.9, 2.0),
    ),
    activity=Activity(
        queries_log_mean=2.3,
        queries_log_sigma=1.05,
        max_queries=250,
        session_queries=3.2,
        pause_log_mean=4.2,
        pause_log_sigma=1.1,
        bots_per_person=1 / 2_000,
        bot_queries=(120, 300),
    ),
    habits=Habits(
        kinds=MappingProxyType(
            {
                "topic": 0.36,
                "site": 0.22,
                "product": 0.14,
                "local": 0.09,
                "travel": 0.04,
                "famous": 0.04,
                "acquaintance": 0.08,
                "handle": 0.06,
                "identifier": 0.004,
            }
        ),
        repeat=0.18,
        refine=0.09,
        recall=0.20,
        misspell=0.10,
        click=0.52,
        next_click=0.28,
        favourite=0.6,
        vanity=0.25,
    ),
)
