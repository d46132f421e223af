"""(k,m)-anonymity by deleting terms from single histories.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement – Balancing
Privacy with Economic Interests, 2010. `algorithm=paper` is its Algorithm 1.

Where we read it differently, and why: sizes go up from 1 (going down loses half the log); a combination survives
with support ≥ k (the text's "≤ k" in the update is a slip); support counts people, also where a history is a session;
ties go to the largest id instead of a random one, so that a run can be repeated; after a deletion combinations of
*every* size are tested again, single terms included, to the fixpoint.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import GuaranteeError
from queryveil.kernels.deletion import FIS, RANDOM, UTILITY, Log, Rule, degrees, make_scratch, sweep
from queryveil.kernels.histories import count_people
from queryveil.kernels.supports import Level, Tree, count_frequent, empty_level, joined, postings
from queryveil.methods.utilities import Worth
from queryveil.spec import Bound, declarations
from queryveil.types import Kept, Profiles, Progress, silent

# Steps of kernel work between two progress reports: well under a second.
_BUDGET = 20_000_000
_RANGE_POSTINGS = 100_000  # of the terms counted in one call


def run(
    profiles: Profiles,
    bound: Bound,
    *,
    rng: np.random.Generator,
    worth: Worth = Worth(),
    start: NDArray[np.bool_] | None = None,
    progress: Progress = silent,
) -> Kept:
    """Return which (history, term) pairs stay so that the log is (k,m)-anonymous.

    `start` is what a run with a weaker guarantee kept; only that is looked at.
    """
    k, m = bound.integer("k"), bound.integer("m")
    if k > profiles.n_people:
        raise GuaranteeError(
            f"{bound}: k = {k:,} is larger than the number of people in the log ({profiles.n_people:,}); lower k."
        )
    rows = profiles if start is None else _only(profiles, start)
    people = count_people(rows.indptr, rows.ids, rows.owner, len(rows.vocabulary))
    n_frequent = int(np.flatnonzero(people >= k).max(initial=-1)) + 1
    tree, log = _prepare(rows, n_frequent, k, m, progress)
    rule = _rule(profiles, bound, worth, tree, n_frequent, rng)
    mask, passes = _to_fixpoint(log, tree, rule, people[:n_frequent].astype(np.int32), progress)
    if start is not None:
        started, mask = mask, np.zeros(len(profiles.ids), np.bool_)
        mask[start] = started
    return Kept(mask, {"algorithm": "paper", "passes": passes, "deleted": int(np.count_nonzero(~mask))})


def _only(profiles: Profiles, mask: NDArray[np.bool_]) -> Profiles:
    """Return the profiles with only some of their pairs."""
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)))
    return replace(profiles, indptr=before[profiles.indptr], ids=profiles.ids[mask], counts=profiles.counts[mask])


def _prepare(profiles: Profiles, n_frequent: int, k: int, m: int, progress: Progress) -> tuple[Tree, Log]:
    """Count all frequent combinations and lay out the log; infrequent terms are deleted from the start."""
    indptr, ids, owner = profiles.indptr, profiles.ids, profiles.owner
    tree = _count(indptr, ids, owner, n_frequent, k, m, progress)
    first = np.searchsorted(owner, np.arange(owner[-1] + 2)).astype(np.int64)
    checked = np.full(profiles.n_histories, -1, np.int64)
    fell, fell_with = np.zeros(n_frequent, np.int64), np.zeros(n_frequent, np.int64)
    return tree, Log(indptr, ids, owner, first, ids < n_frequent, checked, fell, fell_with)


def _count(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    n_frequent: int,
    k: int,
    m: int,
    progress: Progress,
) -> Tree:
    """Count the frequent combinations of two to m terms, ranges of terms side by side: kernels leave Python's lock."""
    if m == 1:
        return joined([])
    start, history = postings(indptr, ids, n_frequent)
    cuts = np.unique(np.searchsorted(start, np.arange(0, start[-1], _RANGE_POSTINGS)))
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


def _rule(
    profiles: Profiles, bound: Bound, worth: Worth, tree: Tree, n_frequent: int, rng: np.random.Generator
) -> Rule:
    """Return how the term to delete is chosen under the target."""
    m, target = bound.integer("m"), bound.word("target")
    utility: NDArray[np.float64] = np.empty(0)
    degree = np.zeros((5, 0), np.int64)
    if target == "fis":
        degree = degrees(tree, m, n_frequent)
    elif target != "random":
        utility = declarations("target")[target].load()(profiles, worth)
    kind = {"random": RANDOM, "fis": FIS}.get(target, UTILITY)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    return Rule(bound.integer("k"), m, kind, utility, degree, state)


def _to_fixpoint(
    log: Log, tree: Tree, rule: Rule, support1: NDArray[np.int32], progress: Progress
) -> tuple[NDArray[np.bool_], int]:
    """Pass over the histories until nothing is deleted; return what stays and the passes that deleted something."""
    mask = np.zeros(len(log.ids), np.bool_)
    place = np.arange(len(log.ids))  # where each pair that is still looked at stands in the mask
    scratch = make_scratch(int(np.diff(log.indptr).max(initial=0)), len(support1))
    passes, now, deleted = -1, 0, len(log.ids)
    while deleted:
        if deleted > len(log.ids) // 8:  # later passes need not step over what is gone
            place, log = place[log.alive], _without_deleted(log)
        passes += 1
        history = deleted = 0
        while history < len(log.checked):
            progress(f"deleting terms, pass {passes + 1}", history, len(log.checked))
            history, now, gone = sweep(log, tree, rule, support1, history, now, _BUDGET, scratch)
            deleted += gone
    mask[place[log.alive]] = True
    return mask, passes


def _without_deleted(log: Log) -> Log:
    """Return the log with only the pairs that are alive."""
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(log.alive, dtype=np.int64)))
    ids = log.ids[log.alive]
    return log._replace(indptr=before[log.indptr], ids=ids, alive=np.ones(len(ids), np.bool_))
