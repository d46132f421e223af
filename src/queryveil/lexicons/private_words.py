"""Private words: what WordNet marks as belonging to a private field or as offensive, by its own pointers."""

from functools import cache

from queryveil.lexicons.tables import read_table


@cache
def load() -> frozenset[str]:
    """Return the words and phrases, in lower case."""
    return frozenset(read_table("private-words")["word"].to_pylist())
