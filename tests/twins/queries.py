"""Query-level methods the slow, obvious way, over a log given as (person, query) for every issued query."""

from collections.abc import Sequence

from queryveil.lexicons.word_lists import PersonalWordLists

Issued = Sequence[tuple[str, str]]


def shared(log: Issued, k: int) -> list[tuple[str, str]]:
    """Return the issues of queries that at least k people issued."""
    return [(person, query) for person, query in log if len({p for p, q in log if q == query}) >= k]


def private(query: str, lists: PersonalWordLists) -> bool:
    """Return whether some words of a query, side by side, are a name, a place or a private phrase."""
    words = query.split(" ")
    runs = [" ".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)]
    pairs = [run.split(" ") for run in runs if run.count(" ") == 1]
    named = any(first in lists.first_names and last in lists.last_names for first, last in pairs)
    return named or any(run in lists.names | lists.places | lists.words for run in runs)


def released(log: Issued) -> list[tuple[int, str]]:
    """Return the rows of a release of queries: people by the rank of their sorted queries."""
    contents = sorted(sorted(q for p, q in log if p == person) for person in {p for p, _ in log})
    return [(user, query) for user, queries in enumerate(contents) for query in queries]
