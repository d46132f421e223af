"""Verify query k-anonymity: every released query was issued by at least k owners.

Adar: User 4XXXXX9: Anonymizing Query Logs, 2007. Owners are people where that is known, else released histories. The
release holds all issues of a query that it holds at all, so the people are counted in the release itself.
"""

from typing import Literal

import numpy as np

from queryveil.core.evidence import Evidence, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim query_k(k) holds; the counterexample has the fewest owners, then the first text."""
    released, owners = evidence.get(ReleasedHistories), evidence.find(Owners)
    counted: Literal["people", "histories"] = "histories" if owners is None else "people"
    owner = np.arange(len(released.users)) if owners is None else owners.person
    indptr, ids, partition, k = released.indptr, released.ids, released.partition, claim.integer("k")
    if len(ids) == 0:
        return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
    holder = owner[np.repeat(np.arange(len(owner)), np.diff(indptr))]
    part = np.zeros(len(holder), np.int64) if partition is None else np.repeat(partition, np.diff(indptr))
    # sorted by query and holder, a holder counts where it differs from the one before
    order = np.lexsort((holder, part, ids))
    query, part, holder = ids[order], part[order], holder[order]
    is_new_query = np.concatenate(([True], (query[1:] != query[:-1]) | (part[1:] != part[:-1])))
    is_new = is_new_query | np.concatenate(([True], holder[1:] != holder[:-1]))
    held_by = np.add.reduceat(is_new.astype(np.int64), np.flatnonzero(is_new_query))
    progress("verifying", len(ids), len(ids))
    short = np.flatnonzero(held_by < k)
    if not len(short):
        return Verdict(str(claim), "holds", counted, len(held_by), unit="queries")
    numbers = query[is_new_query]
    fewest, text = min((int(held_by[i]), released.terms[numbers[i]]) for i in short.tolist())
    worst = Violation((text,), fewest, k)
    return Verdict(str(claim), "violated", counted, len(held_by), len(short), worst, unit="queries")
