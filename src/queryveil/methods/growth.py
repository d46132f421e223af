"""Growing an anonymous log from nothing, and making it better where it stands: what `best` does besides Algorithm 1.

Terms are put in one by one (`kernels.growth`), the most useful first; a history gives up terms for one of more weight.
The weight is the gain of the term there times the root of its potential: the gain of all terms of that history
that go with it. Then histories choose anew (`kernels.choice`) and terms grow again, by gain alone, while that helps.
All this is for combinations of two; it never breaks the guarantee on the way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.choice import choose_anew, make_room
from queryveil.kernels.growth import Grown, grow, holders, potentials
from queryveil.kernels.supports import Tree
from queryveil.types import Profiles, Progress

_BUDGET = 2_000_000  # steps of kernel work between two progress reports: well under a second
_ROUNDS = 6
_WORTH_IT = 0.005  # another round is made if the one before gained at least this share


@dataclass(frozen=True, eq=False)
class Plot:
    """A log and its frequent pairs: where anonymous logs can grow."""

    profiles: Profiles
    k: int
    tree: Tree  # its supports are those of the whole log
    n_terms: int  # terms with an id below this are looked at
    gain: NDArray[np.float64]  # (pairs,)
    holders: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]
    by_length: NDArray[np.int64]  # histories, the longest first

    def potential(self) -> NDArray[np.float64]:
        """Return what keeping a pair can bring with it: the gain of all terms that go with its term there."""
        return potentials(self.profiles.indptr, self.profiles.ids, self.tree, self.gain, self.n_terms)

    def empty(self) -> tuple[Grown, Tree]:
        """Return a log of which nothing is kept, and supports to match."""
        tree = self.tree._replace(support2=np.zeros_like(self.tree.support2))
        return self._log(np.zeros(len(self.profiles.ids), np.bool_), np.zeros(self.n_terms, np.int32)), tree

    def kept(self, mask: NDArray[np.bool_], tree: Tree) -> tuple[Grown, Tree]:
        """Return a log of which something is kept; the tree's supports must be those of that."""
        ids, owner = self.profiles.ids, self.profiles.owner
        history = np.repeat(np.arange(self.profiles.n_histories), np.diff(self.profiles.indptr))
        pair = np.unique(np.stack((owner[history[mask]].astype(np.int64), ids[mask]), axis=1), axis=0)
        return self._log(mask.copy(), np.bincount(pair[:, 1], minlength=self.n_terms).astype(np.int32)), tree

    def _log(self, kept: NDArray[np.bool_], support1: NDArray[np.int32]) -> Grown:
        indptr, ids, owner = self.profiles.indptr, self.profiles.ids, self.profiles.owner
        history = np.repeat(np.arange(self.profiles.n_histories), np.diff(indptr))
        size = np.bincount(history[kept], minlength=self.profiles.n_histories).astype(np.int64)
        begin = np.concatenate((np.zeros(1, np.int64), np.cumsum(size)))[:-1]
        place = indptr[history[kept]] + np.arange(np.count_nonzero(kept)) - begin[history[kept]]
        row, at = np.empty(len(ids), np.int32), np.empty(len(ids), np.int64)
        row[place], at[place] = ids[kept], np.flatnonzero(kept)
        return Grown(
            indptr=indptr,
            owner=owner,
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
            is_in=np.zeros(int(np.diff(self.holders[0]).max(initial=0)), np.bool_),
        )


def plot(profiles: Profiles, k: int, tree: Tree, n_terms: int, gain: NDArray[np.float64]) -> Plot:
    """Prepare a log to grow in."""
    by_length = np.argsort(-np.diff(profiles.indptr), kind="stable")
    return Plot(profiles, k, tree, n_terms, gain, holders(profiles.indptr, profiles.ids, n_terms), by_length)


def grow_terms(
    ground: Plot, log: Grown, tree: Tree, weight: NDArray[np.float64], order: NDArray[np.int64], progress: Progress
) -> None:
    """Let the terms grow in their order."""
    turn = 0
    while turn < len(order):
        progress("growing", turn, len(order))
        turn = grow(log, tree, ground.k, weight, order, turn, _BUDGET, *ground.holders)


def improve(ground: Plot, log: Grown, tree: Tree, order: NDArray[np.int64], progress: Progress) -> None:
    """Let histories choose anew, and the terms they let go grow again, while that gains enough."""
    room = make_room(int(np.diff(ground.profiles.indptr).max(initial=0)), ground.n_terms)
    before = float(ground.gain[log.kept].sum())
    for number in range(1, _ROUNDS + 1):
        stirred = np.zeros(ground.n_terms, np.bool_)
        turn = 0
        while turn < len(ground.by_length):
            progress(f"choosing anew, round {number}", turn, len(ground.by_length))
            turn = choose_anew(
                log, ground.profiles.ids, tree, ground.k, ground.gain, ground.by_length, turn, _BUDGET, stirred, room
            )
        grow_terms(ground, log, tree, ground.gain, order[stirred[order]], progress)
        after = float(ground.gain[log.kept].sum())
        if after - before <= _WORTH_IT * before:
            break
        before = after
