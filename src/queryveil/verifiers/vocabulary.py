"""Verify vocabulary k-anonymity: every published vocabulary is that of at least k owners.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, definition 2. Two of them
are alike if they have the same terms at the same levels with the same counts. The paper counts vocabularies; where one
person has several we count the person once, because k sessions of one person hide nobody.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from queryveil.core.evidence import Evidence, Floor, MethodParameters, Owners, ReleasedHistories, ReleasedVocabularies
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.core.rows import Int32Array
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import Network
from queryveil.verifiers.meaning import count_unsupported_terms

UNSUPPORTED = "{:,} published terms have no counterpart in the history behind them, or too few"
RARE_TERMS = "{:,} published terms are held by fewer than {:,} people of the log"
RARE_STANDINS = "{:,} published terms stand for terms that fewer than {:,} people of the log hold"


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim vocabulary_k(k) holds for released vocabularies, or for histories taken as such."""
    released, owners = evidence.find(ReleasedVocabularies), evidence.find(Owners)
    floor, holders = 1, None
    if released is None:
        released = _as_vocabularies(evidence.get(ReleasedHistories))
    elif owners is not None:
        floor, holders = evidence.get(Floor).people, owners.holders()
    verdict = check_vocabularies(
        claim,
        released,
        np.arange(len(released.users), dtype=np.int32) if owners is None else owners.person,
        counted="histories" if owners is None else "people",
        floor=floor,
        holders=holders,
        progress=progress,
    )
    parameters, network = evidence.find(MethodParameters), evidence.find(Network)
    if not verdict.holds or owners is None or parameters is None or network is None:
        return verdict
    unsupported, rare = count_unsupported_terms(
        released, owners.history, evidence.get(Profiles), network, parameters.values, floor
    )
    if not unsupported and not rare:
        return verdict
    reason = UNSUPPORTED.format(unsupported) if unsupported else RARE_STANDINS.format(rare, floor)
    return replace(verdict, state="violated", violations=unsupported or rare, reason=reason)


def _as_vocabularies(released: ReleasedHistories) -> ReleasedVocabularies:
    """Return histories as vocabularies whose terms are all as typed."""
    by_text = sorted(range(len(released.terms)), key=released.terms.__getitem__)
    rank = np.empty(len(by_text), np.int32)
    rank[by_text] = np.arange(len(by_text), dtype=np.int32)
    history = np.repeat(np.arange(len(released.users)), np.diff(released.indptr))
    order = np.lexsort((rank[released.ids], history))
    ids, levels = rank[released.ids][order], np.zeros(len(order), np.int32)
    terms = tuple(released.terms[i] for i in by_text)
    return ReleasedVocabularies(released.users, released.indptr, ids, released.counts[order], levels, terms)


def check_vocabularies(
    claim: ResolvedName,
    released: ReleasedVocabularies,
    owner: Int32Array,
    *,
    counted: Literal["people", "histories"],
    floor: int = 1,
    holders: Mapping[str, int] | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Return whether a claim vocabulary_k(k) holds for released vocabularies.

    `holders` tells how many people of the log hold each term, where that is known: a term published as it was typed
    must have at least `floor`. `checked` counts the different vocabularies, `violations` those of too few owners; the
    counterexample has the fewest owners, then the fewest rows, then comes first in the order of the texts.
    """
    k = claim.integer("k")
    if not len(released.ids):
        return Verdict(str(claim), "unchecked", counted, reason="the release has no rows")
    crowds = _crowds(released, owner, progress)
    short = [(len(owners), len(rows) // 3, rows) for rows, owners in crowds.items() if len(owners) < k]
    if short:
        support, _, rows = min(short)
        terms = zip(rows[::3], rows[2::3], strict=True)
        entries = tuple(released.terms[term] + (f" ×{count}" if count > 1 else "") for term, count in terms)
        worst = Violation(entries, support, k)
        return Verdict(str(claim), "violated", counted, len(crowds), len(short), worst)
    typed = [released.terms[term] for term in np.unique(released.ids[released.levels == 0]).tolist()]
    rare = 0 if holders is None else sum(holders.get(term, 0) < floor for term in typed)
    if rare:
        reason = RARE_TERMS.format(rare, floor)
        return Verdict(str(claim), "violated", counted, len(crowds), rare, reason=reason)
    return Verdict(str(claim), "holds", counted, len(crowds))


def _crowds(released: ReleasedVocabularies, owner: Int32Array, progress: Progress) -> dict[tuple[int, ...], set[int]]:
    """Return the owners of every different vocabulary, which is (term, level, count) row after row."""
    cells = np.column_stack((released.ids, released.levels, released.counts))
    crowds: dict[tuple[int, ...], set[int]] = {}
    n_histories = len(released.users)
    for h in range(n_histories):
        if h % 10_000 == 0:
            progress("verifying", h, n_histories)
        rows = tuple(cells[released.indptr[h] : released.indptr[h + 1]].ravel().tolist())
        crowds.setdefault(rows, set()).add(int(owner[h]))
    progress("verifying", n_histories, n_histories)
    return crowds
