"""Growing an anonymous log from nothing, and making it better where it stands: what `best` does besides Algorithm 1.

Terms are put in one by one (`kernels.km.growth`), the most useful first; a history gives up terms for one of more
weight. The weight is the gain of the term there times the root of its potential: the gain of all terms of that history
that go with it. Then histories choose anew (`kernels.km.improvement`) and terms grow again, by gain alone, while that
helps.
All this is for combinations of two; it never breaks the guarantee on the way.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import ranges, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.kernels.km.growth import Grown, grow, holders, potentials
from queryveil.kernels.km.improvement import choose_anew, make_room
from queryveil.kernels.km.supports import Tree, is_one_each

_BUDGET = 2_000_000  # steps of kernel work between two progress reports: well under a second
_WORKERS = min(4, os.cpu_count() or 1)
_RUNS = 16  # of histories, whose potentials are found side by side
_ROUNDS = 6
_LARGE, _ASKED_FIRST = 100_000, 16  # histories of a large log, of which every 16th is asked first
_WORTH_IT = 0.005  # another round is made if the one before gained at least this share


@dataclass(frozen=True, eq=False)
class GrowthProblem:
    """A log and its frequent pairs: where anonymous logs can grow. Pairs of term and history stand term by term."""

    profiles: Profiles
    k: int
    tree: Tree  # its supports are those of the whole log
    n_terms: int  # terms with an id below this are looked at
    start: NDArray[np.int64]  # (n_terms + 1,): where the pairs of each term begin
    history: NDArray[np.int32]  # (pairs,)
    place: NDArray[np.int64]  # (pairs,): where each stands in the log
    pair_of: NDArray[np.int64]  # (pairs of the log,): and back; -1 for terms that are not looked at
    gain: NDArray[np.float64]  # (pairs,)
    by_length: NDArray[np.int64]  # histories, the longest first

    @property
    def term(self) -> NDArray[np.int64]:
        """Return the term of each pair."""
        return row_numbers(self.start)

    def potential(self) -> NDArray[np.float64]:
        """Return what keeping a pair can bring with it: the gain of all terms that go with its term there."""
        gain = np.zeros(len(self.pair_of))
        gain[self.place] = self.gain
        potential = np.zeros(len(gain))
        cuts = np.linspace(0, self.profiles.n_histories, _RUNS + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(_WORKERS) as threads:
            rows = (self.profiles.indptr, self.profiles.ids, self.tree, gain, self.n_terms)
            work = [threads.submit(potentials, *rows, *run, potential) for run in pairwise(cuts)]
            for run in work:
                run.result()
        return potential[self.place]

    def mask(self, log: Grown) -> NDArray[np.bool_]:
        """Return which pairs of the log are kept."""
        mask = np.zeros(len(self.pair_of), np.bool_)
        mask[self.place[log.kept]] = True
        return mask

    def empty(self) -> tuple[Grown, Tree]:
        """Return a log of which nothing is kept, and supports to match."""
        tree = self.tree._replace(support2=np.zeros_like(self.tree.support2))
        return self._log(np.zeros(len(self.place), np.bool_), np.zeros(self.n_terms, np.int32)), tree

    def kept(self, mask: NDArray[np.bool_]) -> Grown:
        """Return a log of which something is kept."""
        alive = self.profiles.select(mask)
        people = count_people(alive.indptr, alive.ids, alive.owner, self.n_terms)
        return self._log(mask[self.place], people.astype(np.int32))

    def without(self, log: Grown, tree: Tree, gone: NDArray[np.bool_]) -> tuple[Grown, Tree]:
        """Return a log and its supports without some terms in any history: nothing else becomes infrequent by that."""
        rarer = row_numbers(tree.start2)
        support2 = tree.support2 * ~(gone[rarer] | gone[tree.term2])
        return self._log(log.kept & ~gone[self.term], log.support1 * ~gone), tree._replace(support2=support2)

    def _log(self, kept: NDArray[np.bool_], support1: NDArray[np.int32]) -> Grown:
        indptr, owner = self.profiles.indptr, self.profiles.owner
        row, at = np.empty(len(self.pair_of), np.int32), np.empty(len(self.pair_of), np.int64)
        pair = np.flatnonzero(kept)
        pair = pair[np.argsort(self.history[pair], kind="stable")]
        history = self.history[pair]
        size = np.bincount(history, minlength=self.profiles.n_histories).astype(np.int64)
        place = ranges(indptr[:-1], size)
        row[place], at[place] = self.term[pair], pair
        return Grown(
            indptr=indptr,
            owner=owner,
            one_each=is_one_each(owner),
            first=np.searchsorted(owner, np.arange(owner[-1] + 2)).astype(np.int64),
            kept=kept,
            row=row,
            at=at,
            size=size,
            support1=support1,
            with_it=np.zeros(self.n_terms, np.int32),
            last=np.full(self.n_terms, -1, np.int32),
            met=np.empty(self.n_terms, np.int32),
            n_met=np.zeros(1, np.int64),
            is_in=np.zeros(int(np.diff(self.start).max(initial=0)), np.bool_),
        )


def growth_problem(profiles: Profiles, k: int, tree: Tree, n_terms: int, gain: NDArray[np.float64]) -> GrowthProblem:
    """Prepare a log to grow in; the gain is that of each of its pairs."""
    start, history, place = holders(profiles.indptr, profiles.ids, n_terms)
    pair_of = np.full(len(profiles.ids), -1, np.int64)
    pair_of[place] = np.arange(len(place))
    by_length = np.argsort(-np.diff(profiles.indptr), kind="stable")
    return GrowthProblem(profiles, k, tree, n_terms, start, history, place, pair_of, gain[place], by_length)


def grow_terms(
    problem: GrowthProblem,
    log: Grown,
    tree: Tree,
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    progress: Progress,
) -> None:
    """Let the terms grow in their order."""
    turn = 0
    while turn < len(order):
        progress("growing", turn, len(order))
        turn = grow(log, tree, problem.k, weight, order, turn, _BUDGET, problem.start, problem.history)


def improve(problem: GrowthProblem, log: Grown, tree: Tree, order: NDArray[np.int64], progress: Progress) -> None:
    """Let histories choose anew, and the terms they let go grow again, while the choices gain enough.

    Of a large log a part chooses first: where it gains too little, the others are not asked.
    """
    step = 1 if len(problem.by_length) < _LARGE else _ASKED_FIRST
    is_first = np.arange(len(problem.by_length)) % step == 0
    room = make_room(int(np.diff(problem.profiles.indptr).max(initial=0)), problem.n_terms)
    for number in range(1, _ROUNDS + 1):
        before = float(problem.gain[log.kept].sum())
        stirred = np.zeros(problem.n_terms, np.bool_)
        for histories, share in ((problem.by_length[is_first], 1 / step), (problem.by_length[~is_first], 1)):
            turn = 0
            while turn < len(histories):
                progress(f"choosing anew, round {number}", turn, len(histories))
                turn = choose_anew(
                    log, problem.profiles.ids, problem.pair_of, tree, problem.k, problem.gain, histories, turn, _BUDGET,
                    stirred, room,
                )  # fmt: skip
            if float(problem.gain[log.kept].sum()) - before <= share * _WORTH_IT * before:
                return
        grow_terms(problem, log, tree, problem.gain, order[stirred[order]], progress)
