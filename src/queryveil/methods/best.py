"""`algorithm=best`: the same guarantee as Algorithm 1, and never less of the target.

An anonymous log is grown from nothing: terms are inserted one by one (`kernels.km.growth`), the most useful first. A
history may trade terms for one of greater weight. Weight = gain · √potential; the potential is the total gain of the
terms of that history that are compatible with the term. Then terms are reselected (`kernels.km.improvement`) and grown
again, by gain alone, while that helps. All this is for combinations of two and never breaks the guarantee on the way.
For m above 2, Algorithm 1 deletes the larger infrequent combinations of the grown log, and terms are reinserted.
Algorithm 1 also runs alone, on a core of its own, and the better result is taken.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Event

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import FloatArray, IntArray, ranges, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.kernels.km.growth import GrowingLog, add_potentials, grow, term_postings
from queryveil.kernels.km.improvement import make_selection_scratch, reinsert_terms, reselect
from queryveil.kernels.km.supports import Tree, are_distinct
from queryveil.kernels.km.updates import UTILITY, Rule, make_scratch
from queryveil.methods.deletion import BUDGET, count_combinations, delete, make_log
from queryveil.methods.targets import Objective

Mask = NDArray[np.bool_]
_BUDGET = 2_000_000  # steps of kernel work between two progress reports: well under a second
_WORKERS = min(4, os.cpu_count() or 1)
_RUNS = 16  # of histories, whose potentials are found side by side
_ROUNDS = 6
_LARGE, _SAMPLED = 100_000, 16  # histories of a large log, of which every 16th is improved first
_MIN_GAIN = 0.005  # minimum gain, as a share, for which another round is made
_MAX_TRIES = 64
_TRIED_WORK = 12_000_000  # pairs of history and term, and _PER_HISTORY for each history, in all tries after the first …
_PER_HISTORY = 100  # … which gain most where few people have long histories
_REMOVED = 0.2, 0.6  # the smallest and the largest share of the terms that such a try removes and inserts again
_SPREAD = 0.4  # of the random factors of its order and weights


def best(
    rows: Profiles,
    people: IntArray,
    tree: Tree,
    rule: Rule,
    objective: Objective,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Mask, dict[str, object]]:
    """Return the mask of kept pairs, and a summary of what was tried and how much of the target each result kept."""
    stop = Event()

    def end_when_stopped(stage: str, done: int, total: int) -> None:
        if stop.is_set():
            raise InterruptedError(stage)

    own = tree._replace(**{name: getattr(tree, name).copy() for name in ("support2", "support3", "support4")})
    with ThreadPoolExecutor(1) as pool:
        paper = pool.submit(delete, rows, people, own, rule, end_when_stopped)
        try:
            problem = growth_problem(rows, rule.k, tree, len(people), objective.gain)
            grown, n_tries = _grow_best(problem, objective, people, rng, progress)
            if rule.m > 2:
                grown = _enforce_larger_combinations(rows, grown, rule, objective.gain, progress)
            published = paper.result()[0]
        except BaseException:
            stop.set()
            raise
    found = {"paper": published, "growth": grown}
    if rule.m == 2 and objective.kept_share(published) >= objective.kept_share(grown):
        log = problem.log_keeping(published[problem.place])
        improve(problem, log, own, problem.by_gain, progress)
        found["paper, improved"] = problem.mask(log)
    kept = {name: objective.kept_share(mask) for name, mask in found.items()}
    chosen = max(kept, key=lambda name: kept[name])
    tried = {name: round(share, 2) for name, (share, _) in kept.items()}
    return found[chosen], {
        "algorithm": "best",
        "chosen": chosen,
        f"{objective.target} kept, in %": tried,
        "tries to grow it": n_tries,
    }


@dataclass(frozen=True, eq=False)
class GrowthProblem:
    """A log and its frequent combinations of two terms. The (history, term) pairs are ordered by term."""

    profiles: Profiles
    k: int
    tree: Tree  # its supports are those of the whole log
    n_terms: int  # terms with an id below this are considered
    start: IntArray  # (n_terms + 1,): where the pairs of each term begin
    term: NDArray[np.int32]  # (pairs,)
    history: NDArray[np.int32]  # (pairs,)
    place: IntArray  # (pairs,): the position of each in the log
    pair_of: IntArray  # (pairs of the log,): the inverse; -1 for terms that are not considered
    gain: FloatArray  # (pairs,)
    by_length: IntArray  # histories, the longest first
    by_gain: IntArray  # terms, the one with the highest total gain first
    potential: FloatArray  # (pairs,): the gain of all terms of the history compatible with its term

    def mask(self, log: GrowingLog) -> Mask:
        """Return which pairs of the log are kept."""
        mask = np.zeros(len(self.pair_of), np.bool_)
        mask[self.place[log.kept]] = True
        return mask

    def without(self, log: GrowingLog, tree: Tree, is_removed: Mask) -> tuple[GrowingLog, Tree]:
        """Return a log and its supports without some terms, which makes nothing else infrequent."""
        support2 = tree.support2 * ~(is_removed[row_numbers(tree.start2)] | is_removed[tree.term2])
        return self.log_keeping(log.kept & ~is_removed[self.term]), tree._replace(support2=support2)

    def log_keeping(self, kept: Mask) -> GrowingLog:
        """Return the growing log that keeps exactly these pairs."""
        indptr, owner = self.profiles.indptr, self.profiles.owner
        kept_terms, pair_at = np.empty(len(self.pair_of), np.int32), np.empty(len(self.pair_of), np.int64)
        pair = np.flatnonzero(kept)
        person = owner[self.history[pair]]
        is_first = (np.diff(self.term[pair], prepend=-1) != 0) | (np.diff(person, prepend=-1) != 0)
        support1 = np.bincount(self.term[pair[is_first]], minlength=self.n_terms).astype(np.int32)
        pair = pair[np.argsort(self.history[pair], kind="stable")]
        history = self.history[pair]
        size = np.bincount(history, minlength=self.profiles.n_histories).astype(np.int64)
        place = ranges(indptr[:-1], size)
        kept_terms[place], pair_at[place] = self.term[pair], pair
        return GrowingLog(
            indptr=indptr,
            owner=owner,
            has_one_each=are_distinct(owner),
            first=np.searchsorted(owner, np.arange(owner[-1] + 2)).astype(np.int64),
            kept=kept,
            kept_terms=kept_terms,
            pair_at=pair_at,
            size=size,
            support1=support1,
            pair_people=np.zeros(self.n_terms, np.int32),
            last_person=np.full(self.n_terms, -1, np.int32),
            touched=np.empty(self.n_terms, np.int32),
            n_touched=np.zeros(1, np.int64),
            accepts=np.zeros(int(np.diff(self.start).max(initial=0)), np.bool_),
        )


def growth_problem(profiles: Profiles, k: int, tree: Tree, n_terms: int, gain: FloatArray) -> GrowthProblem:
    """Return the problem of growing an anonymous log; the gain is that of each pair of the log."""
    start, history, place = term_postings(profiles.indptr, profiles.ids, n_terms)
    pair_of = np.full(len(profiles.ids), -1, np.int64)
    pair_of[place] = np.arange(len(place))
    term = row_numbers(start, np.int32)
    by_length = np.argsort(-np.diff(profiles.indptr), kind="stable")
    by_gain = np.argsort(-np.bincount(term, weights=gain[place], minlength=n_terms), kind="stable")
    potential = np.zeros(len(profiles.ids))
    cuts = np.linspace(0, profiles.n_histories, _RUNS + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(_WORKERS) as threads:
        rows = (profiles.indptr, profiles.ids, tree, gain, n_terms)
        work = [threads.submit(add_potentials, *rows, *run, potential) for run in pairwise(cuts)]
        for run in work:
            run.result()
    arrays = (start, term, history, place, pair_of, gain[place], by_length, by_gain, potential[place])
    return GrowthProblem(profiles, k, tree, n_terms, *arrays)


def grow_terms(
    problem: GrowthProblem, log: GrowingLog, tree: Tree, weight: FloatArray, order: IntArray, progress: Progress
) -> None:
    """Grow the log by the terms in their order."""
    turn = 0
    while turn < len(order):
        progress("growing", turn, len(order))
        turn = grow(log, tree, problem.k, weight, order, turn, _BUDGET, problem.start, problem.history)


def improve(problem: GrowthProblem, log: GrowingLog, tree: Tree, order: IntArray, progress: Progress) -> None:
    """Reselect the kept terms of each history and grow the log by the dropped terms, while that gains enough.

    In a large log, a sample of the histories comes first: if that gains too little, the others are left as they are.
    """
    step = 1 if len(problem.by_length) < _LARGE else _SAMPLED
    is_first = np.arange(len(problem.by_length)) % step == 0
    fixed = problem.profiles.ids, problem.pair_of, problem.k, problem.gain
    scratch = make_selection_scratch(int(np.diff(problem.profiles.indptr).max(initial=0)), problem.n_terms)
    for number in range(1, _ROUNDS + 1):
        before = float(problem.gain[log.kept].sum())
        is_dropped = np.zeros(problem.n_terms, np.bool_)
        for histories, share in ((problem.by_length[is_first], 1 / step), (problem.by_length[~is_first], 1)):
            turn = 0
            while turn < len(histories):
                progress(f"reselecting terms, round {number}", turn, len(histories))
                turn = reselect(log, tree, *fixed, histories, turn, _BUDGET, is_dropped, scratch)
            if float(problem.gain[log.kept].sum()) - before <= share * _MIN_GAIN * before:
                return
        grow_terms(problem, log, tree, problem.gain, order[is_dropped[order]], progress)


def _grow_best(
    problem: GrowthProblem, objective: Objective, people: IntArray, rng: np.random.Generator, progress: Progress
) -> tuple[Mask, int]:
    """Return the best of several grown logs, and their number; people and distinct terms are helped by rare terms.

    In small logs, terms are removed from the best log so far and inserted again in another order.
    """
    by_potential = problem.gain * np.sqrt(problem.potential)
    rarest_first = np.arange(problem.n_terms)[::-1].copy()
    starts = [(problem.by_gain, by_potential)]  # orders of terms and weights of pairs to grow by
    if objective.target == "users":
        starts.append((rarest_first, by_potential))
    elif objective.target == "distinct":
        starts = [(rarest_first, 1.0 / people[problem.term]), (rarest_first, by_potential)]
    work = len(problem.gain) + _PER_HISTORY * problem.profiles.n_histories
    n_tries = len(starts) + min(_MAX_TRIES, _TRIED_WORK // work)
    nothing = np.zeros(len(problem.place), np.bool_)
    most, best_log, best_tree = (-np.inf, 0.0), problem.log_keeping(nothing), problem.tree
    for number in range(n_tries):
        if number < len(starts):
            (order, weight), is_removed = starts[number], np.ones(problem.n_terms, np.bool_)
        else:
            order, weight = starts[0]
            is_removed = rng.random(problem.n_terms) < rng.uniform(*_REMOVED)
            place = np.arange(1, len(order) + 1) * np.exp(_SPREAD * rng.standard_normal(len(order)))
            order = order[np.argsort(place, kind="stable")]
            weight = weight * np.exp(_SPREAD * rng.standard_normal(len(weight)))
        log, tree = problem.without(best_log, best_tree, is_removed)
        grow_terms(problem, log, tree, weight, order[is_removed[order]], progress)
        improve(problem, log, tree, order, progress)
        kept = objective.kept_share(problem.mask(log))
        if kept > most:
            most, best_log, best_tree = kept, log, tree
    return problem.mask(best_log), n_tries


def _enforce_larger_combinations(rows: Profiles, grown: Mask, rule: Rule, gain: FloatArray, progress: Progress) -> Mask:
    """Delete terms until no combination of three to m is infrequent, reinsert what fits, and return the kept pairs."""
    if rule.target != UTILITY:  # Algorithm 1, which runs meanwhile, changes the degrees of the rule
        utility = np.bincount(rows.ids, weights=gain).astype(np.float64)
        rule = rule._replace(target=UTILITY, utility=utility, degree=np.zeros((5, 0), np.int64))
    start = rows.select(grown)
    people = start.holder_counts()
    people = people[: int(np.flatnonzero(people).max(initial=-1)) + 1]
    tree = count_combinations(start, len(people), rule.k, rule.m, progress)
    kept, _ = delete(start, people, tree, rule, progress)
    log = make_log(start, len(people))
    log.kept[:] = kept
    kept_log = start.select(kept)
    support1 = count_people(kept_log.indptr, kept_log.ids, kept_log.owner, len(people)).astype(np.int32)
    scratch = make_scratch(int(np.diff(start.indptr).max(initial=0)), len(people), rule.m)
    history = 0
    while history < start.n_histories:
        progress("reinserting terms", history, start.n_histories)
        history = reinsert_terms(log, tree, rule, support1, gain[grown], history, BUDGET, scratch)
    mask = np.zeros(len(rows.ids), np.bool_)
    mask[grown] = log.kept
    return mask
