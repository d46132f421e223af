"""Retention: how much of the log is still there, in percent of the original.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, table 5:
the distinct terms, the log size and the users that stay. We add the user-term pairs, which a deleting method works on.
"""

from collections.abc import Mapping

import numpy as np

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.histories.profiles import Profiles
from queryveil.measures.base import UNKNOWN_OCCURRENCES, Comparison

HISTORIES_COUNTED = "histories, not people: which histories are one person's is known only with --private"


def measure_retention(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return distinct terms, log size, users and pairs of the release in percent of the original's."""
    comparison = evidence.get(Comparison)
    original, released = comparison.original, comparison.released
    progress("measuring retention", 0, 1)
    occurrences = comparison.released_occurrences()
    scores = scores_of(
        measure,
        comparison.kind.items,
        terms=(_distinct_terms(released), _distinct_terms(original)),
        log_size=(None if occurrences is None else int(occurrences.sum()), int(original.counts.sum())),
        users=_users(comparison),
        pairs=(len(released.ids), len(original.ids)),
        counts_people=comparison.counts_people,
    )
    progress("measuring retention", 1, 1)
    return scores


def scores_of(
    measure: ResolvedName,
    items: str,
    *,
    terms: tuple[int, int],
    log_size: tuple[int | None, int],
    users: tuple[int, int],
    pairs: tuple[int, int],
    counts_people: bool,
) -> list[Score]:
    """Return the scores of what was counted in the release and in the original."""
    return [
        _score(measure, f"distinct {items}", *terms),
        _score(measure, "log size", *log_size, note=UNKNOWN_OCCURRENCES if log_size[0] is None else ""),
        _score(measure, "users", *users, note="" if counts_people else HISTORIES_COUNTED),
        _score(measure, "pairs", *pairs),
    ]


def from_counts(measure: ResolvedName, before: Mapping[str, int], after: Mapping[str, int]) -> list[Score]:
    """Return the same figures from the counts of a manifest before and after."""
    figures = {"distinct terms": "terms", "log size": "occurrences", "users": "people", "pairs": "pairs"}
    return [_score(measure, label, after[name], before[name]) for label, name in figures.items()]


def _score(measure: ResolvedName, label: str, kept: int | None, total: int, *, note: str = "") -> Score:
    value = None if kept is None else 100.0 * kept / total
    return Score(str(measure), label, value, original=100.0, units_counted=total, note=note)


def _distinct_terms(profiles: Profiles) -> int:
    """Count the entries that some history holds."""
    return int(np.count_nonzero(np.bincount(profiles.ids)))


def _users(comparison: Comparison) -> tuple[int, int]:
    """Count the people of the release and of the original, or the histories if the owners are unknown."""
    original, is_filled = comparison.original, np.diff(comparison.released.indptr) > 0
    if comparison.history_of is not None:
        return len(np.unique(comparison.released_owner()[is_filled])), original.n_people
    return int(np.count_nonzero(is_filled)), original.n_histories
