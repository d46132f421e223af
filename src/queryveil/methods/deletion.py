"""Algorithm 1 of Burghardt et al. 2010: terms are deleted from histories, in the reference order, to the fixpoint.

Frequent combinations are counted before, ranges of terms side by side: kernels leave Python's lock.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName, declarations
from queryveil.core.progress import Progress
from queryveil.core.rows import select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.deletion import degrees, sweep
from queryveil.kernels.km.supports import Level, Tree, count_frequent, empty_level, is_one_each, joined, postings
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, make_scratch
from queryveil.methods.targets import TermValues

BUDGET = 20_000_000  # steps of kernel work between two progress reports: well under a second
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


def delete(
    profiles: Profiles, people: NDArray[np.int64], tree: Tree, rule: Rule, progress: Progress
) -> tuple[NDArray[np.bool_], int]:
    """Return which pairs stay, and in how many passes terms were deleted; the tree's pair supports become theirs."""
    log = lay_out(profiles, len(people))
    support1 = people.astype(np.int32)
    mask = np.zeros(len(log.ids), np.bool_)
    place = np.arange(len(log.ids))  # where each pair that is still looked at stands in the mask
    scratch = make_scratch(int(np.diff(log.indptr).max(initial=0)), len(support1), rule.m)
    is_plain = rule.m == 2 and rule.target != FIS and is_one_each(log.owner)
    general = None if is_plain else 1
    passes, now, deleted = -1, 0, len(log.ids)
    while deleted:
        if deleted > len(log.ids) // 8:  # later passes need not step over what is gone
            place, ids = place[log.alive], log.ids[log.alive]
            indptr = select_entries(log.indptr, log.alive)
            log = log._replace(indptr=indptr, ids=ids, alive=np.ones(len(ids), np.bool_))
        passes += 1
        history = deleted = 0
        while history < len(log.checked):
            progress(f"deleting terms, pass {passes + 1}", history, len(log.checked))
            history, now, gone = sweep(log, tree, rule, support1, history, now, BUDGET, scratch, general)
            deleted += gone
    mask[place[log.alive]] = True
    # In an anonymous log nobody holds what fewer than k do; what is infrequent is not always counted to its end.
    tree.support2[tree.support2 < rule.k] = 0
    return mask, passes


def lay_out(profiles: Profiles, n_frequent: int) -> Log:
    """Lay out the log for the kernels; infrequent terms are deleted from the start."""
    first = np.searchsorted(profiles.owner, np.arange(profiles.owner[-1] + 2)).astype(np.int64)
    checked = np.full(profiles.n_histories, -1, np.int64)
    fell, fell_with = np.zeros(n_frequent, np.int64), np.zeros(n_frequent, np.int64)
    alive = profiles.ids < n_frequent
    return Log(profiles.indptr, profiles.ids, profiles.owner, first, alive, checked, fell, fell_with)


def rule_for(
    profiles: Profiles,
    method: ResolvedName,
    term_values: TermValues,
    tree: Tree,
    n_frequent: int,
    rng: np.random.Generator,
) -> Rule:
    """Return how the term to delete is chosen under the target."""
    m, target = method.integer("m"), method.word("target")
    utility: NDArray[np.float64] = np.empty(0)
    degree = np.zeros((5, 0), np.int64)
    if target == "fis":
        degree = degrees(tree, m, n_frequent)
    elif target != "random":
        utility = declarations("target")[target].load()(profiles, term_values)
    kind = {"random": RANDOM, "fis": FIS}.get(target, UTILITY)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    return Rule(method.integer("k"), m, kind, utility, degree, state)
