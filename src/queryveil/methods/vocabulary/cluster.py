"""One cluster: its members, and the bags of matched terms that are its centre."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.clustering.centres import Bags, Rule
from queryveil.kernels.clustering.growing import Matched, centre_of, grow
from queryveil.methods.vocabulary.words import Words


@dataclass(frozen=True, eq=False)
class Cluster:
    """Members in the order they joined, and the bags: one term of each member, in that order."""

    members: tuple[int, ...]
    terms: NDArray[np.int32]  # (bags, members): different bags
    units: NDArray[np.int64]  # (bags,): how many there are of each

    def joined(self, bags: Bags, words: Words, rule: Rule, t: int) -> "Cluster":
        """Return the cluster with one vocabulary more; bags that find no term in it are gone."""
        n_known = int(np.count_nonzero(bags.word[self.terms[:, 0]] >= 0))
        before = Matched(np.array(self.members), self.terms, self.units, n_known)
        return cluster_of(grow(before, centre_of(before, bags, words.table, rule), bags, t)[0])


def cluster_of(matched: Matched) -> Cluster:
    """Return a cluster that the kernels made."""
    return Cluster(tuple(matched.members.tolist()), matched.terms, matched.units)
