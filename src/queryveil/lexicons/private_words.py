"""Private words: a list made by hand by categories of sensitive advertising, and what WordNet's pointers mark."""

from dataclasses import dataclass
from functools import cache

from queryveil.lexicons.tables import read_table


@dataclass(frozen=True)
class PersonalWordLists:
    """Words by which a query is about a person, a place or something private; all as terms joined by single spaces."""

    names: frozenset[str]  # words that are names by themselves
    first_names: frozenset[str]  # that may be common words too; with a last name after them they are a name
    last_names: frozenset[str]
    places: frozenset[str]  # of one or more words
    words: frozenset[str]  # private words, of one or more words each


@cache
def load() -> frozenset[str]:
    """Return the words and phrases, in lower case."""
    return frozenset(read_table("private-words")["word"].to_pylist())
