"""Who holds a combination of terms, and in how many frequent combinations a term is: plainly, for a few terms."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import count_holders, gather_rows, per_entry
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.supports import postings


class Holders:
    """The histories that hold each term of a log."""

    def __init__(self, profiles: Profiles) -> None:
        self.profiles = profiles
        self._start, self._history = postings(profiles.indptr, profiles.ids, len(profiles.vocabulary))

    def histories(self, terms: Sequence[int]) -> NDArray[np.int64]:
        """Return the histories that hold all of some terms."""
        found = self._history[self._start[terms[0]] : self._start[terms[0] + 1]]
        for term in terms[1:]:
            others = self._history[self._start[term] : self._start[term + 1]]
            found = np.intersect1d(found, others, assume_unique=True)
        return found.astype(np.int64)

    def support(self, terms: Sequence[int]) -> int:
        """Count the people who have all of some terms in one history."""
        return len(np.unique(self.profiles.owner[self.histories(terms)]))

    def fis_figures(self, term: int, k: int, m: int) -> tuple[int, ...]:
        """Return in how many frequent combinations of size m, m − 1, …, 2 a term is, and at last its support."""
        histories = self.histories([term])
        larger = [self._frequent_with(histories, term, -1, size - 1, k) for size in range(m, 1, -1)]
        return (*larger, self.support([term]))

    def _frequent_with(self, histories: NDArray[np.int64], term: int, above: int, more: int, k: int) -> int:
        """Count the frequent combinations of what all these histories hold and `more` terms with ids above a bound."""
        frequent = self._frequent(histories, k)
        frequent = frequent[(frequent > above) & (frequent != term)]
        if more == 1:
            return len(frequent)
        return sum(
            self._frequent_with(
                np.intersect1d(histories, self.histories([other]), assume_unique=True), term, other, more - 1, k
            )
            for other in frequent.tolist()
        )

    def _frequent(self, histories: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return the terms that at least k people have in one of some histories, ascending."""
        profiles = self.profiles
        indptr, pairs = gather_rows(profiles.indptr, histories)
        terms, ids = np.unique(profiles.ids[pairs], return_inverse=True)
        people = count_holders(per_entry(profiles.owner[histories], indptr), ids, len(terms))
        return terms[people >= k].astype(np.int64)
