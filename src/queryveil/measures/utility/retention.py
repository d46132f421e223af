"""Retention: how much of the log is still there, in percent of the original.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, table 5:
the distinct terms, the log size and the users that stay. We add the user-term pairs, which a deleting method works on.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.kinds.base import PLURALS
from queryveil.measures.base import UNKNOWN_OCCURRENCES, Comparison

HISTORIES_COUNTED = "histories, not people: which histories are one person's is known only with --private"


@dataclass(frozen=True)
class RetentionCounts:
    """What is counted in a release and in its original, in this order; each engine counts in its own way."""

    items: str  # the word for terms, or whole queries
    terms: tuple[int, int]
    log_size: tuple[int | None, int]  # None where the release does not tell how often its items occur
    users: tuple[int, int]  # people, or histories where people cannot be told
    pairs: tuple[int, int]
    counts_people: bool  # it is known which released histories belong to the same person


def measure_retention(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return distinct terms, log size, users and pairs of the release in percent of the original's."""
    progress("measuring retention", 0, 1)
    counts = evidence.find(RetentionCounts) or _count(evidence.get(Comparison))
    unknown = UNKNOWN_OCCURRENCES if counts.log_size[0] is None else ""
    users = ("people", "") if counts.counts_people else ("histories", HISTORIES_COUNTED)
    scores = [
        _score(measure, f"distinct {counts.items}", *counts.terms, counts.items),
        _score(measure, "log size", *counts.log_size, "occurrences", note=unknown),
        _score(measure, "users", *counts.users, *users),
        _score(measure, "pairs", *counts.pairs, "pairs"),
    ]
    progress("measuring retention", 1, 1)
    return scores


def _count(comparison: Comparison) -> RetentionCounts:
    """Count a release and its original that are in memory."""
    original, released = comparison.original, comparison.released
    is_filled = np.diff(released.indptr) > 0
    if comparison.history_of is not None:
        users = int(np.count_nonzero(np.bincount(comparison.released_owner()[is_filled]))), original.n_people
    else:
        users = int(np.count_nonzero(is_filled)), original.n_histories
    occurrences = comparison.released_occurrences()
    n_before, n_after = (int(np.count_nonzero(np.bincount(profiles.ids))) for profiles in (original, released))
    return RetentionCounts(
        PLURALS[comparison.kind.unit],
        (n_after, n_before),
        (None if occurrences is None else int(occurrences.sum()), int(original.counts.sum())),
        users,
        (len(released.ids), len(original.ids)),
        comparison.ownership != "unknown",
    )


def from_counts(measure: ResolvedName, before: Mapping[str, int], after: Mapping[str, int]) -> list[Score]:
    """Return the same figures from the counts of a manifest."""
    figures = {"distinct terms": "terms", "log size": "occurrences", "users": "people", "pairs": "pairs"}
    return [_score(measure, label, after[name], before[name], name) for label, name in figures.items()]


def _score(measure: ResolvedName, label: str, kept: int | None, total: int, base: str, note: str = "") -> Score:
    value = None if kept is None else 100.0 * kept / total
    return Score(str(measure), label, value, original=100.0, units_counted=total, note=note, base=base)
