"""Counting the frequent combinations of a log, ranges of terms side by side: kernels leave Python's lock."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from queryveil.core.progress import Progress
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.supports import Level, Tree, count_frequent, empty_level, joined, postings

RANGE_POSTINGS = 100_000  # of the terms counted in one call


def count_combinations(profiles: Profiles, n_frequent: int, k: int, m: int, progress: Progress) -> Tree:
    """Count the combinations of two to m of the terms below n_frequent that at least k people hold."""
    if m == 1:
        return joined([])
    indptr, ids, owner = profiles.indptr, profiles.ids, profiles.owner
    start, history = postings(indptr, ids, n_frequent)
    cuts = np.unique(np.searchsorted(start, np.arange(0, start[-1], RANGE_POSTINGS)))
    ranges = list(pairwise([*cuts.tolist(), n_frequent])) if n_frequent else []

    def count(bounds: tuple[int, int]) -> tuple[Level, Level, Level]:
        levels = empty_level(), empty_level(), empty_level()
        return count_frequent(*bounds, n_frequent, k, m, indptr, ids, owner, start, history, *levels)

    parts = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for part in pool.map(count, ranges):
                parts.append(part)
                progress("counting combinations", len(parts), len(ranges))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return joined(parts)
