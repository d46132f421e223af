"""What is counted of all people, whoever of them is grouped here: on a cluster a block is some of them only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.profiles import Profiles


@dataclass(frozen=True, eq=False)
class Population:
    """Figures of everybody's profiles without the terms below the floor."""

    n_people: int  # with and without terms
    n_holders: int  # those with terms
    n_pairs: int
    holders: NDArray[np.int64]  # (entries,): people who hold the entry
    totals: NDArray[np.float64]  # (entries,): the sum of its weights


def population_of(profiles: Profiles) -> Population:
    """Count the people of profiles that hold everybody."""
    n_entries = len(profiles.vocabulary)
    return Population(
        profiles.n_histories,
        int(np.count_nonzero(np.diff(profiles.indptr))),
        len(profiles.ids),
        np.bincount(profiles.ids, minlength=n_entries),
        np.bincount(profiles.ids, profiles.weights, minlength=n_entries).astype(np.float64),
    )
