"""Evidence of releases whose rows several people share: vocabularies and groups."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from queryveil.core.rows import FloatArray, Int32Array, IntArray


@dataclass(frozen=True, eq=False)
class ReleasedVocabularies:
    """The vocabularies of a release over numbered terms."""

    users: IntArray  # (histories,): release ids (column `user`), ascending
    indptr: IntArray  # (histories + 1,)
    ids: Int32Array  # (rows,): ascending within a history, then by level
    counts: Int32Array  # (rows,)
    levels: Int32Array  # (rows,)
    terms: tuple[str, ...]  # in the order of the texts

    def number_equal(self) -> IntArray:
        """Return a number for every history, by first occurrence; equal vocabularies have the same number."""
        rows = np.stack((self.ids, self.counts, self.levels), axis=1)
        numbers: dict[bytes, int] = {}
        found = [numbers.setdefault(rows[begin:end].tobytes(), len(numbers)) for begin, end in pairwise(self.indptr)]
        return np.array(found, np.int64)


@dataclass(frozen=True, eq=False)
class ReleasedGroups:
    """The groups of a release over numbered terms."""

    groups: IntArray  # (groups,): the ids in the release, ascending
    indptr: IntArray  # (groups + 1,)
    ids: Int32Array  # (rows,): terms in the order of the rows, which is that of the texts if nothing is wrong
    weights: FloatArray  # (rows,)
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GroupMembers:
    """Who is in which group, and what each person's profile was: the private side of a release of groups."""

    group: Int32Array  # (people,): the position among the released groups; −1 if the person is suppressed
    indptr: IntArray  # (people + 1,)
    ids: Int32Array  # (pairs,): positions in `terms`, ascending and unique within a person
    weights: FloatArray  # (pairs,)
    terms: tuple[str, ...]  # begins with the terms of the release, in their order; then those that were not released
    frozen: tuple[int, ...] = ()  # ids of the groups that are published as in an earlier release
