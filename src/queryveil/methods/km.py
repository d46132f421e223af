"""(k,m)-anonymity by deleting terms from single histories.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement – Balancing
Privacy with Economic Interests, 2010. `algorithm=paper` is its Algorithm 1; `best` looks for a result that keeps more
of the target and is never worse.

Where we read it differently, and why: sizes go up from 1 (going down loses half the log); a combination survives
with support ≥ k (the text's "≤ k" in the update is a slip); support counts people, also where a history is a session;
ties go to the largest id (ties=random: to a random one, as published); a term is ranked by value · occurrences
(ranking=value: by its value alone, as in Example 8); after a deletion combinations of *every* size are tested again,
single terms included, until nothing changes.

`thin` deletes some terms without need, so that a term which could have stayed may have been there: whoever knows that a
method deletes nothing without need rules out the terms that could have stayed (Wong, Fu, Wang, Pei: Minimality Attack
in Privacy Preserving Data Publishing, 2007).
"""

from functools import partial

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, row_numbers
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.inference import Bound
from queryveil.kernels.km.supports import term_postings
from queryveil.kernels.km.thinning import delete_spared
from queryveil.methods.base import MethodTask, method_of
from queryveil.methods.best import best
from queryveil.methods.coherence import make_visit, terms_of
from queryveil.methods.deletion import count_combinations, delete, rule_for, size_to_count
from queryveil.methods.pieces import split_histories
from queryveil.methods.targets import TermValues, objective

_TRIED = 2_000  # candidates between two progress reports


def run(task: MethodTask) -> KeptPairs:
    """Return which (history, term) pairs stay so that the log is (k,m)-anonymous, and in which piece of a history."""
    split = task.method.word("split")
    return _delete(task) if split == "none" else split_histories(task, _delete, split)


def _delete(task: MethodTask) -> KeptPairs:
    """Return which pairs stay if every history stays in one piece.

    If the inputs have the `KeptPairs` of a run under a weaker guarantee, only these pairs are considered.
    """
    profiles, method, progress = task.profiles, task.method, task.progress
    k, m, target = method.integer("k"), method.integer("m"), method.word("target")
    if k > profiles.n_people:
        raise GuaranteeError(
            f"{method}: k = {k:,} is larger than the number of people in the log ({profiles.n_people:,}); lower k."
        )
    term_values, start = task.inputs.find(TermValues) or TermValues(), task.inputs.find(KeptPairs)
    source = profiles if start is None else profiles.select(start.mask)
    support = source.holder_counts()
    support = support[: int(np.flatnonzero(support >= k).max(initial=-1)) + 1]  # of the terms that can stay
    terms = term_postings(source.indptr, source.ids, len(support))
    size = size_to_count(m, is_fis=target == "fis")
    tree = count_combinations(source, len(support), k, size, progress, terms)
    rule = rule_for(profiles, method, term_values, tree, len(support), task.rng)
    # With target=random there is nothing to optimise, and for m = 1 Algorithm 1 is already optimal.
    if method.word("algorithm") == "paper" or target == "random" or m == 1:
        kept, passes = delete(source, support, tree, rule, progress, terms)
        summary: dict[str, object] = {"algorithm": "paper", "passes": passes}
    else:
        goal = objective(target, source, term_values, "" if start is None else " of the earlier release")
        kept, summary = best(source, support, tree, rule, goal, task.rng, progress, terms)
    if "thin" in method.values:
        n_kept = int(np.count_nonzero(kept))
        kept = thin_out(source, kept, method.real("thin"), k, m, task.rng, progress)
        summary["pairs deleted without need"] = n_kept - int(np.count_nonzero(kept))
    found: dict[str, int | float] = {}
    refinement = method_of(method).refinement(method)
    if refinement is not None:
        kept, found, more = refinement.load("local")(task, source, kept, partial(_enforce, task, source))
        summary |= more
    mask = kept
    if start is not None:
        mask = np.zeros(len(profiles.ids), np.bool_)
        mask[start.mask] = kept
    return KeptPairs(mask, summary={**summary, "pairs deleted": int(np.count_nonzero(~mask))}, found=found)


def _enforce(task: MethodTask, source: Profiles, left: Profiles) -> BoolArray:
    """Return which pairs stay, by Algorithm 1, of what a refinement left of the source."""
    method, progress = task.method, task.progress
    support = left.holder_counts()
    support = support[: int(np.flatnonzero(support >= method.integer("k")).max(initial=-1)) + 1]
    held = term_postings(left.indptr, left.ids, len(support))
    size = size_to_count(method.integer("m"), is_fis=method.word("target") == "fis")
    tree = count_combinations(left, len(support), method.integer("k"), size, progress, held)
    rule = rule_for(source, method, task.inputs.find(TermValues) or TermValues(), tree, len(support), task.rng)
    return delete(left, support, tree, rule, progress, held)[0]


def thin_out(
    profiles: Profiles, mask: BoolArray, share: float, k: int, m: int, rng: np.random.Generator, progress: Progress
) -> BoolArray:
    """Return a mask of a (k,m)-anonymous log without at most a share of the kept pairs.

    Only terms go that are shared by more people than they must be, in every combination: nothing else has to go for
    them. Those histories come first that lost fewest of the terms that are published, since a random deletion says most
    there: of everybody who lost one term it may be this one. Of each history at most one term goes, never the last.
    """
    kept = profiles.select(mask)
    n_terms, limit = len(profiles.vocabulary), int(share * len(kept.ids))
    log = terms_of(kept, np.zeros(n_terms, np.bool_), np.ones(len(kept.ids), np.bool_))
    bound = Bound(k + 1, m, 1, 1)
    is_published = np.bincount(kept.ids, minlength=n_terms) > 0
    lost = ~mask & is_published[profiles.ids]
    n_lost = np.bincount(row_numbers(profiles.indptr)[lost], minlength=profiles.n_histories)
    order = np.lexsort((rng.random(len(kept.ids)), n_lost[row_numbers(kept.indptr)]))
    visit, is_thinned, n_deleted = make_visit(log, bound), np.zeros(profiles.n_histories, np.bool_), 0
    for first in range(0, len(order), _TRIED):
        progress("thinning", first, len(order))
        if n_deleted == limit:
            break
        end = min(first + _TRIED, len(order))
        n_deleted += delete_spared(log, bound, visit, order, is_thinned, first, end, limit - n_deleted)
    result = np.zeros(len(mask), np.bool_)
    result[mask] = log.kept
    return result
