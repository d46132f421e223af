"""Places of the world by name: the instances that WordNet has below its kinds of place."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from queryveil.lexicons.tables import read_table

KINDS = ("city", "state", "country", "region", "island", "mountain", "water")


@dataclass(frozen=True)
class Place:
    """One place that a name may mean."""

    name: str
    synset: int
    kind: str  # one of KINDS


@cache
def load() -> Mapping[str, tuple[Place, ...]]:
    """Map every name of a place, in lower case, to the places that it may mean; names are in alphabetical order."""
    found: dict[str, tuple[Place, ...]] = {}
    table = read_table("places")
    for row in table.to_pylist():
        found[row["name"]] = (*found.get(row["name"], ()), Place(**row))
    return MappingProxyType(found)


def named(kind: str) -> tuple[str, ...]:
    """Return the names that mean a place of a kind, in alphabetical order."""
    return tuple(name for name, places in load().items() if any(place.kind == kind for place in places))
