"""Count the members of groups who are less similar to the centroid of their group than a run was to allow.

Profiles are augmented by meaning as Zhu and Xiong 2010 compare them (`queryveil.semantics.augmentation`); the centroid
is the sum of the members' features, each of unit length. Everything else is computed here.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import Value
from queryveil.histories.profiles import Profiles
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import Network

TOLERANCE = 1e-6  # features may have been summed in another order


def count_dissimilar(
    group: NDArray[np.int32], profiles: Profiles, network: Network, parameters: Mapping[str, Value], floor: int
) -> int:
    """Return how many people are below `min_similarity`; `group` is everybody's, −1 for none."""
    features = augment(
        profiles.select(profiles.holder_counts()[profiles.ids] >= floor),
        network,
        a=int(parameters["a"]),
        weighting="paper" if parameters["weighting"] == "paper" else "content",
    )
    person = np.repeat(np.arange(len(group)), np.diff(features.indptr))
    length = np.sqrt(np.bincount(person, features.values**2, len(group)))
    is_member = group[person] >= 0
    person, dimension, value = person[is_member], features.ids[is_member], (features.values / length[person])[is_member]
    _, cell = np.unique(group[person].astype(np.int64) * features.n_dimensions + dimension, return_inverse=True)
    total = np.bincount(cell, value)[cell]  # of the group in the dimension
    of_group = np.bincount(group[person], value * total, int(group.max()) + 1)  # the length of the sum, squared
    cosine = np.bincount(person, value * total, len(group)) / np.sqrt(np.maximum(of_group[group], np.finfo(float).tiny))
    return int(np.count_nonzero((group >= 0) & (cosine < float(parameters["min_similarity"]) - TOLERANCE)))
