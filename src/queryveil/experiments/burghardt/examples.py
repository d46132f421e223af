"""The paper's kinds of examples: its own small log, and similar combinations found in the log at hand.

`TermHolders` counts supports and frequent combinations directly, which is slow but sufficient for a few terms.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import combinations

import numpy as np

from queryveil.core.rows import IntArray, count_holders, gather_rows
from queryveil.experiments.burghardt import printed
from queryveil.experiments.paper import example_log
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.supports import postings

SEARCHED_HISTORIES = 400  # in which examples are searched
MOST_TERMS = 40  # of such a history
MOST_HOLDERS = 400  # of a term whose frequent combinations are counted

Step = tuple[int, str, int, int, str]  # iteration, term, size of combinations, frequency, state


class TermHolders:
    """An inverted index of a log: the histories that contain each term."""

    def __init__(self, profiles: Profiles) -> None:
        self.profiles = profiles
        self._indptr, self._histories = postings(profiles.indptr, profiles.ids, len(profiles.vocabulary))

    def histories(self, terms: Sequence[int]) -> IntArray:
        """Return the histories that contain all of some terms."""
        holders = (self._histories[self._indptr[term] : self._indptr[term + 1]] for term in terms)
        return reduce(partial(np.intersect1d, assume_unique=True), holders).astype(np.int64)

    def support(self, terms: Sequence[int]) -> int:
        """Count the people who have all of some terms in one history."""
        return len(np.unique(self.profiles.owner[self.histories(terms)]))

    def fis_figures(self, term: int, k: int, m: int) -> tuple[int, ...]:
        """Return the number of frequent combinations of size m, m − 1, …, 2 with a term, and last its support."""
        histories = self.histories([term])
        larger = [self._count_frequent(histories, term, -1, size - 1, k) for size in range(m, 1, -1)]
        return (*larger, self.support([term]))

    def _count_frequent(self, histories: IntArray, term: int, above: int, n_more: int, k: int) -> int:
        """Count the frequent extensions, by `n_more` terms with ids above a bound, of what these histories share."""
        profiles = self.profiles
        indptr, pairs = gather_rows(profiles.indptr, histories)
        terms, ids = np.unique(profiles.ids[pairs], return_inverse=True)
        people = count_holders(np.repeat(profiles.owner[histories], np.diff(indptr)), ids, len(terms))
        frequent = terms[(people >= k) & (terms > above) & (terms != term)].astype(np.int64)
        if n_more == 1:
            return len(frequent)
        return sum(
            self._count_frequent(
                np.intersect1d(histories, self.histories([other]), assume_unique=True), term, other, n_more - 1, k
            )
            for other in frequent.tolist()
        )


def smith_log() -> Profiles:
    """Return the paper's example 10 as a log."""
    return example_log(printed.EXAMPLE_10, [str(person) for person in range(len(printed.EXAMPLE_10))])


def decide(figures: Mapping[str, Sequence[int]]) -> list[Step]:
    """Return the steps by which `fis` chooses which of some terms to delete, from their figures for sizes m to 1."""
    steps: list[Step] = []
    candidates = list(figures)
    m = len(next(iter(figures.values())))
    for iteration, size in enumerate(range(m, 0, -1), 1):
        frequency = {term: figures[term][iteration - 1] for term in candidates}
        lowest = [term for term in candidates if frequency[term] == min(frequency.values())]
        state = "delete term" if len(lowest) == 1 else "candidate"
        steps += [(iteration, t, size, frequency[t], state if t in lowest else "keep term") for t in candidates]
        candidates = lowest
        if len(candidates) == 1:
            break
    return steps


def find_identified(holders: TermHolders) -> tuple[int, int, int] | None:
    """Find a combination like georgia, arnold and lilburn: two terms that only one person has together, and a third.

    Of such pairs in the first histories, the rarer term of the returned pair is the most common; others share the third
    term with either of the two.
    """
    best: tuple[int, int, int] | None = None
    for row in _first_histories(holders.profiles):
        for rare, common in ((b, a) for b in row[1:] for a in row[: row.index(b)]):
            if best is not None and rare >= best[2]:  # a lower id means more holders
                break
            if holders.support([common, rare]) == 1:
                others = (term for term in row if term not in (common, rare))
                shared = (t for t in others if min(holders.support([t, x]) for x in (common, rare)) > 1)
                third = next(shared, None)
                if third is not None:
                    best = third, common, rare
                    break
    return best


def find_undecided(holders: TermHolders, k: int, m: int) -> list[Step]:
    """Find a combination of m terms with fewer than k holders for which `fis` needs the most iterations."""
    figures: dict[int, tuple[int, ...]] = {}
    best: list[Step] = []
    for row in _first_histories(holders.profiles):
        usable = [term for term in row if k <= holders.support([term]) <= MOST_HOLDERS]
        for terms in combinations(usable[:8], m):
            if holders.support(terms) >= k:
                continue
            for term in terms:
                if term not in figures:
                    figures[term] = holders.fis_figures(term, k, m)
            steps = decide({holders.profiles.vocabulary[term]: figures[term] for term in terms})
            if steps[-1][0] > (best[-1][0] if best else 0):
                best = steps
        if best and best[-1][0] == m:
            break
    return best


def _first_histories(profiles: Profiles) -> Iterator[list[int]]:
    """Yield the terms of the first histories with 3 to `MOST_TERMS` terms."""
    lengths = np.diff(profiles.indptr)
    for history in np.flatnonzero((lengths >= 3) & (lengths <= MOST_TERMS))[:SEARCHED_HISTORIES].tolist():
        yield profiles.ids[profiles.indptr[history] : profiles.indptr[history + 1]].tolist()
