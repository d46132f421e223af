"""`algorithm=best`: the same guarantee as Algorithm 1, and never less of the target.

An anonymous log is grown from nothing: terms are inserted one by one (`kernels.km.growth`), the most useful first. A
history may trade terms for one of greater weight. Weight = gain · √potential; the potential is the total gain of the
terms of that history that are compatible with the term. Then terms are reselected (`kernels.km.improvement`) and grown
again, by gain alone, while that helps. All this is for combinations of two and never breaks the guarantee on the way.
For m above 2, Algorithm 1 deletes the larger infrequent combinations of the grown log, and terms are reinserted.
Algorithm 1 also runs alone, on a core of its own, and the better result is taken. So that no other target keeps more of
what this one is about, the log is also grown in the order of others where that may help (docs/decisions/0040).
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import FloatArray, IntArray, ranges, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.kernels.km.deletion import count_degrees
from queryveil.kernels.km.growth import GrowingLog, add_potentials, grow
from queryveil.kernels.km.improvement import make_selection_scratch, reinsert_terms, reselect
from queryveil.kernels.km.supports import Postings, Tree, are_distinct, term_postings
from queryveil.kernels.km.updates import FIS, UTILITY, Rule, make_scratch
from queryveil.methods.deletion import BUDGET, count_combinations, delete, holders_of, make_log, size_to_count
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
_PER_HISTORY = 100  # … which gain most where few people have long histories …
_PER_PAIR = 18  # … or so much for each pair, if histories are so short that this is less
_REMOVED = 0.2, 0.6  # the smallest and the largest share of the terms that such a try removes and inserts again
_SPREAD = 0.4  # of the random factors of its order and weights
_SMALL = 16  # tries after the first: a log that allows so many is also grown in the order of other targets
_PROMISING = 0.9  # share of the best result so far that makes another order worth more work
_FEW_TRIPLES = 1_000_000  # up to so many frequent ones, Algorithm 1 is also tried by other rules
_HOPELESS = 0.6  # share of a promising result below which another order is not improved: it would have to gain 67 %
_OTHER = "growth in another order"


def best(
    rows: Profiles,
    people: IntArray,
    tree: Tree,
    rule: Rule,
    objective: Objective,
    rng: np.random.Generator,
    progress: Progress,
    terms: Postings,
) -> tuple[Mask, dict[str, object]]:
    """Return the mask of kept pairs, and a summary of what was tried and how much of the target each result kept.

    `terms` are the postings of the terms of the tree.
    """
    stop = Event()

    def end_when_stopped(stage: str, done: int, total: int) -> None:
        if stop.is_set():
            raise InterruptedError(stage)

    own = tree._replace(support2=tree.support2.copy())  # growing uses no larger combinations
    with ThreadPoolExecutor(1) as pool:
        paper = pool.submit(delete, rows, people, own, rule, end_when_stopped, terms)
        try:
            problem = growth_problem(rows, rule.k, rule.m, tree, terms, objective.gain)
            found, n_tries = _find_candidates(problem, objective, people, rule, rng, progress)
            published = paper.result()[0]
        except BaseException:
            stop.set()
            raise
    found = {"paper": published, **found}
    kept = {name: objective.kept_share(mask) for name, mask in found.items()}
    if rule.m == 2 and max(kept, key=lambda name: kept[name]) == "paper":
        found["paper, improved"] = _improved(problem, published, own, progress)
        kept["paper, improved"] = objective.kept_share(found["paper, improved"])
    chosen = max(kept, key=lambda name: kept[name])
    return found[chosen], {
        "algorithm": "best",
        "chosen": chosen,
        f"{objective.target} kept{objective.base}, in %": {name: round(share, 2) for name, (share, _) in kept.items()},
        "tries to grow it": n_tries,
    }


def _improved(problem: "GrowthProblem", published: Mask, tree: Tree, progress: Progress) -> Mask:
    """Return the mask of what Algorithm 1 keeps, improved; `tree` has the supports that it left."""
    log = problem.log_keeping(published[problem.position])
    improve(problem, log, tree, problem.by_gain, progress)
    return problem.mask(log)


@dataclass(frozen=True)
class GrowthProblem:
    """A log and its frequent combinations of two terms. The (history, term) pairs are ordered by term."""

    profiles: Profiles
    k: int
    m: int  # of the guarantee; the log is grown for combinations of two
    tree: Tree  # its supports are those of the whole log
    n_terms: int  # terms with an id below this are considered
    start: IntArray  # (n_terms + 1,): where the pairs of each term begin
    term: NDArray[np.int32]  # (pairs,)
    history: NDArray[np.int32]  # (pairs,)
    position: IntArray  # (pairs,): the position of each in the log
    pair_of: IntArray  # (pairs of the log,): the inverse; -1 for terms that are not considered
    gain: FloatArray  # (pairs,)
    by_length: IntArray  # histories, the longest first
    by_gain: IntArray  # terms, the one with the highest total gain first
    potential: FloatArray  # (pairs,): the gain of all terms of the history compatible with its term

    @property
    def n_varied(self) -> int:
        """Return how many varied tries the size of the log allows."""
        n_pairs = len(self.gain)
        per_try = n_pairs + min(_PER_HISTORY * self.profiles.n_histories, _PER_PAIR * n_pairs)
        return min(_MAX_TRIES, _TRIED_WORK // max(1, per_try))

    @property
    def is_small(self) -> bool:
        """Return whether the log is small enough to try what other targets would."""
        return self.n_varied >= _SMALL

    @property
    def n_rounds(self) -> int:
        """Return how often a grown log is improved at most; for larger combinations a large one gains little by it."""
        return _ROUNDS if self.m == 2 or self.is_small else 1

    @property
    def by_potential(self) -> FloatArray:
        """Return the weight of each pair: its gain, and more if it is compatible with others."""
        return self.gain * np.sqrt(self.potential)

    def mask(self, log: GrowingLog) -> Mask:
        """Return which pairs of the log are kept."""
        mask = np.zeros(len(self.pair_of), np.bool_)
        mask[self.position[log.kept]] = True
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
        position = ranges(indptr[:-1], size)
        kept_terms[position], pair_at[position] = self.term[pair], pair
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


def growth_problem(profiles: Profiles, k: int, m: int, tree: Tree, terms: Postings, gain: FloatArray) -> GrowthProblem:
    """Return the problem of growing an anonymous log; the gain is that of each pair of the log."""
    start, history, position = terms
    n_terms = len(start) - 1
    pair_of = np.full(len(profiles.ids), -1, np.int64)
    pair_of[position] = np.arange(len(position))
    term = row_numbers(start, np.int32)
    by_length = np.argsort(-np.diff(profiles.indptr), kind="stable")
    by_gain = np.argsort(-np.bincount(term, weights=gain[position], minlength=n_terms), kind="stable")
    potential = np.zeros(len(profiles.ids))
    cuts = np.linspace(0, profiles.n_histories, _RUNS + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(_WORKERS) as threads:
        rows = (profiles.indptr, profiles.ids, tree, gain, n_terms)
        work = [threads.submit(add_potentials, *rows, *run, potential) for run in pairwise(cuts)]
        for run in work:
            run.result()
    arrays = (start, term, history, position, pair_of, gain[position], by_length, by_gain, potential[position])
    return GrowthProblem(profiles, k, m, tree, n_terms, *arrays)


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
    for number in range(1, problem.n_rounds + 1):
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


def _find_candidates(
    problem: GrowthProblem,
    objective: Objective,
    people: IntArray,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[dict[str, Mask], int]:
    """Return anonymous logs by how they were found, and how many were grown."""
    grown, n_tries = _grow_in_all_orders(problem, objective, people, rng, progress)
    if rule.m > 2:
        return _enforce_all(problem, grown, rule, objective, progress), n_tries
    found = {name: masks[-1] for name, masks in grown.items()}
    if problem.is_small and not objective.counts_occurrences:
        found |= _enforce_all(problem, {}, rule, objective, progress)
    return found, n_tries


def _grow_in_all_orders(
    problem: GrowthProblem, objective: Objective, people: IntArray, rng: np.random.Generator, progress: Progress
) -> tuple[dict[str, list[Mask]], int]:
    """Return logs grown in the order of the target, then in that of other targets if it helps, and how many were.

    Common terms first keeps most pairs, rare terms first most distinct terms and most people. Another order may win
    in small logs, and for m above 2, since what keeps most at m = 2 need not be the best log to continue from.
    """
    rarest_first = np.arange(problem.n_terms)[::-1].copy()
    # the objective that guides the tries, then orders of terms and weights of pairs to grow by
    common = objective, [(problem.by_gain, problem.by_potential)]
    own, others = common, list[tuple[Objective, list[tuple[IntArray, FloatArray]]]]()
    if objective.favours_rare_terms or problem.m > 2 or problem.is_small:  # unless used, they only take memory
        rare = (
            replace(objective, target="distinct"),
            [(rarest_first, 1.0 / people[problem.term]), (rarest_first, problem.by_potential)],
        )
        own, *others = (rare, common) if objective.favours_rare_terms else (common, rare)
    if problem.is_small and not objective.counts_occurrences:
        size = replace(objective, target="logsize", gain=problem.profiles.counts.astype(np.float64))
        terms = problem.start, problem.history, problem.position
        plain = growth_problem(problem.profiles, problem.k, problem.m, problem.tree, terms, size.gain)
        others.append((size, [(plain.by_gain, plain.by_potential)]))
    same_rng = deepcopy(rng)  # so that a target tries what another one does with the same seed
    kept, masks, n_tries = _grow_best(problem, objective, *own, -np.inf, rng, progress)
    grown = {"growth": masks}
    # At m = 2 no order keeps more occurrences than that of the target.
    helps = problem.m > 2 or (problem.is_small and not objective.counts_occurrences)
    for guide, starts in others if helps else ():
        promising, starts = _PROMISING * kept, starts if problem.is_small else starts[:1]
        share, masks, n_more = _grow_best(problem, objective, guide, starts, promising, deepcopy(same_rng), progress)
        n_tries += n_more
        if share >= promising:
            grown[_OTHER] = [*grown.get(_OTHER, []), *masks]
    return grown, n_tries


def _grow_best(
    problem: GrowthProblem,
    objective: Objective,
    guide: Objective,
    starts: Sequence[tuple[IntArray, FloatArray]],
    promising: float,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[float, list[Mask], int]:
    """Return what the best of several grown logs keeps, the masks of the first and the best one, and their number.

    If one of the starts keeps enough to be promising, terms are removed from the log that is best by the guide and
    inserted again in a varied order, as often as the size of the log allows. Where it allows none, a log that keeps far
    less is not improved.
    """
    log, tree = problem.log_keeping(np.zeros(len(problem.position), np.bool_)), problem.tree
    most = furthest = -np.inf, 0.0
    masks, guide_log, guide_tree, number = [problem.mask(log)], log, tree, 0
    while number < len(starts) or (number < len(starts) + problem.n_varied and most[0] >= promising):
        if number < len(starts):
            (order, weight), is_removed = starts[number], np.ones(problem.n_terms, np.bool_)
        else:
            is_removed = rng.random(problem.n_terms) < rng.uniform(*_REMOVED)
            order, weight = _vary(*starts[0], rng)
        log, tree = problem.without(guide_log, guide_tree, is_removed)
        grow_terms(problem, log, tree, weight, order[is_removed[order]], progress)
        if guide.target == "distinct":  # a missing term is worth more than any number of others
            is_missing = log.support1 < problem.k
            weight = is_missing[problem.term].astype(np.float64)
            grow_terms(problem, log, tree, weight, np.flatnonzero(is_missing)[::-1].copy(), progress)
        if problem.n_varied or objective.kept_share(problem.mask(log))[0] >= _HOPELESS * promising:
            improve(problem, log, tree, order, progress)
        mask = problem.mask(log)
        kept, guided = objective.kept_share(mask), guide.kept_share(mask)
        if kept > most:
            most, masks = kept, [*masks[:1], mask] if number else [mask]
        if guided > furthest:
            furthest, guide_log, guide_tree = guided, log, tree
        number += 1
    return most[0], masks, number


def _vary(order: IntArray, weight: FloatArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return an order of terms and weights of pairs that differ at random from the given ones."""
    rank = np.arange(1, len(order) + 1) * np.exp(_SPREAD * rng.standard_normal(len(order)))
    return order[np.argsort(rank, kind="stable")], weight * np.exp(_SPREAD * rng.standard_normal(len(weight)))


def _enforce_all(
    problem: GrowthProblem, grown: Mapping[str, list[Mask]], rule: Rule, objective: Objective, progress: Progress
) -> dict[str, Mask]:
    """Return the best anonymous log that each kind of grown log leads to.

    In small logs Algorithm 1 alone is tried too, by several rules and with terms reinserted.
    """
    rows, found = problem.profiles, {}
    everything = {"paper, improved": [rows.ids < problem.n_terms]}
    has_few = False
    if problem.is_small:
        counted = count_combinations(rows, problem.n_terms, rule.k, rule.m, progress)
        has_few = len(counted.term3) <= _FEW_TRIPLES
    rules = _deletion_rules(rule, rows, objective, is_small=problem.is_small)
    for name, masks in {**grown, **(everything if has_few else {})}.items():
        usable = masks if problem.is_small else masks[-1:]
        tried = [_enforce_larger_combinations(rows, mask, rules, objective, progress) for mask in usable]
        found[name] = max(tried, key=objective.kept_share)
    return found


def _deletion_rules(rule: Rule, rows: Profiles, objective: Objective, *, is_small: bool) -> list[Rule]:
    """Return the rules by which larger combinations may be deleted: that of the target, in small logs also others.

    For `users` rare terms are kept: they are what people have who hold nothing common.
    """
    people = rows.holder_counts().astype(np.float64)
    by_people = rule._replace(target=UTILITY, utility=people, degree=np.zeros((5, 0), np.int64))
    if objective.target == "users":
        own = by_people._replace(utility=-people)
    elif rule.target != UTILITY:
        own = by_people._replace(utility=np.bincount(rows.ids, weights=objective.gain).astype(np.float64))
    else:
        own = rule
    return [own, by_people, by_people._replace(target=FIS)] if is_small else [own]


def _enforce_larger_combinations(
    rows: Profiles, grown: Mask, rules: Sequence[Rule], objective: Objective, progress: Progress
) -> Mask:
    """Return the kept pairs when no combination is infrequent any more, by the rule that keeps most."""
    start = rows.select(grown)
    people = start.holder_counts()
    people = people[: int(np.flatnonzero(people).max(initial=-1)) + 1]
    terms = term_postings(start.indptr, start.ids, len(people))
    size = max(size_to_count(rule.m, is_fis=rule.target == FIS) for rule in rules)
    counted = count_combinations(start, len(people), rules[0].k, size, progress, terms)
    found = []
    for rule in rules:
        if rule.target == FIS:
            rule = rule._replace(degree=count_degrees(counted, rule.m, len(people)))
        tree = counted if rule is rules[-1] else _copy_supports(counted)
        mask = np.zeros(len(rows.ids), np.bool_)
        mask[grown], _ = delete(start, people, tree, rule, progress, terms)
        _reinsert(rows, mask, tree, rule, objective.gain, len(people), progress)
        found.append(mask)
    return max(found, key=objective.kept_share)


def _reinsert(
    rows: Profiles, mask: Mask, tree: Tree, rule: Rule, gain: FloatArray, n_terms: int, progress: Progress
) -> None:
    """Add to an anonymous log all terms that make no combination infrequent.

    These may be terms that a history gave up for one that was deleted later.
    """
    kept, is_candidate = rows.select(mask), rows.ids < n_terms
    candidates = rows.select(is_candidate)
    support1 = count_people(kept.indptr, kept.ids, kept.owner, n_terms).astype(np.int32)
    log = make_log(candidates, n_terms)
    log.kept[:] = mask[is_candidate]
    scratch, holders = (
        make_scratch(int(np.diff(candidates.indptr).max(initial=0)), n_terms, 2),
        holders_of(log, tree, n_terms),
    )
    history = 0
    while history < rows.n_histories:
        progress("reinserting terms", history, rows.n_histories)
        history = reinsert_terms(log, tree, rule, support1, gain[is_candidate], holders, history, BUDGET, scratch)
    mask[is_candidate] = log.kept


def _copy_supports(tree: Tree) -> Tree:
    """Return a tree with supports of its own."""
    return tree._replace(**{name: getattr(tree, name).copy() for name in ("support2", "support3", "support4")})
