"""Verify coherence: km(k, m), and of the holders of each combination at most a share h hold a sensitive term besides.

Xu, Wang, Fu, Yu: Anonymizing Transaction Databases for Publication, 2008: (h,k,p)-coherence. There private items are
apart from public ones; here an attacker may know sensitive terms too, and each is inferred from the others. Shares are
compared in whole numbers. A person with several histories counts once; since an attacker sees histories, at most a
share h of the histories that hold a combination may hold the sensitive term as well, whoever they belong to.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from queryveil.core.display import printable
from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.core.rows import BoolArray, Int32Array
from queryveil.kernels import uncompiled
from queryveil.kernels.verify import VISITED, OwnerCounts
from queryveil.kernels.verify import Histories as Rows
from queryveil.kernels.verify_inference import COMBINATIONS, HAVING, HOLDING, N_FIGURES, VIOLATIONS, visit_crowds
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.verifiers import km


@dataclass(frozen=True, repr=False)
class InferenceViolation(Violation):
    """A combination, the last entry being the sensitive term that too many of the holders of the others have."""

    holders: int = 0

    def __str__(self) -> str:
        *known, term = map(printable, self.entries)
        if not known:  # the terms are hidden
            known, term = [term], "a sensitive term"
        return (
            f"{{{', '.join(known)}}}: {self.support:,} of the {self.holders:,} holders have {term} too, "
            f"at most {self.required:,} may"
        )


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim coherence(k, m, h) holds for released histories."""
    verdict = km.verify(claim, evidence, progress=progress)
    if not verdict.holds:
        return verdict
    released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
    sensitive = evidence.get(SensitiveTerms).mark(released.terms)
    everybody = np.arange(len(released.users), dtype=np.int32)
    views: list[tuple[Int32Array, Literal["people", "histories"]]] = [(everybody, "histories")]
    if owners is not None:
        several = len(np.unique(owners.person)) < len(everybody)
        views = [(owners.person, "people"), *(views if several else [])]
    for owner, counted in views:
        found = check_shares(claim, released, owner, sensitive, counted=counted, progress=progress)
        if found is not None:
            return found
    return verdict


def check_shares(
    claim: ResolvedName,
    released: ReleasedHistories,
    owner: Int32Array,
    sensitive: BoolArray,
    *,
    counted: Literal["people", "histories"],
    progress: Progress = silent,
) -> Verdict | None:
    """Return the verdict if some share is too large, else None.

    The counterexample is of the smallest size that has one. It has the largest share of that size, the sensitive term
    not counted; among equals it is the first in the order of the texts.
    """
    m, share = claim.integer("m"), Fraction(str(claim.real("h")))
    text_order = np.array(sorted(range(len(released.terms)), key=released.terms.__getitem__), dtype=np.int64)
    ranks = np.empty(len(text_order), dtype=np.int32)
    ranks[text_order] = np.arange(len(text_order), dtype=np.int32)
    rows = Rows(km.writable(released.indptr), km.writable(released.ids), km.writable(owner), ranks)
    checked = 0
    for size in range(1, m + 1):
        counts = _count(rows, released.partition, sensitive, size, share, progress)
        checked += int(counts.figures[COMBINATIONS])
        if counts.figures[VIOLATIONS]:
            entries = tuple(released.terms[text_order[rank]] for rank in counts.worst[0])
            having, holding = int(counts.figures[HAVING]), int(counts.figures[HOLDING])
            worst = InferenceViolation(entries, having, int(share * holding), holding)
            return Verdict(str(claim), "violated", counted, checked, int(counts.figures[VIOLATIONS]), worst)
    return None


def _count(
    rows: Rows, partition: Int32Array | None, sensitive: BoolArray, size: int, share: Fraction, progress: Progress
) -> OwnerCounts:
    """Count the holders of all combinations of one size, and those who have a sensitive term besides."""
    n_terms, expected = len(rows.rank), km.count_combinations(rows.indptr, size)
    counts = OwnerCounts(
        cells=np.zeros((n_terms, 2), dtype=np.int64),
        touched=np.empty(n_terms, dtype=np.int32),
        figures=np.array([0] * (N_FIGURES - 1) + [1], dtype=np.int64),
        worst=np.zeros((2, size + 1), dtype=np.int32),
    )
    lists, is_finished = km.initial_lists(rows, partition, size + 1), False
    with uncompiled(expected <= km.FEW_COMBINATIONS):
        while not is_finished:
            ratio = share.numerator, share.denominator
            is_finished = visit_crowds(rows, sensitive, lists, counts, *ratio, km.STEPS_PER_CALL)
            progress(f"verifying inference from {size}", int(counts.figures[VISITED]), expected)
    # An incomplete enumeration must never certify a release.
    if counts.figures[VISITED] != expected:
        raise InternalError(
            f"the verifier looked at {counts.figures[VISITED]} of {expected} combinations of {size} terms; "
            "please report this."
        )
    return counts
