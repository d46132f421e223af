"""Verify (k, m)-anonymity: every combination of at most m terms of a history is held by at least k owners.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010,
definition 1. The paper speaks of the histories of other users; where one person has several histories we count
the person once, because k histories of one person hide nobody. Partitions are not in the paper:
each must satisfy the claim by itself, as if it were released alone.

All combinations of all histories are counted, size after size: time grows with their number, memory only with
the number of pairs.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.core.rows import Int32Array, IntArray
from queryveil.kernels import uncompiled
from queryveil.kernels.verify import (
    COMBINATIONS,
    LAST,
    LOWEST,
    VIOLATIONS,
    VISITED,
    Candidates,
    Histories,
    OwnerCounts,
    visit_combinations,
)

STEPS_PER_CALL = 50_000_000  # about half a second, so that an interrupt is noticed
# Starting numba costs as much as visiting so many combinations in plain Python.
FEW_COMBINATIONS = 20_000
# A read-only or strided array would make numba compile the kernel once more.
writable = partial(np.require, requirements=["C", "W"])


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim km(k, m) holds for released histories."""
    released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
    return check_combinations(
        claim,
        released.indptr,
        released.ids,
        np.arange(len(released.users), dtype=np.int32) if owners is None else owners.person,
        released.terms,
        counted="histories" if owners is None else "people",
        partition=released.partition,
        progress=progress,
    )


def check_combinations(
    claim: ResolvedName,
    indptr: IntArray,
    ids: Int32Array,
    owner: Int32Array,
    terms: Sequence[str],
    *,
    counted: Literal["people", "histories"],
    partition: Int32Array | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Return whether a claim km(k, m) holds for released histories, in each partition separately.

    `checked` counts the distinct combinations up to the size at which the check ended; `violations` those of the
    smallest size that break the claim. A combination counts once for each partition it occurs in. The
    counterexample has the lowest support of that size; among equals it is the first in the order of the texts.
    """
    refuse_wrong_arrays(indptr, ids, owner, partition, len(terms))
    k, m = claim.integer("k"), claim.integer("m")
    if len(ids) == 0:
        return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
    text_order = np.array(sorted(range(len(terms)), key=terms.__getitem__), dtype=np.int64)
    ranks = np.empty(len(terms), dtype=np.int32)  # each term's position in the order of the texts
    ranks[text_order] = np.arange(len(terms), dtype=np.int32)
    histories = Histories(writable(indptr), writable(ids), writable(owner), ranks)
    total = sum(count_combinations(indptr, size) for size in range(1, m + 1))
    checked = done = 0
    for size in range(1, m + 1):
        with uncompiled(total <= FEW_COMBINATIONS):
            counts = _count(histories, initial_lists(histories, partition, size), k, done, total, progress)
        done += count_combinations(indptr, size)
        checked += int(counts.figures[COMBINATIONS])
        if counts.figures[VIOLATIONS]:
            entries = tuple(terms[text_order[rank]] for rank in counts.worst[0])
            worst = Violation(entries, int(counts.figures[LOWEST]), k)
            return Verdict(str(claim), "violated", counted, checked, int(counts.figures[VIOLATIONS]), worst)
    return Verdict(str(claim), "holds", counted, checked)


def _count(histories: Histories, lists: Candidates, k: int, done: int, total: int, progress: Progress) -> OwnerCounts:
    """Count all combinations of one size, reporting progress between the calls of the kernel."""
    size, n_terms = len(lists.levels), len(histories.rank)
    counts = OwnerCounts(
        cells=np.zeros((n_terms, 2), dtype=np.int64),
        touched=np.empty(n_terms, dtype=np.int32),
        figures=np.array([0, 0, 0, 0, 0, k], dtype=np.int64),
        worst=np.zeros((2, size), dtype=np.int32),
    )
    is_finished = False
    while not is_finished:
        is_finished = visit_combinations(histories, lists, counts, k, STEPS_PER_CALL)
        progress("verifying", done + int(counts.figures[VISITED]), total)
    expected = count_combinations(histories.indptr, size)
    # An incomplete enumeration must never certify a release.
    if counts.figures[VISITED] != expected:
        raise InternalError(
            f"the verifier counted {counts.figures[VISITED]} of {expected} combinations of {size} terms; "
            "please report this."
        )
    return counts


def initial_lists(histories: Histories, partition: Int32Array | None, size: int) -> Candidates:
    """Return the initial lists, one for each partition, with memory for all levels.

    Each list has the rows of a partition by their owners.
    """
    owner = histories.owner
    rows, bounds = np.argsort(owner), np.array([0, len(owner)], dtype=np.int64)
    if partition is not None:
        rows = np.lexsort((owner, partition))
        cuts = np.flatnonzero(np.diff(partition[rows])) + 1
        bounds = np.concatenate(([0], cuts, [len(owner)]))
    n_pairs, n_terms = len(histories.ids), len(histories.rank)
    levels_above = size - 1
    lists = Candidates(
        rows=np.empty(len(rows) + levels_above * n_pairs, dtype=np.int32),
        ends=np.empty(len(rows) + levels_above * n_pairs, dtype=np.int64),
        bounds=np.empty(len(bounds) + levels_above * (n_terms + 1), dtype=np.int64),
        levels=np.zeros((size, 2), dtype=np.int64),
    )
    lists.rows[: len(rows)] = rows
    lists.ends[: len(rows)] = histories.indptr[rows + 1]
    lists.bounds[: len(bounds)] = bounds
    lists.levels[0, LAST] = len(bounds) - 1
    return lists


def count_combinations(indptr: IntArray, size: int) -> int:
    """Return the number of combinations of a size, with repetition, that follows from the lengths of the histories."""
    lengths, numbers = np.unique(np.diff(indptr), return_counts=True)
    pairs = zip(lengths.tolist(), numbers.tolist(), strict=True)
    return sum(math.comb(length, size) * number for length, number in pairs)


def refuse_wrong_arrays(
    indptr: IntArray, ids: Int32Array, owner: Int32Array, partition: Int32Array | None, n_terms: int
) -> None:
    """Raise unless rows cover all pairs, each with ascending ids that are terms: kernels do not check."""
    arrays: dict[str, tuple[NDArray[np.generic], type, int]] = {"owner": (owner, np.int32, len(owner))}
    if partition is not None:
        arrays["partition"] = partition, np.int32, len(owner)
    arrays |= {"indptr": (indptr, np.int64, len(owner) + 1), "ids": (ids, np.int32, len(ids))}
    for name, (array, kind, length) in arrays.items():
        if array.dtype != kind or array.shape != (length,):
            found = f"{array.dtype} of shape {array.shape}"
            raise InternalError(f"{name} must be {length} values of {np.dtype(kind)}, not {found}; please report this.")
    if indptr[0] != 0 or indptr[-1] != len(ids) or (indptr[1:] < indptr[:-1]).any():
        raise InternalError("the histories do not cover the pairs of the release; please report this.")
    if len(ids) == 0:
        return
    if ids.min() < 0 or ids.max() >= n_terms:
        raise InternalError(f"a term id is outside 0 to {n_terms - 1}; please report this.")
    ascending = ids[1:] > ids[:-1]
    starts = indptr[1:-1]
    ascending[starts[(starts > 0) & (starts < len(ids))] - 1] = True  # a new row may begin with any id
    if not ascending.all():
        raise InternalError("the term ids of a history are not ascending and unique; please report this.")
