"""Retention: how much of the log is still there, in percent of the original.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010, table 5:
the distinct terms, the log size and the users that stay. The user-term pairs are ours: they are what a deleting method
works on.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.measures.base import Comparison
from queryveil.spec import Bound
from queryveil.types import Profiles, Progress, Score, silent

UNKNOWN_LOG_SIZE = "needs --private, or a release of kind log"
HISTORIES_COUNTED = "histories, not people: which histories are one person's is known only with --private"


def compute(
    comparison: Comparison, bound: Bound, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return distinct terms, log size, users and pairs of the release in percent of the original's."""
    original, released = comparison.original, comparison.released
    progress("measuring retention", 0, 1)
    users, all_users = _users(comparison)
    log_size = _log_size(comparison)
    scores = [
        _score(bound, "distinct terms", _distinct_terms(released), _distinct_terms(original)),
        _score(
            bound, "log size", log_size, int(original.counts.sum()), note=UNKNOWN_LOG_SIZE if log_size is None else ""
        ),
        _score(bound, "users", users, all_users, note="" if comparison.counts_people else HISTORIES_COUNTED),
        _score(bound, "pairs", len(released.ids), len(original.ids)),
    ]
    progress("measuring retention", 1, 1)
    return scores


def _score(bound: Bound, label: str, kept: int | None, total: int, *, note: str = "") -> Score:
    value = None if kept is None else 100.0 * kept / total
    return Score(str(bound), label, value, original=100.0, units_counted=total, note=note)


def _distinct_terms(profiles: Profiles) -> int:
    """Count the entries that some history holds."""
    return int(np.count_nonzero(np.bincount(profiles.ids)))


def _users(comparison: Comparison) -> tuple[int, int]:
    """Count the people of the release and of the original, or the histories where people cannot be told."""
    original, filled = comparison.original, np.diff(comparison.released.indptr) > 0
    if comparison.history_of is not None:
        return len(np.unique(comparison.released_owner()[filled])), original.n_people
    return int(np.count_nonzero(filled)), original.n_histories


def _log_size(comparison: Comparison) -> int | None:
    """Count the occurrences of released terms; None where the release does not tell them."""
    if comparison.kind == "log":
        return int(comparison.released.counts.sum())
    if comparison.history_of is None:
        return None
    return int(_original_counts(comparison.original, comparison.released, comparison.history_of).sum())


def _original_counts(original: Profiles, released: Profiles, history_of: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return, for every released pair, how often it is in the original; 0 where it is not there at all."""
    number = {entry: i for i, entry in enumerate(original.vocabulary.entries)}
    original_id = np.array([number.get(entry, -1) for entry in released.vocabulary.entries], np.int64)
    width = len(original.vocabulary) + 1  # one id more: that of a term the original does not have
    # keys: (original history, original id) as one number; the original's ascend, since its rows do
    rows = np.repeat(np.arange(original.n_histories), np.diff(original.indptr))
    keys = rows * width + original.ids
    wanted = np.repeat(history_of, np.diff(released.indptr)) * width + original_id[released.ids] % width
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, original.counts[place], 0)
