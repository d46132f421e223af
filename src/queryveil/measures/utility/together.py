"""Together: which terms of a person a release still shows in one history.

A release may keep many terms and little of what they tell together, above all if it cuts histories into pieces. So it
is measured which pairs of terms of a person are still in one history, how far the number of people who hold a pair is
off, and which of the most frequent combinations are found.

Terrovitis, Liagouris, Mamoulis, Skiadopoulos: Privacy Preservation by Disassociation, 2012: the relative error of a
pair's support, |before − after| / their mean, over the pairs of twenty terms of neighbouring popularity (theirs are the
200th to 219th; we add commoner and rarer ones), and tKd, the share of the 1,000 most frequent combinations of the
original that are not among the release's. We take combinations of two and three, and of equally frequent ones those of
commoner terms.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import (
    Int32Array,
    IntArray,
    count_runs,
    gather_rows,
    row_numbers,
    select_entries,
)
from queryveil.histories.pieces import PersonRows, count_person_pairs
from queryveil.kernels.histories import count_people, sort_rows
from queryveil.kernels.km.counting import count_pairs, transpose
from queryveil.kernels.km.supports import are_distinct, term_postings
from queryveil.measures.base import Comparison

RANKS = (1, 20, 200, 1_000)  # of the first of the terms whose pairs are compared
_TERMS = 20
_MOST_FREQUENT = 1_000  # combinations
_SAMPLED = 16  # of so many histories one tells how frequent these may be
_NO_PAIRS = "nobody has two terms in one history"


def measure_together(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return what is left of pairs and of the most frequent combinations of terms."""
    comparison, name = evidence.get(Comparison), str(measure)
    before, after = PersonRows.of_profiles(comparison.original), _released_rows(comparison)
    n_terms = len(comparison.original.vocabulary)
    n_before, n_after = (count_person_pairs(rows, n_terms, progress) for rows in (before, after))
    share = 100.0 * n_after / n_before if n_before else None
    note = "" if n_before else _NO_PAIRS
    label = "pairs of terms still together"
    scores = [Score(name, label, share, 100.0, units_counted=n_before, note=note, base="pairs of terms of a person")]
    for rank in RANKS:
        scores += _error_of_supports(name, before, after, rank, n_terms)
    return [*scores, *_missing_combinations(name, before, after, n_terms, progress)]


def _released_rows(comparison: Comparison) -> PersonRows:
    """Return the released histories, by person where that is known."""
    released, owner = comparison.released, comparison.released_owner()
    number = {entry: i for i, entry in enumerate(comparison.original.vocabulary)}
    known = np.array([number.get(entry, -1) for entry in released.vocabulary], np.int32)
    indptr, ids = released.indptr, released.ids
    if (np.diff(owner) < 0).any():
        order = np.argsort(owner, kind="stable")
        (indptr, at), owner = gather_rows(indptr, order), owner[order]
        ids = ids[at]
    is_known = known[ids] >= 0
    indptr, ids, _ = sort_rows(select_entries(indptr, is_known), ids[is_known], known, len(number))
    return PersonRows(indptr, ids, owner.astype(np.int32))


def _error_of_supports(name: str, before: PersonRows, after: PersonRows, rank: int, n_terms: int) -> list[Score]:
    """Return the mean relative error of the supports of pairs among terms from a rank on, by popularity."""
    terms = np.arange(rank - 1, min(rank - 1 + _TERMS, n_terms), dtype=np.int64)
    if len(terms) < 2:
        return []
    ours, theirs = _supports_among(before, terms), _supports_among(after, terms)
    is_held = ours + theirs > 0
    if not is_held.any():
        return []
    error = np.abs(ours - theirs)[is_held] / ((ours + theirs)[is_held] / 2)
    label = f"error of pairs, terms {rank:,} to {rank - 1 + len(terms):,}"
    return [Score(name, label, float(error.mean()), 0.0, "", int(is_held.sum()), better="lower", base="pairs")]


def _supports_among(rows: PersonRows, terms: IntArray) -> IntArray:
    """Count the people who have each pair of some neighbouring terms in one history."""
    at = np.flatnonzero((rows.ids >= terms[0]) & (rows.ids <= terms[-1]))
    history = np.searchsorted(rows.indptr, at, "right") - 1
    is_first = np.diff(history, prepend=-1) > 0
    owner = rows.owner[history[is_first]]
    holds = np.zeros((len(owner), len(terms)), np.bool_)
    holds[np.cumsum(is_first) - 1, rows.ids[at] - terms[0]] = True
    first, second = np.triu_indices(len(terms), 1)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([count_runs(owner[holds[:, one] & holds[:, other]]) for one, other in pairs], np.int64)


def _missing_combinations(
    name: str, before: PersonRows, after: PersonRows, n_terms: int, progress: Progress
) -> list[Score]:
    """Return tKd: the share of the original's most frequent combinations that are not among the release's."""
    ours = _most_frequent(before, n_terms, progress)
    if not ours:
        return []
    missing = 100.0 * (1 - len(ours & _most_frequent(after, n_terms, progress)) / len(ours))
    base = "most frequent combinations of two or three"
    return [Score(name, "frequent combinations lost (tKd)", missing, 0.0, "%", len(ours), None, "lower", base=base)]


def _most_frequent(rows: PersonRows, n_terms: int, progress: Progress) -> set[tuple[int, ...]]:
    """Return the most frequent combinations of two and three terms; of equals those of commoner terms."""
    people = count_people(rows.indptr, rows.ids, rows.owner, n_terms)
    support = _likely_support(rows, people)
    while True:
        progress("finding frequent combinations", 0, 1)
        common, rarer, count = _frequent_pairs(rows, people, max(2, support))
        if len(count) >= _MOST_FREQUENT or support <= 2:
            break
        support //= 2
    if len(count) > _MOST_FREQUENT:  # a combination of three is no more frequent than its pairs
        least = int(np.sort(count)[-_MOST_FREQUENT])
        common, rarer, count = (each[count >= least] for each in (common, rarer, count))
    triples, of_triples = _frequent_triples(rows, common, rarer, int(count.min(initial=2)), progress)
    found = [*zip(common.tolist(), rarer.tolist(), strict=True), *triples]
    supports = [*count.tolist(), *of_triples]
    order = sorted(range(len(found)), key=lambda i: (-supports[i], len(found[i]), found[i]))
    return {found[i] for i in order[:_MOST_FREQUENT]}


def _likely_support(rows: PersonRows, people: IntArray) -> int:
    """Return a support that the most frequent pairs probably reach, from those of a sample of the histories."""
    falling = np.sort(people)[::-1]
    most = int(falling[min(46, len(falling) - 1)])  # so many terms have 1,000 pairs
    histories = np.arange(0, len(rows.owner), _SAMPLED)
    indptr, at = gather_rows(rows.indptr, histories)
    sample = PersonRows(indptr, rows.ids[at], rows.owner[histories])
    least = max(2, most // (64 * _SAMPLED))
    _, _, count = _frequent_pairs(sample, people // _SAMPLED, least)
    if len(count) >= _MOST_FREQUENT:
        least = int(np.sort(count)[-_MOST_FREQUENT])
    return min(most, _SAMPLED * least * 3 // 4)


def _frequent_pairs(rows: PersonRows, people: IntArray, support: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the pairs of terms that so many people have in one history: the lower id, the higher one, and how many."""
    n_terms = int(np.flatnonzero(people >= support).max(initial=-1)) + 1
    postings = term_postings(rows.indptr, rows.ids, n_terms)
    counted = count_pairs(0, n_terms, support, rows.indptr, rows.ids, rows.owner, are_distinct(rows.owner), *postings)
    start, common, count = transpose(*counted)
    return common.astype(np.int64), row_numbers(start), count.astype(np.int64)


def _frequent_triples(
    rows: PersonRows, common: IntArray, rarer: IntArray, support: int, progress: Progress
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the triples that so many people have in one history, and how many; each of their pairs is given."""
    if not len(common):
        return [], []
    owner, holders = _holders_as_bits(rows, np.union1d(common, rarer))
    has_one_each = are_distinct(owner)
    triples: list[tuple[int, ...]] = []
    supports: list[int] = []
    order = np.lexsort((common, rarer))
    width = int(rarer.max()) + 1
    keys = np.append(rarer[order] * width + common[order], -1)  # ascending but for the last, which is no pair
    lasts, starts = np.unique(rarer[order], return_index=True)
    for number, (last, firsts) in enumerate(zip(lasts.tolist(), np.split(common[order], starts[1:]), strict=True)):
        progress("finding frequent combinations", number, len(lasts))
        pairs = np.stack([holders[first] for first in firsts.tolist()]) & holders[last]
        for second in range(1, len(firsts)):
            wanted = firsts[second] * width + firsts[:second]
            others = np.flatnonzero(keys[np.searchsorted(keys[:-1], wanted)] == wanted)  # all three pairs are frequent
            shared = pairs[others] & pairs[second]
            n_shared = np.bitwise_count(shared).sum(axis=1, dtype=np.int64)  # histories: at least as many as people
            for first in np.flatnonzero(n_shared >= support).tolist():
                n = int(n_shared[first])
                if not has_one_each:
                    n = count_runs(owner[np.unpackbits(shared[first], count=len(owner)).view(np.bool_)])
                if n >= support:
                    triples.append((int(firsts[others[first]]), int(firsts[second]), last))
                    supports.append(n)
    return triples, supports


def _holders_as_bits(rows: PersonRows, terms: IntArray) -> tuple[Int32Array, dict[int, NDArray[np.uint8]]]:
    """Return the owners of the histories that hold three of some terms, and for each term a bit for each of these."""
    start, history, _ = term_postings(rows.indptr, rows.ids, int(terms.max(initial=-1)) + 1)
    holders = {term: history[start[term] : start[term + 1]] for term in terms.tolist()}
    is_looked_at = np.bincount(np.concatenate([*holders.values()]), minlength=len(rows.owner)) >= 3
    number, found = np.cumsum(is_looked_at) - 1, {}
    for term, histories in holders.items():
        holds = np.zeros(int(np.count_nonzero(is_looked_at)), np.bool_)
        holds[number[histories[is_looked_at[histories]]]] = True
        found[term] = np.packbits(holds)
    return rows.owner[is_looked_at], found
