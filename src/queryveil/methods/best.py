"""`algorithm=best`: the same guarantee as Algorithm 1, and never less of the target.

An anonymous log is grown from nothing: terms are inserted one by one (`kernels.km.growth`), the most useful first. A
history may trade terms for one of greater weight. Weight = gain · √potential; the potential is the total gain of the
terms of that history that are compatible with the term. Then, for combinations of two, terms are reselected
(`kernels.km.improvement`) and grown again, by gain alone, while that helps; for larger ones all are inserted again by
gains that differ at random (`kernels.km.larger_growth`, docs/decisions/0062). The guarantee is never broken on the way.
Algorithm 1 also runs alone, on a core of its own, and the better result is taken. So that no other target keeps more of
what this one is about, small logs are also grown in the order of others (docs/decisions/0040).
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, running_beside
from queryveil.core.rows import FloatArray, IntArray, ranges, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.deletion import count_degrees
from queryveil.kernels.km.growth import GrowingLog, add_potentials, grow
from queryveil.kernels.km.improvement import make_selection_scratch, reselect
from queryveil.kernels.km.larger_growth import Insertion, grow_larger, make_insertion
from queryveil.kernels.km.supports import Postings, Tree, are_distinct
from queryveil.kernels.km.triples import Holders, find_holders
from queryveil.kernels.km.updates import FIS, UTILITY, Rule
from queryveil.methods.deletion import count_combinations, delete
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
_SHAKE = 0.1  # the same of gains, for larger combinations
_SPREAD = 0.4  # of the random factors of its order and weights
_LONGER = 4  # times as long a try takes for larger combinations
_SMALL = 16  # tries after the first: a log that allows so many is also grown in the order of other targets
_PROMISING = 0.9  # share of the best result so far that makes another order worth more work
_FEW_TRIPLES = 1_000_000  # up to so many frequent ones, Algorithm 1 is also tried by other rules
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
    own = tree._replace(support2=tree.support2.copy())  # growing uses no larger combinations
    with running_beside(lambda report: delete(rows, people, own, rule, report, terms)) as paper:
        problem = growth_problem(rows, rule.k, rule.m, tree, terms, objective.gain)
        found, n_tries = _find_candidates(problem, objective, people, rule, rng, progress)
        published = paper.result()[0]
    found = {"paper": published, **found}
    kept = {name: objective.kept_share(mask) for name, mask in found.items()}
    if max(kept, key=lambda name: kept[name]) == "paper":
        growth = problem.growth(published[problem.position], own)
        growth.improve(problem.by_gain, rng, progress)
        found["paper, improved"] = growth.mask
        kept["paper, improved"] = objective.kept_share(growth.mask)
    chosen = max(kept, key=lambda name: kept[name])
    return found[chosen], {
        "algorithm": "best",
        "chosen": chosen,
        f"{objective.target} kept{objective.base}, in %": {name: round(share, 2) for name, (share, _) in kept.items()},
        "tries to grow it": n_tries,
    }


@dataclass(frozen=True)
class GrowthProblem:
    """A log and its frequent combinations of two terms. The (history, term) pairs are ordered by term."""

    profiles: Profiles
    k: int
    m: int
    tree: Tree  # of pairs; its supports are those of the whole log
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
    def n_affordable(self) -> int:
        """Return how many varied tries the size of the log allows for combinations of two."""
        n_pairs = len(self.gain)
        per_try = n_pairs + min(_PER_HISTORY * self.profiles.n_histories, _PER_PAIR * n_pairs)
        return _TRIED_WORK // max(1, per_try)

    @property
    def is_small(self) -> bool:
        """Return whether the log is small enough to try what other targets would."""
        return self.n_affordable >= _SMALL

    @property
    def n_varied(self) -> int:
        """Return how many varied tries are made; for larger combinations only in small logs."""
        longer = 1 if self.m == 2 else _LONGER if self.is_small else self.n_affordable + 1
        return min(_MAX_TRIES, self.n_affordable // longer)

    @cached_property
    def insertion(self) -> Insertion:
        """Return scratch space for growing for larger combinations."""
        longest, most = int(np.diff(self.profiles.indptr).max(initial=0)), int(np.diff(self.start).max(initial=0))
        return make_insertion(self.n_terms, longest, most)

    @property
    def by_potential(self) -> FloatArray:
        """Return the weight of each pair: its gain, and more if it is compatible with others."""
        return self.gain * np.sqrt(self.potential)

    def growth(self, kept: Mask, tree: Tree) -> "Growth":
        """Return the log that keeps exactly these pairs, to be grown; the supports of the tree must be its own."""
        return (PairGrowth if self.m == 2 else LargerGrowth)(self, self.log_keeping(kept), tree)

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
        n_holders = int(np.diff(self.start).max(initial=0))
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
            touched=np.empty(self.n_terms + 1, np.int32),
            n_touched=np.zeros(1, np.int64),
            accepts=np.zeros(n_holders, np.bool_),
            held=np.empty((2, n_holders), np.int64),
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


class Growth(ABC):
    """A log that grows."""

    def __init__(self, problem: GrowthProblem, log: GrowingLog, tree: Tree) -> None:
        self.problem, self.log, self.tree = problem, log, tree

    @property
    def mask(self) -> Mask:
        """Return which pairs of the original log are kept."""
        mask = np.zeros(len(self.problem.pair_of), np.bool_)
        mask[self.problem.position[self.log.kept]] = True
        return mask

    @abstractmethod
    def grow(self, weight: FloatArray, order: IntArray, progress: Progress) -> None:
        """Insert the terms in their order."""

    @abstractmethod
    def improve(self, order: IntArray, rng: np.random.Generator, progress: Progress) -> None:
        """Let it keep more of the gain."""

    def without(self, is_removed: Mask) -> "Growth":
        """Return the log without some terms, which makes nothing else infrequent."""
        tree = self.tree
        support2 = tree.support2 * ~(is_removed[row_numbers(tree.start2)] | is_removed[tree.term2])
        return self.problem.growth(self.log.kept & ~is_removed[self.problem.term], tree._replace(support2=support2))


class PairGrowth(Growth):
    """A log that grows for combinations of two."""

    def grow(self, weight: FloatArray, order: IntArray, progress: Progress) -> None:
        """Insert the terms in their order."""
        problem, turn = self.problem, 0
        while turn < len(order):
            progress("growing", turn, len(order))
            rows = problem.start, problem.history
            turn = grow(self.log, self.tree, problem.k, weight, order, turn, _BUDGET, *rows)

    def improve(self, order: IntArray, rng: np.random.Generator, progress: Progress) -> None:
        """Reselect the kept terms of each history and grow the log by the dropped terms, while that gains enough.

        In a large log, a sample of the histories comes first: if that gains too little, the others are left.
        """
        problem, log = self.problem, self.log
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
                    turn = reselect(log, self.tree, *fixed, histories, turn, _BUDGET, is_dropped, scratch)
                if float(problem.gain[log.kept].sum()) - before <= share * _MIN_GAIN * before:
                    return
            self.grow(problem.gain, order[is_dropped[order]], progress)


class LargerGrowth(Growth):
    """A log that grows for larger combinations."""

    def __init__(self, problem: GrowthProblem, log: GrowingLog, tree: Tree) -> None:
        super().__init__(problem, log, tree)
        rows, terms = problem.profiles, (problem.start, problem.history, problem.position)
        self.holders: Holders = find_holders(
            rows.indptr, rows.ids, self.mask, rows.owner, log.has_one_each, tree, terms
        )

    def grow(self, weight: FloatArray, order: IntArray, progress: Progress) -> None:
        """Insert the terms in their order."""
        problem, turn = self.problem, 0
        while turn < len(order):
            progress("growing", turn, len(order))
            given = self.log, self.tree, self.holders, problem.insertion, problem.k, problem.m
            turn = grow_larger(*given, weight, order, turn, _BUDGET, problem.start, problem.history)

    def improve(self, order: IntArray, rng: np.random.Generator, progress: Progress) -> None:
        """Insert the terms again, by gains that differ a little at random, while that gains enough.

        So histories trade terms for others of the same gain, which makes room for more. Large logs are left.
        """
        gain, log = self.problem.gain, self.log
        for _ in range(_ROUNDS if self.problem.profiles.n_histories < _LARGE else 0):
            before = float(gain[log.kept].sum())
            self.grow(gain * np.exp(_SHAKE * rng.standard_normal(len(gain))), order, progress)
            if float(gain[log.kept].sum()) - before <= _MIN_GAIN * before:
                return


def _find_candidates(
    problem: GrowthProblem,
    objective: Objective,
    people: IntArray,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[dict[str, Mask], int]:
    """Return anonymous logs by how they were found, and how many were grown."""
    found, n_tries = _grow_in_all_orders(problem, objective, people, rng, progress)
    if problem.is_small and not objective.counts_occurrences:
        found |= _delete_and_grow(problem, people, rule, objective, progress)
    return found, n_tries


def _grow_in_all_orders(
    problem: GrowthProblem, objective: Objective, people: IntArray, rng: np.random.Generator, progress: Progress
) -> tuple[dict[str, Mask], int]:
    """Return logs grown in the order of the target, then in that of other targets if it helps, and how many were.

    Common terms first keeps most pairs, rare terms first most distinct terms and most people. Another order may win
    in small logs.
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
    kept, mask, n_tries = _grow_best(problem, objective, *own, -np.inf, rng, progress)
    grown, most = {"growth": mask}, -np.inf
    # No order keeps more occurrences than that of the target.
    for guide, starts in others if problem.is_small and not objective.counts_occurrences else ():
        given = objective, guide, starts, _PROMISING * kept, deepcopy(same_rng), progress
        share, mask, n_more = _grow_best(problem, *given)
        n_tries += n_more
        if share > most:
            grown[_OTHER], most = mask, share
    return grown, n_tries


def _grow_best(
    problem: GrowthProblem,
    objective: Objective,
    guide: Objective,
    starts: Sequence[tuple[IntArray, FloatArray]],
    promising: float,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[float, Mask, int]:
    """Return what the best of several grown logs keeps, its mask, and how many were grown.

    If one of the starts keeps enough to be promising, terms are removed from the log that is best by the guide and
    inserted again in a varied order, as often as the size of the log allows.
    """
    furthest = problem.growth(np.zeros(len(problem.position), np.bool_), problem.tree)
    most = guided = -np.inf, 0.0
    mask, number = furthest.mask, 0
    while number < len(starts) or (number < len(starts) + problem.n_varied and most[0] >= promising):
        if number < len(starts):
            (order, weight), is_removed = starts[number], np.ones(problem.n_terms, np.bool_)
        else:
            is_removed = rng.random(problem.n_terms) < rng.uniform(*_REMOVED)
            order, weight = _vary(*starts[0], rng)
        growth = furthest.without(is_removed)
        growth.grow(weight, order[is_removed[order]], progress)
        if guide.target == "distinct":  # a missing term is worth more than any number of others
            is_missing = np.bincount(problem.term[growth.log.kept], minlength=problem.n_terms) == 0
            weight = is_missing[problem.term].astype(np.float64)
            growth.grow(weight, np.flatnonzero(is_missing)[::-1].copy(), progress)
        growth.improve(order, rng, progress)
        found = growth.mask
        kept, by_guide = objective.kept_share(found), guide.kept_share(found)
        if kept > most:
            most, mask = kept, found
        if by_guide > guided:
            guided, furthest = by_guide, growth
        number += 1
    return most[0], mask, number


def _vary(order: IntArray, weight: FloatArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return an order of terms and weights of pairs that differ at random from the given ones."""
    rank = np.arange(1, len(order) + 1) * np.exp(_SPREAD * rng.standard_normal(len(order)))
    return order[np.argsort(rank, kind="stable")], weight * np.exp(_SPREAD * rng.standard_normal(len(weight)))


def _delete_and_grow(
    problem: GrowthProblem, people: IntArray, rule: Rule, objective: Objective, progress: Progress
) -> dict[str, Mask]:
    """Return the best log that Algorithm 1 leads to by several rules, if terms are inserted afterwards."""
    rows, found = problem.profiles, []
    counted = count_combinations(rows, problem.n_terms, rule.k, rule.m, progress)
    if len(counted.term3) > _FEW_TRIPLES:
        return {}
    for each in _deletion_rules(rule, rows, objective):
        if each.target == FIS:
            each = each._replace(degree=count_degrees(counted, rule.m, problem.n_terms))
        supports = {name: getattr(counted, name).copy() for name in ("support2", "support3", "support4")}
        tree = counted._replace(**supports)
        mask, _ = delete(rows, people, tree, each, progress)
        growth = problem.growth(mask[problem.position], tree)
        growth.grow(problem.gain, problem.by_gain, progress)
        found.append(growth.mask)
    return {"paper, improved": max(found, key=objective.kept_share)}


def _deletion_rules(rule: Rule, rows: Profiles, objective: Objective) -> list[Rule]:
    """Return the rules by which terms may be deleted: that of the target, and others.

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
    return [own, by_people, by_people._replace(target=FIS)]
