"""What Algorithm 1 works on: the log, the rule by which terms go, and room for one history."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.pairs import Pairs, make_pairs
from queryveil.kernels.triples import make_marks

RANDOM, FIS, UTILITY = 0, 1, 2


class Log(NamedTuple):
    """The log that is worked on; `alive` and the times change."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    owner: NDArray[np.int32]
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    alive: NDArray[np.bool_]  # (pairs,)
    checked: NDArray[np.int64]  # (histories,): when the history was last checked
    fell: NDArray[np.int64]  # (terms,): when a combination whose rarest term it is last fell below k
    fell_with: NDArray[np.int64]  # (terms,): when one of which it is another term did


class Rule(NamedTuple):
    """k, m and how the term to delete is chosen."""

    k: int
    m: int
    target: int
    utility: NDArray[np.float64]  # (terms,), for UTILITY
    degree: NDArray[np.int64]  # (5, terms): frequent combinations of each size a term is in, for FIS
    random: NDArray[np.uint64]  # (1,): the state of splitmix64, for RANDOM


class Scratch(NamedTuple):
    """Room for the terms of one history, made once."""

    current: NDArray[np.int32]  # the terms when its turn comes, ascending
    where: NDArray[np.int64]  # where each stands in the log
    gone: NDArray[np.bool_]  # which of them have been deleted since
    rarest: NDArray[np.bool_]  # which of them can be the rarest of a combination to look at
    common: NDArray[np.bool_]  # which of them can be another term of it
    pairs: Pairs
    triples: NDArray[np.uint64]  # which triples of the terms left over are frequent
    left: NDArray[np.int32]  # terms to look at when a size above two begins
    at: NDArray[np.int64]  # where each of those stands in `current`
    chosen: NDArray[np.int64]  # (4,): places in `left` of the combination looked at, ascending
    combination: NDArray[np.int32]  # (4,): the terms of the combination whose support is lowered, the rarest first
    rest: NDArray[np.int32]  # terms still there, for target `fis`
    rest_gone: NDArray[np.bool_]
    place_of: NDArray[np.int32]  # (terms,): the place of a current term, -1 elsewhere
    places: NDArray[np.int32]  # (3, longest): children found, per size
    nodes: NDArray[np.int64]  # (3, longest)


def make_scratch(longest: int, n_terms: int, m: int) -> Scratch:
    """Return room for histories of up to `longest` terms."""
    return Scratch(
        current=np.empty(longest, np.int32),
        where=np.empty(longest, np.int64),
        gone=np.zeros(longest, np.bool_),
        rarest=np.zeros(longest, np.bool_),
        common=np.zeros(longest, np.bool_),
        pairs=make_pairs(longest),
        triples=make_marks(longest, m),
        left=np.empty(longest, np.int32),
        at=np.empty(longest, np.int64),
        chosen=np.zeros(4, np.int64),
        combination=np.zeros(4, np.int32),
        rest=np.empty(longest, np.int32),
        rest_gone=np.zeros(longest, np.bool_),
        place_of=np.full(n_terms, -1, np.int32),
        places=np.empty((3, longest), np.int32),
        nodes=np.empty((3, longest), np.int64),
    )
