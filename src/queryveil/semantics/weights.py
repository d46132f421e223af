"""How much of a history each of its terms is: the weights of profiles.

`paper`: 1 for every term (Zhu and Xiong 2010, section 4). `counts`: the queries of the history that hold the term.
`tfidf`: (1 + ln c) · ln((N + 1) / n), where c is that count and n of the N people hold the term; never 0.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from queryveil.histories.profiles import Profiles

Weights = Literal["paper", "counts", "tfidf"]


def weighted(profiles: Profiles, weights: Weights) -> Profiles:
    """Return the profiles with weights of a kind in place of those they had."""
    if weights == "paper":
        return replace(profiles, weights=None)
    counts = profiles.counts.astype(np.float64)
    if weights == "counts":
        return replace(profiles, weights=counts)
    people = profiles.holders()
    rarity = np.log((profiles.n_people + 1) / np.maximum(people, 1))
    return replace(profiles, weights=(1.0 + np.log(counts)) * rarity[profiles.ids])
