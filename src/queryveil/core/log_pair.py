"""Evidence of what people issued and what was released of it, document by document."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from queryveil.core.rows import FloatArray, Int32Array, IntArray, row_numbers, row_sums


@dataclass(frozen=True, eq=False)
class LogPair:
    """People × documents, before and after: how often each person issued each query, and how often it was released.

    A row is a document that a person has on either side. Every person has something before, and maybe nothing after.
    """

    indptr: IntArray  # (people + 1,): the rows of each person
    ids: Int32Array  # (rows,): documents, ascending and unique within a person
    before: IntArray  # (rows,): the person's queries of the original
    after: IntArray  # (rows,): those of the release
    persons: tuple[str, ...] = field(repr=False)  # person → the identifier in the original
    sensitivity: FloatArray | None = None  # (rows,): the probability that what was released of it is sensitive;
    # 0 where the model knows no word of it
    own_sensitivity: FloatArray | None = None  # (rows,): likewise of the document as it was issued
    n_strangers: int = 0  # people of the release who are not in the original
    unit: Literal["query", "term"] = "query"  # what documents are

    @property
    def n_people(self) -> int:
        """Count the people of the original."""
        return len(self.indptr) - 1

    @cached_property
    def person(self) -> IntArray:
        """Return the person of every row."""
        return row_numbers(self.indptr)

    @cached_property
    def n_before(self) -> IntArray:
        """Count the queries of every person in the original."""
        return row_sums(self.before, self.indptr)

    @cached_property
    def n_after(self) -> IntArray:
        """Count the queries of every person in the release."""
        return row_sums(self.after, self.indptr)

    @cached_property
    def share_before(self) -> FloatArray:
        """Return how likely each row's document is among the person's queries of the original."""
        return np.asarray(self.before / self.n_before[self.person], np.float64)

    @cached_property
    def share_after(self) -> FloatArray:
        """Return the same for those of the release; 0 where nothing was released."""
        return np.asarray(self.after / np.maximum(1, self.n_after)[self.person], np.float64)
