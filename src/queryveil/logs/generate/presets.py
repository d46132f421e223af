"""The shapes of log that can be generated: `demo`, `altavista` and `aol`."""

from collections.abc import Mapping
from types import MappingProxyType

from queryveil.logs.generate.shape import Activity, LexiconSizes, LogShape, PatternTable, QueryMix, Slot, Zipf

# Pattern → weight among the patterns of its length
_WEB_PATTERNS: dict[str, float] = {
    **{"W": 44, "S": 25, "X": 12, "L": 4, "T": 5, "B": 6, "F": 2, "C": 2},
    **{"WC": 26, "WW": 20, "OW": 12, "SM": 7, "FL": 10, "BW": 5, "XW": 6, "TE": 5, "BX": 3, "SV": 3},
    **{"ASM": 6, "OWC": 12, "WWC": 16, "WGW": 18, "WWW": 8, "FLW": 5, "TZE": 6, "BXV": 4, "BWV": 5, "XGW": 5, "FLX": 4},
    **{"OWGW": 14, "WGWC": 18, "WWGW": 16, "WWWC": 12, "FLGT": 6, "EGTZ": 8, "BXWV": 6, "GWGX": 6, "OWXW": 6},
    **{"OWGWC": 16, "WWGWC": 16, "GWGWW": 14, "WEGTZ": 12, "BWXGV": 8, "FLGTZ": 6, "WGXGW": 8},
    **{"GOWGWC": 14, "WWGWGW": 14, "OWWGWC": 12, "WGWGTZ": 10, "GWXGWC": 8},
    **{"GOWGWWC": 12, "WWGWGWC": 12, "OWWGEGT": 8, "GWXGWGW": 8},
    **{"GOWGWWGC": 12, "WWGWGWGC": 12, "OWWGEGTZ": 8, "GWXGWGWW": 8},
}
_WEB_LAWS = MappingProxyType(
    {
        Slot.TOPIC_WORD: Zipf(0.7, 8.0),
        Slot.COMPANION: Zipf(0.8, 1.0),
        Slot.GLUE: Zipf(0.9, 5.0),
        Slot.OPENING: Zipf(0.9, 3.0),
        Slot.ERRAND: Zipf(0.9, 1.0),
        Slot.DETAIL: Zipf(0.9, 1.0),
        Slot.STATE: Zipf(0.5, 1.0),
        Slot.PLACE: Zipf(0.9, 10.0),
        Slot.FIRST_NAME: Zipf(0.8, 20.0),
        Slot.LAST_NAME: Zipf(0.7, 100.0),
        Slot.SITE: Zipf(0.99, 3.0),
        Slot.BRAND: Zipf(0.8, 3.0),
        Slot.RARE: Zipf(0.95, 300.0),
    }
)

ALTAVISTA = LogShape(
    name="altavista",
    purpose="one day of a search engine, as large as the log of Burghardt et al. 2010 after cleaning",
    users=367_803,
    first_day="2002-09-08",
    days=1,
    sizes=LexiconSizes(last_names=30_000, sites=40_000, brands=20_000, rare_terms=353_000, shared_queries=400_000),
    laws=_WEB_LAWS,
    activity=Activity(
        queries=1_846_134 / 367_803,
        sigma=1.05,
        max_queries=90,
        pause=60,
        long_pause=3 * 3600,
        session_queries=4,
        operators=2_170 / 367_803,
    ),
    patterns=PatternTable(_WEB_PATTERNS, lengths=(0.2225, 0.28, 0.22, 0.13, 0.07, 0.04, 0.02, 0.0175)),
    queries=QueryMix(repeat=0.22, refine=0.16, recall=0.08, shared=0.6, rarity=0.2, strangers=0.2),
    largest=495,
    original=MappingProxyType(
        {"people": 367_803, "queries": 1_846_134, "terms": 251_115, "occurrences": 5_501_825, "largest": 495}
    ),
)

AOL = LogShape(
    name="aol",
    purpose="three months of many people, as large as the log that AOL published in 2006",
    users=650_000,
    first_day="2006-03-01",
    days=91,
    sizes=LexiconSizes(last_names=60_000, sites=150_000, brands=60_000, rare_terms=2_500_000, shared_queries=1_500_000),
    laws=_WEB_LAWS,
    activity=Activity(
        queries=28.5, sigma=1.35, max_queries=1_500, pause=60, long_pause=2.5 * 86_400, session_queries=3
    ),
    patterns=PatternTable(_WEB_PATTERNS, lengths=(0.33, 0.30, 0.19, 0.10, 0.04, 0.02, 0.01, 0.01)),
    queries=QueryMix(repeat=0.24, refine=0.10, recall=0.22, shared=0.6, rarity=0.2, strangers=0.1, clicked=0.5),
    original=MappingProxyType({"people": 650_000, "pairs": 20_000_000}),
)

# Sort of query → its weight, and the weights of its patterns
_DEMO_SORTS: dict[str, tuple[float, dict[str, float]]] = {
    "topic": (
        0.36,
        {"W": 26, "P": 10, "WC": 14, "PC": 6, "OP": 9, "WW": 20, "W&W": 5, "P&P": 4, "OWC": 2, "OPC": 2, "C": 2},
    ),
    "site": (0.22, {"S": 24, "Y": 35, "SM": 5, "YM": 8, "ASM": 5, "AYM": 8, "SK": 5, "YK": 10}),
    "product": (0.14, {"B": 6, "BW": 18, "B#": 42, "B#W": 11, "B#J": 15, "BJ": 8}),
    "local": (0.09, {"EH": 28, "EHh": 14, "Hh": 20, "HW": 30, "EiH": 8}),
    "travel": (0.04, {"T": 40, "TE": 20, "TD": 16, "TW": 24}),
    "famous person": (0.04, {"U": 50, "UN": 25, "u": 25}),
    "acquaintance": (0.08, {"fl": 56, "flh": 12, "lR": 5, "flH": 15, "flR": 5, "l": 7}),
    "screen name": (0.06, {"@": 100}),
    "direct identifier": (0.004, {"e": 25, "t": 25, "fls": 25, "c": 25}),
}


def _combined(sorts: Mapping[str, tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """Return the probability of every pattern of all sorts."""
    return {
        pattern: share * weight / sum(patterns.values())
        for share, patterns in sorts.values()
        for pattern, weight in patterns.items()
    }


DEMO = LogShape(
    name="demo",
    purpose="a small log in the AOL format that shows everything queryveil deals with",
    users=5_000,
    first_day="2006-03-01",
    days=91,
    sizes=LexiconSizes(
        last_names=90_000, sites=60_000, brands=60_000, topic_words=500, famous_people=6_000, home_towns=5_000
    ),
    laws=MappingProxyType(
        {
            Slot.TOPIC_WORD: Zipf(1.25, 1.0),
            Slot.TOPIC_PLURAL: Zipf(1.25, 1.0),
            Slot.PLACE: Zipf(0.9, 2.0),
            Slot.HOME_TOWN: Zipf(0.9, 2.0),
            Slot.FIRST_NAME: Zipf(1.5, 50.0),
            Slot.LAST_NAME: Zipf(0.7, 20.0),
            Slot.FAMOUS_NAME: Zipf(0.99, 1.0),
            Slot.FAMOUS_LAST_NAME: Zipf(0.99, 1.0),
            Slot.SITE: Zipf(1.05, 0.5),
            Slot.BRAND: Zipf(0.75, 1.0),
        }
    ),
    activity=Activity(
        queries=16.6,
        sigma=1.05,
        max_queries=250,
        pause=100,
        long_pause=6 * 86_400,
        margin=3 * 86_400,
        session_queries=3.2,
        hours=(3, 2, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 8, 7, 4),
        bots=1 / 2_000,
    ),
    patterns=PatternTable(_combined(_DEMO_SORTS)),
    queries=QueryMix(
        repeat=0.12,
        refine=0.07,
        recall=0.20,
        ordinary=0.0,
        same_topic=0.4,
        own_names=0.25,
        misspelled=0.10,
        clicked=0.52,
        clicked_again=0.28,
        named_site_first=True,
    ),
    has_phrases=True,
    block=10_000,
)
