"""Algorithm 1 of Burghardt et al. 2010: terms are deleted from histories in the reference order until nothing changes.

Frequent combinations are counted before, ranges of terms in parallel: kernels release Python's lock.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from queryveil.core.names import ResolvedName, declarations
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, IntArray, indptr_of
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.counting import Counted, count_larger, count_pairs, transpose
from queryveil.kernels.km.deletion import count_degrees, delete_in_histories
from queryveil.kernels.km.pairs import PAIRS, Drops, delete_pairs, find_pairs
from queryveil.kernels.km.supports import Postings, Tree, are_distinct, term_postings
from queryveil.kernels.km.triples import Holders, delete_triples, find_holders
from queryveil.kernels.km.updates import FIS, RANDOM, UTILITY, Log, Rule, make_scratch
from queryveil.methods.targets import TermValues, rank_by_bare_value

BUDGET = 20_000_000  # steps of kernel work between two progress reports: well under a second
RANGE_POSTINGS = 200_000  # of the terms counted in one call
Part = TypeVar("Part")


def count_combinations(
    profiles: Profiles, n_frequent: int, k: int, m: int, progress: Progress, terms: Postings | None = None
) -> Tree:
    """Count the combinations of two to m of the terms below n_frequent that at least k people hold.

    `terms` are the postings of these terms, if the caller has them.
    """
    terms = terms or term_postings(profiles.indptr, profiles.ids, n_frequent)
    rows = profiles.indptr, profiles.ids, profiles.owner, are_distinct(profiles.owner), *terms
    start = terms[0] if m > 1 else np.zeros(len(terms[0]), np.int64)
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


def size_to_count(m: int, *, is_fis: bool) -> int:
    """Return up to which size combinations are counted beforehand; other triples are found when they are needed."""
    return 2 if m == 3 and not is_fis else m


def _in_threads(count: Callable[[int, int], Part], ranges: Sequence[tuple[int, int]], progress: Progress) -> list[Part]:
    """Return what each range of terms gives."""
    if len(ranges) == 1:  # threads cost more than counting so little
        only = count(*ranges[0])
        progress("counting combinations", 1, 1)
        return [only]
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
    profiles: Profiles, support: IntArray, tree: Tree, rule: Rule, progress: Progress, terms: Postings | None = None
) -> tuple[BoolArray, int]:
    """Return the mask of kept pairs and the number of passes; updates the pair supports of `tree` in place.

    As in section 5.2 the last pass counts, which goes over all histories and deletes nothing. `terms` are the postings
    of the terms that have a support, if the caller has them.
    """
    log = make_log(profiles, len(support))
    n_infrequent = int(np.count_nonzero(~log.kept))  # pairs of infrequent terms, which the first pass deletes
    counted = size_to_count(rule.m, is_fis=rule.target == FIS)
    scratch = make_scratch(int(np.diff(log.indptr).max(initial=0)), len(support), counted)
    has_pairs_only = rule.m == 2 and rule.target != FIS and are_distinct(log.owner)
    changing, support1 = tree, support.astype(np.int32)
    if has_pairs_only:
        terms = terms or term_postings(profiles.indptr, profiles.ids, len(support))
        short = find_pairs(log.indptr, log.ids, tree, terms, PAIRS)
        drops = Drops(log.drop_as_rarest, log.drop_as_other, np.ones(len(log.checked), np.bool_), *terms[:2])
        changing = tree._replace(support2=np.append(tree.support2, np.int32(0)))  # one more for infrequent pairs
    holders = holders_of(log, tree, len(support), terms) if counted < rule.m else None
    passes, now, n_deleted = 0, 0, n_infrequent
    while n_deleted or not passes:
        passes += 1
        history = 0
        n_deleted = 0 if passes > 1 else n_infrequent
        while history < len(log.checked):
            progress(f"deleting terms, pass {passes}", history, len(log.checked))
            arguments = log, changing, rule, support1, history, now, BUDGET, scratch
            if holders:
                done = delete_triples(*arguments, holders, passes == 1)
            else:
                done = delete_pairs(*arguments, short, drops) if has_pairs_only else delete_in_histories(*arguments)
            history, now, n_now = done
            n_deleted += n_now
    # No infrequent combination is left, but supports below k were not updated to the end; their true value is 0.
    tree.support2[:] = np.where(changing.support2 < rule.k, 0, changing.support2)[: len(tree.support2)]
    return log.kept, passes


def holders_of(log: Log, tree: Tree, n_terms: int, terms: Postings | None = None) -> Holders:
    """Return which histories keep both terms of each pair of the tree."""
    terms = terms or term_postings(log.indptr, log.ids, n_terms)
    return find_holders(log.indptr, log.ids, log.kept, log.owner, are_distinct(log.owner), tree, terms)


def make_log(profiles: Profiles, n_frequent: int) -> Log:
    """Return the log in the form of the kernels; infrequent terms are deleted from the start."""
    first = indptr_of(np.bincount(profiles.owner))
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
    utility: FloatArray = np.empty(0)
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
