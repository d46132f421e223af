"""How often each term of a large log is used, counted block by block."""

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.compose import NOTHING
from queryveil.logs.generate.large.rack import Numbers
from queryveil.logs.generate.large.words import Words
from queryveil.logs.generate.tally import Tally, Terms


class Counter:
    """Counts by term number; a person's queries are all in one block."""

    def __init__(self, n_terms: int) -> None:
        self.frequency = np.zeros(n_terms, np.int64)
        self.users = np.zeros(n_terms, np.int64)
        self.people = self.queries = self.largest = 0

    def add(self, owners: NDArray[np.int64], queries: Numbers) -> None:
        """Count a block; owners ascend from 0."""
        is_term = queries != NOTHING
        terms = queries[is_term].astype(np.int64)
        pairs = np.unique(np.repeat(owners, is_term.sum(axis=1)) * len(self.users) + terms)
        holders, held = np.divmod(pairs, len(self.users))
        self.frequency += np.bincount(terms, minlength=len(self.users))
        self.users += np.bincount(held, minlength=len(self.users))
        self.largest = max(self.largest, int(np.bincount(holders).max(initial=0)))
        self.people += int(owners[-1]) + 1
        self.queries += len(queries)

    def tally(self, words: Words) -> Tally:
        """Sum up the log."""
        used = np.flatnonzero(self.users)
        terms = Terms(words.texts.take(used).to_pylist(), self.frequency[used], self.users[used])
        return Tally(
            people=self.people,
            queries=self.queries,
            rows=self.queries,
            terms=len(used),
            occurrences=int(self.frequency.sum()),
            pairs=int(self.users.sum()),
            largest=self.largest,
            used=terms,
        )
