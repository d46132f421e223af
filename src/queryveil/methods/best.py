"""`algorithm=best`: the same guarantee as Algorithm 1, and never less of the target.

Algorithm 1 runs beside, on a core of its own, and the better result is taken. For m above 2 the grown log is the
start: Algorithm 1 cleans it of larger combinations, then what can come back does.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import count_people
from queryveil.kernels.km.growth import Grown
from queryveil.kernels.km.improvement import put_back
from queryveil.kernels.km.supports import Tree
from queryveil.kernels.km.updates import UTILITY, Rule, make_scratch
from queryveil.methods.combinations import count_combinations
from queryveil.methods.deletion import BUDGET, delete, lay_out
from queryveil.methods.growth import GrowthProblem, grow_terms, growth_problem, improve
from queryveil.methods.targets import Objective

Mask = NDArray[np.bool_]
_MOST_TRIES = 64
_TRIED_WORK = 12_000_000  # pairs of history and term, and _PER_HISTORY for each history, in all tries after the first …
_PER_HISTORY = 100  # … which gain most where few people have long histories
_TAKEN_OUT = 0.2, 0.6  # the least and the largest share of the terms that such a try grows anew
_SPREAD = 0.4  # of the random factors of its order and weights


def best(
    rows: Profiles,
    people: NDArray[np.int64],
    tree: Tree,
    rule: Rule,
    aim: Objective,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Mask, dict[str, object]]:
    """Return which pairs stay, and what was tried and how much of the target each kept."""
    stop = Event()
    own = tree._replace(**{name: getattr(tree, name).copy() for name in ("support2", "support3", "support4")})
    with ThreadPoolExecutor(1) as pool:
        paper = pool.submit(delete, rows, people, own, rule, _until(stop))
        try:
            problem = growth_problem(rows, rule.k, tree, len(people), aim.gain)
            grown, n_tries = _grown(problem, aim, people, rng, progress)
            if rule.m > 2:
                grown = _cleaned(rows, grown, rule, aim.gain, progress)
            published = paper.result()[0]
        except BaseException:
            stop.set()
            raise
    found = {"paper": published, "growth": grown}
    if rule.m == 2 and aim.kept(published) >= aim.kept(grown):
        log = problem.kept(published)
        improve(problem, log, own, _most_useful_first(problem), progress)
        found["paper, improved"] = problem.mask(log)
    kept = {name: aim.kept(mask) for name, mask in found.items()}
    chosen = max(kept, key=lambda name: kept[name])
    tried = {name: round(share, 2) for name, (share, _) in kept.items()}
    return found[chosen], {
        "algorithm": "best",
        "chosen": chosen,
        f"{aim.target} kept, in %": tried,
        "tries to grow it": n_tries,
    }


def _until(stop: Event) -> Progress:
    """Return a report of progress to nobody, which ends the work when it is no longer wanted."""

    def report(stage: str, done: int, total: int) -> None:
        if stop.is_set():
            raise InterruptedError(stage)

    return report


class _Tried(NamedTuple):
    """A log that was grown, its supports, and how much of the target it keeps."""

    kept: tuple[float, float]
    log: Grown
    tree: Tree


def _grown(
    problem: GrowthProblem, aim: Objective, people: NDArray[np.int64], rng: np.random.Generator, progress: Progress
) -> tuple[Mask, int]:
    """Return the best of several tries: in small logs, terms of the best so far are taken out and grow anew."""
    starts = _starts(problem, aim.target, people)
    everything = np.ones(problem.n_terms, np.bool_)
    tried = (_try(problem, *problem.empty(), everything, *start, aim, progress) for start in starts)
    found = reduce(_better, tried)
    work = len(problem.gain) + _PER_HISTORY * problem.profiles.n_histories
    n_more = min(_MOST_TRIES, _TRIED_WORK // work)
    order, weight = starts[0]
    for _ in range(n_more):
        gone = rng.random(problem.n_terms) < rng.uniform(*_TAKEN_OUT)
        anew = order[np.argsort(np.arange(1, len(order) + 1) * _factors(len(order), rng), kind="stable")]
        start = problem.without(found.log, found.tree, gone)
        found = _better(found, _try(problem, *start, gone, anew, weight * _factors(len(weight), rng), aim, progress))
    return problem.mask(found.log), len(starts) + n_more


def _starts(
    problem: GrowthProblem, target: str, people: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return orders of terms and weights of pairs to grow by; people and distinct terms are helped by rare terms."""
    by_potential = problem.gain * np.sqrt(problem.potential())
    useful, rare = _most_useful_first(problem), np.arange(problem.n_terms)[::-1].copy()
    if target == "users":
        return [(useful, by_potential), (rare, by_potential)]
    if target == "distinct":
        return [(rare, 1.0 / people[problem.term]), (rare, by_potential)]
    return [(useful, by_potential)]


def _factors(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.exp(_SPREAD * rng.standard_normal(n))


def _better(found: _Tried, tried: _Tried) -> _Tried:
    return tried if tried.kept > found.kept else found


def _try(
    problem: GrowthProblem,
    log: Grown,
    tree: Tree,
    gone: NDArray[np.bool_],
    order: NDArray[np.int64],
    weight: NDArray[np.float64],
    aim: Objective,
    progress: Progress,
) -> _Tried:
    """Let the terms that are gone grow in a log, and improve it."""
    grow_terms(problem, log, tree, weight, order[gone[order]], progress)
    improve(problem, log, tree, order, progress)
    return _Tried(aim.kept(problem.mask(log)), log, tree)


def _most_useful_first(problem: GrowthProblem) -> NDArray[np.int64]:
    gain = np.bincount(problem.term, weights=problem.gain, minlength=problem.n_terms)
    return np.argsort(-gain, kind="stable")


def _cleaned(rows: Profiles, grown: Mask, rule: Rule, gain: NDArray[np.float64], progress: Progress) -> Mask:
    """Return what stays of a log without infrequent pairs when larger combinations are infrequent no more either."""
    if rule.target != UTILITY:  # degrees are those of Algorithm 1 on the whole log, which changes them meanwhile
        utility = np.bincount(rows.ids, weights=gain).astype(np.float64)
        rule = rule._replace(target=UTILITY, utility=utility, degree=np.zeros((5, 0), np.int64))
    start = rows.select(grown)
    people = start.holders()
    people = people[: int(np.flatnonzero(people).max(initial=-1)) + 1]
    tree = count_combinations(start, len(people), rule.k, rule.m, progress)
    kept, _ = delete(start, people, tree, rule, progress)
    log = lay_out(start, len(people))
    log.alive[:] = kept
    alive = start.select(kept)
    support1 = count_people(alive.indptr, alive.ids, alive.owner, len(people)).astype(np.int32)
    scratch = make_scratch(int(np.diff(start.indptr).max(initial=0)), len(people), rule.m)
    history = 0
    while history < start.n_histories:
        progress("putting back", history, start.n_histories)
        history, _ = put_back(log, tree, rule, support1, gain[grown], history, BUDGET, scratch)
    mask = np.zeros(len(rows.ids), np.bool_)
    mask[grown] = log.alive
    return mask
