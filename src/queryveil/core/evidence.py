"""What verifiers, measures and attacks look at: the decoded release and, where it is available, the private side."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import row_numbers, row_sums


@dataclass(frozen=True, eq=False)
class ReleasedVocabularies:
    """The vocabularies of a release over numbered terms."""

    users: NDArray[np.int64]  # (histories,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (rows,): ascending within a history, then by level
    counts: NDArray[np.int32]  # (rows,)
    levels: NDArray[np.int32]  # (rows,)
    terms: tuple[str, ...]  # in the order of the texts


@dataclass(frozen=True, eq=False)
class ReleasedGroups:
    """The groups of a release over numbered terms."""

    groups: NDArray[np.int64]  # (groups,): the ids in the release, ascending
    indptr: NDArray[np.int64]  # (groups + 1,)
    ids: NDArray[np.int32]  # (rows,): terms in the order of the rows, which is that of the texts if nothing is wrong
    weights: NDArray[np.float64]  # (rows,)
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GroupMembers:
    """Who is in which group, and what each person's profile was: the private side of a release of groups."""

    group: NDArray[np.int32]  # (people,): the place among the released groups; −1 where the person is suppressed
    indptr: NDArray[np.int64]  # (people + 1,)
    ids: NDArray[np.int32]  # (pairs,): places in `terms`, ascending and unique within a person
    weights: NDArray[np.float64]  # (pairs,)
    terms: tuple[str, ...]  # begins with the terms of the release, in their order; then those that were not released


@dataclass(frozen=True, eq=False)
class LogPair:
    """People × documents, before and after: how often each person issued each query, and how often it was released.

    A row is a document of a person that is on either side. Every person has something before; people of whom nothing
    was released have nothing after.
    """

    indptr: NDArray[np.int64]  # (people + 1,): the rows of each person
    ids: NDArray[np.int32]  # (rows,): documents, ascending and unique within a person
    before: NDArray[np.int64]  # (rows,): the person's queries of the original
    after: NDArray[np.int64]  # (rows,): those of the release
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the original
    sensitivity: NDArray[np.float64] | None = (
        None  # (rows,): how likely what a reader sees of it is sensitive, if asked
    )
    own_sensitivity: NDArray[np.float64] | None = None  # (rows,): likewise of the document as it was issued
    n_strangers: int = 0  # people of the release who are not in the original
    unit: Literal["query", "term"] = "query"  # what documents are

    @property
    def n_people(self) -> int:
        """Count the people of the original."""
        return len(self.indptr) - 1

    @cached_property
    def person(self) -> NDArray[np.int64]:
        """Return the person of every row."""
        return row_numbers(self.indptr)

    @cached_property
    def n_before(self) -> NDArray[np.int64]:
        """Count the queries of every person in the original."""
        return self._by_person(self.before)

    @cached_property
    def n_after(self) -> NDArray[np.int64]:
        """Count the queries of every person in the release."""
        return self._by_person(self.after)

    @cached_property
    def share_before(self) -> NDArray[np.float64]:
        """Return how likely each row's document is among the person's queries of the original."""
        return np.asarray(self.before / self.n_before[self.person], np.float64)

    @cached_property
    def share_after(self) -> NDArray[np.float64]:
        """Return the same for those of the release; 0 where nothing was released."""
        return np.asarray(self.after / np.maximum(1, self.n_after)[self.person], np.float64)

    def _by_person(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return row_sums(values, self.indptr)
