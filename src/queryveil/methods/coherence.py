"""Bounding what can be inferred: of the holders of a combination, at most a share h keep a sensitive term besides.

Xu, Wang, Fu, Yu: Anonymizing Transaction Databases for Publication, 2008. They delete items from the whole log; like
Algorithm 1 we delete from single histories. Where too many holders of X have the sensitive term s, some of them lose
s, not a term of X: to bring c of n holders down to the share h takes c − h·n deletions of s, and 1 / (1 − h) times as
many of a term of X, since that lowers n too. Those lose it in whose histories s is too frequent besides most
combinations. If fewer than k people would be left with X and s, and km covers both, all lose it.

Deletions lower supports and with them n, so Algorithm 1 and this are repeated in turn until nothing is left to do. Then
what was deleted is put back where no bound is broken, sensitive terms too: this raises n as well.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, FloatArray, IntArray
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.inference import (
    DELETED,
    FOUND,
    LARGEST,
    Bound,
    Terms,
    Visit,
    reinsert_bounded,
    visit_combinations,
)
from queryveil.kernels.km.supports import are_distinct, postings
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.methods.base import MethodTask
from queryveil.methods.targets import TermValues, objective

Mask = BoolArray
_BUDGET = 20_000_000  # steps of kernel work between two progress reports: well under a second
_CANDIDATES = 1_000  # pairs that are put back between two progress reports
_EVERY = 2  # passes of putting back: one changes what fits after it


def bound_inference(
    task: MethodTask, profiles: Profiles, mask: Mask, enforce_km: Callable[[Profiles], Mask]
) -> tuple[Mask, dict[str, float], dict[str, object]]:
    """Return which pairs stay of those of a (k,m)-anonymous mask, the threshold of the model if any, and a summary.

    `enforce_km` returns which pairs of profiles stay by (k,m)-anonymity alone.
    """
    method, terms, progress = task.method, task.inputs.get(SensitiveTerms), task.progress
    share = Fraction(str(method.real("h")))
    bound = Bound(method.integer("k"), method.integer("m"), share.numerator, share.denominator)
    sensitive = terms.mark(profiles.vocabulary)
    kept = profiles.select(mask)
    log = terms_of(kept, sensitive, np.ones(len(kept.ids), np.bool_))
    rounds = n_found = n_sensitive = n_rare = 0
    while True:
        found, deleted = _delete_excess(log, bound, progress)
        if not deleted:
            break
        rounds, n_found = rounds + 1, n_found or found
        left = kept.select(log.kept)
        stays = enforce_km(left)
        n_sensitive, n_rare = n_sensitive + deleted, n_rare + int(np.count_nonzero(~stays))
        log.kept[np.flatnonzero(log.kept)[~stays]] = False
    goal = objective(method.word("target"), profiles, task.inputs.find(TermValues) or TermValues())
    n_back = _put_back(log, bound, goal.gain[mask], progress)
    result = np.zeros(len(mask), np.bool_)
    result[mask] = log.kept
    summary: dict[str, object] = {
        "sensitive terms": int(np.count_nonzero(sensitive)),
        "combinations from which a sensitive term followed too surely": n_found,
        "sensitive terms deleted from histories for that": n_sensitive,
        "terms deleted since too few people shared them then": n_rare,
        "of these put back": n_back,
        "rounds": rounds,
    }
    return result, {} if terms.threshold is None else {"threshold": terms.threshold}, summary


def terms_of(profiles: Profiles, sensitive: Mask, kept: Mask) -> Terms:
    """Return the log in the form of the kernels."""
    rows = postings(profiles.indptr, profiles.ids, len(sensitive))
    return Terms(profiles.indptr, profiles.ids, profiles.owner, kept, sensitive, *rows)


def _views(log: Terms) -> list[Terms]:
    """Return the log as people are counted, and as histories are if somebody has several."""
    if are_distinct(log.owner):
        return [log]
    return [log, log._replace(owner=np.arange(len(log.owner), dtype=np.int32))]


def _delete_excess(log: Terms, bound: Bound, progress: Progress) -> tuple[int, int]:
    """Delete sensitive terms that too many holders of a combination have; return how often that was, and the pairs.

    Few terms of a log are sensitive, so a visit that finds nothing is followed by none.
    """
    n_found = n_deleted = 0
    for view in _views(log):
        weight = np.zeros(len(log.ids), np.int64)
        figures = _visit(view, bound, weight, False, progress)
        if figures[FOUND]:
            n_found += int(figures[FOUND])
            n_deleted += int(_visit(view, bound, weight, True, progress)[DELETED])
    return n_found, n_deleted


def _visit(log: Terms, bound: Bound, weight: IntArray, is_last: bool, progress: Progress) -> IntArray:
    """Visit all combinations and return the figures."""
    visit, is_finished = make_visit(log, bound), False
    while not is_finished:
        is_finished = visit_combinations(log, bound, visit, weight, is_last, _BUDGET)
        progress("bounding inference", int(visit.levels[1, 0]), int(visit.levels[1, 1]))
    return visit.figures


def make_visit(log: Terms, bound: Bound) -> Visit:
    """Return scratch space whose level 0 is one list of all histories with terms."""
    n_levels, n_pairs, n_terms = bound.m + 1, len(log.ids), len(log.sensitive)
    rows = np.flatnonzero(np.diff(log.indptr))
    visit = Visit(
        row=np.empty((n_levels, n_pairs), np.int32),
        at=np.empty((n_levels, n_pairs), np.int64),
        bounds=np.empty((n_levels, n_terms + 2), np.int64),
        levels=np.zeros((n_levels, 2), np.int64),
        chosen=np.empty(LARGEST, np.int32),
        cells=np.zeros((n_terms, 2), np.int64),
        touched=np.empty(n_terms, np.int32),
        figures=np.zeros(4, np.int64),
    )
    visit.row[0, : len(rows)], visit.at[0, : len(rows)] = rows, log.indptr[rows + 1]
    visit.bounds[0, :2], visit.levels[0] = (0, len(rows)), (0, 1)
    return visit


def _put_back(log: Terms, bound: Bound, gain: FloatArray, progress: Progress) -> int:
    """Put deleted pairs back where that breaks no bound, those of most gain first; return how many."""
    before = np.count_nonzero(log.kept)
    views, visit = _views(log), make_visit(log, bound)
    for _ in range(_EVERY):
        lost = np.flatnonzero(~log.kept)
        candidates, number = lost[np.argsort(-gain[lost], kind="stable")], 0
        while number < len(candidates):
            progress("putting terms back", number, len(candidates))
            several = len(views) > 1
            number = reinsert_bounded(log, views[-1], several, bound, visit, candidates, number, _CANDIDATES)
    return int(np.count_nonzero(log.kept) - before)
