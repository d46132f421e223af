"""Word lists: names (US Census Bureau, 1990), places (WordNet), private words, sensitive topics and stop words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.lexicons import read_table

_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())  # Lucene's list for English
PLACE_KINDS = ("city", "state", "country", "region", "island", "mountain", "water")


@dataclass(frozen=True)
class PersonalWordLists:
    """The words that make a query personal: names, places, private words; all as terms joined by single spaces."""

    names: frozenset[str]  # words that are names by themselves
    first_names: frozenset[str]  # frequent ones, may be ordinary words too; followed by a last name they are a name
    last_names: frozenset[str]
    places: frozenset[str]  # of one or more words
    words: frozenset[str]  # private words, of one or more words each


@cache
def load_names(which: Literal["female", "male", "last"]) -> tuple[str, ...]:
    """Return the first names of women or men, or the last names, in lower case, the most frequent first."""
    table = read_table("names")
    table = table.filter(pc.equal(table["list"], which)).sort_by([("share", "descending"), ("name", "ascending")])
    return tuple(table["name"].to_pylist())


@cache
def frequent_names(*lists: str, share: int) -> frozenset[str]:
    """Return the names of some lists that at least so many thousandths of a per cent of people bear."""
    table = read_table("names")
    is_frequent = pc.and_(pc.is_in(table["list"], pa.array(lists)), pc.greater_equal(table["share"], share))
    return frozenset(table.filter(is_frequent)["name"].to_pylist())


@cache
def ordinary_words(which: Literal["name", "place"]) -> frozenset[str]:
    """Return the names, or the names of places, that are ordinary words too (scripts/build_personal_lists.py)."""
    table = read_table("ordinary-words")
    return frozenset(table.filter(pc.equal(table["list"], which))["word"].to_pylist())


@cache
def private_words() -> frozenset[str]:
    """Return private words in lower case: a list by categories of sensitive advertising, and words WordNet marks."""
    return frozenset(read_table("private-words")["word"].to_pylist())


@cache
def sensitive_topics() -> Mapping[str, str]:
    """Return the topic of every word that makes a query sensitive (scripts/build_sensitivity.py)."""
    table = read_table("sensitive-topics")
    return dict(zip(table["word"].to_pylist(), table["topic"].to_pylist(), strict=True))


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
