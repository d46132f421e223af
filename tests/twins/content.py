"""What is released, in plain Python: rows as tuples, sorted as Python sorts."""

from collections.abc import Sequence

from queryveil.histories.pieces import Occurrences
from queryveil.histories.profiles import Profiles

Row = tuple[object, ...]


def histories_rows(profiles: Profiles, mask: Sequence[bool]) -> list[Row]:
    """Return `user, term`: histories in the order of their sorted terms, each with its rank."""
    contents = []
    for h in range(profiles.n_histories):
        pairs = range(profiles.indptr[h], profiles.indptr[h + 1])
        terms = sorted(profiles.vocabulary[profiles.ids[p]] for p in pairs if mask[p])
        if terms:
            contents.append((_part(profiles, h), terms))
    return [(user, term, *part) for user, (part, terms) in enumerate(sorted(contents)) for term in terms]


def log_contents(profiles: Profiles, mask: Sequence[bool], occurrences: Occurrences) -> list[tuple[object, ...]]:
    """Return every history as its part and its queries, each query as its terms and what else is kept; sorted."""
    queries: dict[int, list[str]] = {}
    for query, pair in zip(occurrences.query.tolist(), occurrences.pair.tolist(), strict=True):
        if mask[pair]:
            queries.setdefault(query, []).append(profiles.vocabulary[profiles.ids[pair]])
    extra = [values.to_pylist() for values in occurrences.extra.values()]
    histories: dict[int, list[Row]] = {}
    for query, terms in queries.items():
        content = (tuple(sorted(terms)), *(str(column[query]) for column in extra))
        histories.setdefault(int(occurrences.history[query]), []).append(content)
    return sorted((_part(profiles, h), tuple(sorted(content))) for h, content in histories.items())


def _part(profiles: Profiles, history: int) -> tuple[str, ...]:
    return () if profiles.partition is None else (profiles.partition_values[profiles.partition[history]],)
