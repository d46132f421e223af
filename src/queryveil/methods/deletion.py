"""Algorithm 1 of Burghardt et al. 2010: terms are deleted from histories in the reference order until nothing changes.

Frequent combinations are counted before, ranges of terms in parallel: kernels release Python's lock.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName, declarations
from queryveil.core.progress import Progress
from queryveil.core.rows import indptr_of, select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.counting import Counted, count_larger, count_pairs, transpose
from queryveil.kernels.km.deletion import count_degrees, delete_in_histories
from queryveil.kernels.km.pairs import delete_pairs
from queryveil.kernels.km.supports import Tree, are_distinct, term_postings
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, make_scratch
from queryveil.methods.targets import TermValues, rank_by_bare_value

BUDGET = 20_000_000  # steps of kernel work between two progress reports: well under a second
RANGE_POSTINGS = 100_000  # of the terms counted in one call
Part = TypeVar("Part")


def count_combinations(profiles: Profiles, n_frequent: int, k: int, m: int, progress: Progress) -> Tree:
    """Count the combinations of two to m of the terms below n_frequent that at least k people hold."""
    postings = term_postings(profiles.indptr, profiles.ids, n_frequent if m > 1 else 0)
    rows = profiles.indptr, profiles.ids, profiles.owner, are_distinct(profiles.owner), *postings
    start = postings[0]
    cuts = np.unique(np.searchsorted(start, np.arange(0, start[-1], RANGE_POSTINGS)))
    ranges = list(pairwise([*cuts.tolist(), len(start) - 1])) if start[-1] else []
    pairs = transpose(*_join(_in_threads(lambda first, end: count_pairs(first, end, k, *rows), ranges, progress)))
    larger: list[tuple[Counted, Counted]] = []
    if m > 2:
        larger = _in_threads(lambda first, end: count_larger(first, end, k, m, *rows, *pairs[:2]), ranges, progress)
    triples, quadruples = ([part[size] for part in larger] for size in range(2))
    larger.clear()
    (n_triples, *three), (n_quadruples, *four) = _join(triples), _join(quadruples)
    return Tree(*pairs, indptr_of(n_triples), three[0], three[1], indptr_of(n_quadruples), four[0], four[1])


def _in_threads(count: Callable[[int, int], Part], ranges: Sequence[tuple[int, int]], progress: Progress) -> list[Part]:
    """Return what each range of terms gives."""
    parts = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for part in pool.map(lambda bounds: count(*bounds), ranges):
                parts.append(part)
                progress("counting combinations", len(parts), len(ranges))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return parts


def _join(parts: list[Counted]) -> Counted:
    """Return what was counted for consecutive ranges of terms as one; the parts are given up, as they may be large."""
    fields = [[np.empty(0, np.int32), *(part[i] for part in parts)] for i in range(3)]
    parts.clear()
    joined = []
    for arrays in fields:
        joined.append(np.concatenate(arrays))
        arrays.clear()
    return joined[0], joined[1], joined[2]


def delete(
    profiles: Profiles, support: NDArray[np.int64], tree: Tree, rule: Rule, progress: Progress
) -> tuple[NDArray[np.bool_], int]:
    """Return the mask of kept pairs and the number of passes; updates the pair supports of `tree` in place.

    As in section 5.2 the last pass counts, which goes over all histories and deletes nothing.
    """
    log = make_log(profiles, len(support))
    n_infrequent = int(np.count_nonzero(~log.kept))  # pairs of infrequent terms, which the first pass deletes
    support1 = support.astype(np.int32)
    mask = np.zeros(len(log.ids), np.bool_)
    position = np.arange(len(log.ids))  # the position in the mask of each pair that is still in the log
    scratch = make_scratch(int(np.diff(log.indptr).max(initial=0)), len(support1), rule.m)
    has_pairs_only = rule.m == 2 and rule.target != FIS and are_distinct(log.owner)
    step = delete_pairs if has_pairs_only else delete_in_histories
    passes, now, n_deleted = 0, 0, n_infrequent
    while n_deleted or not passes:
        if n_deleted > len(log.ids) // 8:  # later passes need not skip deleted pairs
            indptr, left = select_entries(log.indptr, log.kept), np.flatnonzero(log.kept)
            position, ids = position[left], log.ids[left]
            log = log._replace(indptr=indptr, ids=ids, kept=np.ones(len(ids), np.bool_))
        passes += 1
        history = 0
        n_deleted = 0 if passes > 1 else n_infrequent
        while history < len(log.checked):
            progress(f"deleting terms, pass {passes}", history, len(log.checked))
            history, now, n_now = step(log, tree, rule, support1, history, now, BUDGET, scratch)
            n_deleted += n_now
    mask[position[log.kept]] = True
    # No infrequent combination is left, but supports below k were not updated to the end; their true value is 0.
    tree.support2[tree.support2 < rule.k] = 0
    return mask, passes


def make_log(profiles: Profiles, n_frequent: int) -> Log:
    """Return the log in the form of the kernels; infrequent terms are deleted from the start."""
    first = np.searchsorted(profiles.owner, np.arange(profiles.owner[-1] + 2)).astype(np.int64)
    checked = np.full(profiles.n_histories, -1, np.int64)
    drop_as_rarest, drop_as_other = np.zeros(n_frequent, np.int64), np.zeros(n_frequent, np.int64)
    kept = profiles.ids < n_frequent
    return Log(profiles.indptr, profiles.ids, profiles.owner, first, kept, checked, drop_as_rarest, drop_as_other)


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
    if method.values.get("ranking") == "value":
        utility = rank_by_bare_value(target, profiles, term_values)
    elif target == "fis":
        degree = count_degrees(tree, m, n_frequent)
    elif target != "random":
        utility = declarations("target")[target].load()(profiles, term_values)
    kind = {"random": RANDOM, "fis": FIS}.get(target, UTILITY)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    return Rule(method.integer("k"), m, kind, utility, degree, state, method.values.get("ties") == "random")
