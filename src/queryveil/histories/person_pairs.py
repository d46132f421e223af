"""Pairs of terms that a person has in one history."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from queryveil.core.progress import Progress
from queryveil.core.rows import Int32Array, IntArray, gather_rows, indptr_of, ranges, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people

_PAIRS_PER_STEP = 1_000_000


@dataclass(frozen=True, eq=False)
class PersonRows:
    """Histories over the terms of the original, those of a person side by side."""

    indptr: IntArray
    ids: Int32Array  # ascending within a history
    owner: Int32Array  # (histories,): ascending

    @classmethod
    def of_profiles(cls, profiles: Profiles) -> "PersonRows":
        """Return the histories of profiles, whose owners ascend."""
        return cls(profiles.indptr, profiles.ids, profiles.owner)


def count_person_pairs(rows: PersonRows, n_terms: int, progress: Progress) -> int:
    """Count the different pairs of terms that each person has in one history, over all people."""
    length = np.diff(rows.indptr)
    if count_people(rows.indptr, rows.ids, rows.owner, n_terms).sum() == len(rows.ids):  # nobody has a term twice
        return int((length * (length - 1) // 2).sum())
    is_shared = np.zeros(len(length), np.bool_)  # another history is the same person's
    is_equal = rows.owner[1:] == rows.owner[:-1]
    is_shared[1:] |= is_equal
    is_shared[:-1] |= is_equal
    alone = length[~is_shared]
    total = int((alone * (alone - 1) // 2).sum())
    for histories in _runs_of_people(rows.owner, np.where(is_shared, length * (length - 1) // 2, 0)):
        progress("counting pairs", histories.stop, len(length))
        total += _count_distinct(rows, np.arange(histories.start, histories.stop)[is_shared[histories]], n_terms)
    return total


def _runs_of_people(owner: Int32Array, n_pairs: IntArray) -> Iterator[slice]:
    """Cut histories into runs of whole people with so many pairs that these fit into memory."""
    bounds, done = indptr_of(n_pairs), 0
    if not bounds[-1]:
        return
    ends = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))  # of people
    while done < len(owner):
        at = np.searchsorted(bounds[ends], bounds[done] + _PAIRS_PER_STEP, "right")
        at = max(at - 1, int(np.searchsorted(ends, done, "right")))
        yield slice(done, int(ends[at]))
        done = int(ends[at])


def _count_distinct(rows: PersonRows, histories: IntArray, n_terms: int) -> int:
    """Count the different pairs of terms of each person in some histories."""
    indptr, at = gather_rows(rows.indptr, histories)
    row = row_numbers(indptr)
    n_later = indptr[row + 1] - np.arange(len(at)) - 1  # terms after each in its history
    first = row_numbers(indptr_of(n_later))
    second = ranges(np.arange(len(at)) + 1, n_later)
    _, person = np.unique(rows.owner[histories], return_inverse=True)
    ids = rows.ids[at].astype(np.int64)
    return len(np.unique((person[row[first]] * n_terms + ids[first]) * n_terms + ids[second]))
