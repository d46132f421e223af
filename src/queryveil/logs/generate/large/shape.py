"""The figures of the large logs: how many, how long, how popular."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from queryveil.logs.generate.shape import Zipf


@dataclass(frozen=True)
class Sizes:
    """How many things of each sort there are to draw from."""

    topic_words: int  # words and phrases per topic
    last_names: int
    sites: int
    brands: int
    tail: int  # rare terms
    catalogue: int  # queries that many people think of alike


@dataclass(frozen=True)
class Rhythm:
    """How much people search, and when."""

    queries: float  # per person, on average; log-normal …
    sigma: float  # … with this deviation of the logarithm …
    most_queries: int  # … up to here
    pause: float  # seconds between queries of a session, the median
    long_pause: float  # seconds between sessions, the mean
    session_queries: float  # mean length of a session


@dataclass(frozen=True)
class Manners:
    """What people do, each as a share of their queries unless said otherwise."""

    lengths: tuple[float, ...]  # queries of 1, 2, … terms
    repeat: float  # the query before, once more
    refine: float  # the query before, a term more or less
    recall: float  # any of the person's earlier queries
    shared: float  # of the fresh queries: thought of by others alike
    universal: float  # of those: on any topic, not one of the person's
    rarity: float  # of the words of a topic: a rare term in their place
    strangers: float  # of the people: whose words few others use
    strange: float  # of their terms: rare ones
    click: float = 0.0
    operators: float = 0.0  # of the people: programs that combine terms by "or" …
    operator_queries: int = 0  # … in so many queries each


@dataclass(frozen=True)
class LargeShape:
    """All figures of a log that is imitated by its measures, a block of people at a time."""

    name: str
    purpose: str
    users: int
    first_day: str
    days: int
    sizes: Sizes
    laws: Mapping[str, Zipf]  # letter of a rack of terms (see `compose`), or "catalogue" → how popularity falls
    rhythm: Rhythm
    manners: Manners
    largest: int = 0  # terms in the largest history
    original: Mapping[str, int] = field(default_factory=dict)  # what is known of the imitated log
    block: int = 20_000  # people made at a time: bounds the memory


_LAWS = MappingProxyType(
    {
        "W": Zipf(0.7, 8.0),
        "C": Zipf(0.8, 1.0),
        "G": Zipf(0.9, 5.0),
        "O": Zipf(0.9, 3.0),
        "E": Zipf(0.9, 1.0),
        "V": Zipf(0.9, 1.0),
        "Z": Zipf(0.5, 1.0),
        "T": Zipf(0.9, 10.0),
        "F": Zipf(0.8, 20.0),
        "L": Zipf(0.7, 100.0),
        "S": Zipf(0.99, 3.0),
        "B": Zipf(0.8, 3.0),
        "A": Zipf(0.0, 0.0),
        "M": Zipf(0.0, 0.0),
        "Q": Zipf(0.0, 0.0),
        "X": Zipf(0.95, 300.0),
        "catalogue": Zipf(0.9, 2.0),
    }
)

ALTAVISTA = LargeShape(
    name="altavista",
    purpose="one day of a search engine, as large as the log of Burghardt et al. 2010 after cleaning",
    users=367_803,
    first_day="2002-09-08",
    days=1,
    sizes=Sizes(
        topic_words=1_500,
        last_names=30_000,
        sites=40_000,
        brands=20_000,
        tail=353_000,
        catalogue=400_000,
    ),
    laws=_LAWS,
    rhythm=Rhythm(
        queries=1_846_134 / 367_803, sigma=1.05, most_queries=90, pause=60, long_pause=3 * 3600, session_queries=4
    ),
    manners=Manners(
        lengths=(0.2225, 0.28, 0.22, 0.13, 0.07, 0.04, 0.02, 0.0175),
        repeat=0.22,
        refine=0.16,
        recall=0.08,
        shared=0.6,
        universal=0.3,
        rarity=0.2,
        strangers=0.2,
        strange=0.7,
        operators=2_170 / 367_803,
        operator_queries=65,
    ),
    largest=495,
    original=MappingProxyType(
        {"people": 367_803, "queries": 1_846_134, "terms": 251_115, "occurrences": 5_501_825, "largest": 495}
    ),
)

AOL = LargeShape(
    name="aol",
    purpose="three months of many people, as large as the log that AOL published in 2006",
    users=650_000,
    first_day="2006-03-01",
    days=91,
    sizes=Sizes(
        topic_words=1_500,
        last_names=60_000,
        sites=150_000,
        brands=60_000,
        tail=2_500_000,
        catalogue=1_500_000,
    ),
    laws=_LAWS,
    rhythm=Rhythm(queries=28.5, sigma=1.35, most_queries=1_500, pause=60, long_pause=2.5 * 86_400, session_queries=3),
    manners=Manners(
        lengths=(0.33, 0.30, 0.19, 0.10, 0.04, 0.02, 0.01, 0.01),
        repeat=0.24,
        refine=0.10,
        recall=0.22,
        shared=0.6,
        universal=0.3,
        rarity=0.2,
        strangers=0.1,
        strange=0.7,
        click=0.5,
    ),
    original=MappingProxyType({"people": 650_000, "pairs": 20_000_000}),
)
