"""Algorithm 1 of Burghardt et al. 2010: terms are deleted from histories, in the reference order, to the fixpoint."""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName, declarations
from queryveil.core.progress import Progress
from queryveil.core.rows import select_entries
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.deletion import degrees, sweep
from queryveil.kernels.km.supports import Tree, is_one_each
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, make_scratch
from queryveil.methods.targets import TermValues

# Steps of kernel work between two progress reports: well under a second.
BUDGET = 20_000_000


def delete(
    profiles: Profiles,
    people: NDArray[np.int64],
    tree: Tree,
    rule: Rule,
    progress: Progress,
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
            place, log = place[log.alive], _without_deleted(log)
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


def _without_deleted(log: Log) -> Log:
    """Return the log with only the pairs that are alive."""
    ids = log.ids[log.alive]
    return log._replace(indptr=select_entries(log.indptr, log.alive), ids=ids, alive=np.ones(len(ids), np.bool_))
