"""Private words: a list made by hand by categories of sensitive advertising, and what WordNet's pointers mark."""

from functools import cache

from queryveil.lexicons.tables import read_table


@cache
def load() -> frozenset[str]:
    """Return the words and phrases, in lower case."""
    return frozenset(read_table("private-words")["word"].to_pylist())
