"""Places of the world, by the names that WordNet has for them, and those that make a query personal."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from queryveil.lexicons import read_table
from queryveil.lexicons.word_lists import ordinary_words

PLACE_KINDS = ("city", "state", "country", "region", "island", "mountain", "water")


@dataclass(frozen=True)
class Place:
    """One place that a name may mean."""

    name: str
    synset: int
    kind: str  # one of PLACE_KINDS


@cache
def places() -> Mapping[str, tuple[Place, ...]]:
    """Map the name of every place, in lower case, to the places that it may mean; names are sorted."""
    found: dict[str, tuple[Place, ...]] = {}
    for row in read_table("places").to_pylist():
        found[row["name"]] = (*found.get(row["name"], ()), Place(**row))
    return MappingProxyType(found)


@cache
def personal_places() -> frozenset[str]:
    """Return the names of places, in lower case, that are no ordinary words; some were listed by hand."""
    known = frozenset(name for name in places() if len(name) > 2)  # two letters are mostly words or abbreviations
    return (known - ordinary_words("place")) | frozenset(read_table("listed-places")["name"].to_pylist())
