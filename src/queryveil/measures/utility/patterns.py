"""What patterns survive: the most frequent closed patterns of the original against those of the release.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section V-B. Recall is the
share of the entries of original patterns that are in the released pattern which has most of them; sDist the distance of
each original pattern from the nearest released one, per entry. Patterns are sets of terms that vocabularies hold
together; each vocabulary counts once, whosever it is, since that is what a reader of the release can count.

Distances are by the second of the paper's models, in which a term without a like costs omega = eps + 1: by the first
any two patterns that have nothing to do with each other would be at distance 0. A generalised term is not the term of
that name: it counts in sDist, by what its name means, and not in Recall.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import indptr_of, row_numbers
from queryveil.kernels.histories import gather
from queryveil.kernels.patterns import most_shared, nearest
from queryveil.measures.base import Comparison
from queryveil.measures.utility.closed_patterns import Patterns, closed_patterns
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.distances import ancestry
from queryveil.semantics.network import Network

_PER_CALL = 20  # patterns between two reports
_STAGE = "comparing patterns"


@dataclass(frozen=True, eq=False)
class _Side:
    """Patterns, and what their entries are."""

    patterns: Patterns
    terms: list[str]  # by entry
    is_typed: NDArray[np.bool_]  # (entries,): else it is a generalised term


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return Recall and sDist of the n most frequent closed patterns."""
    comparison: Comparison | Vocabularies = evidence.find(Vocabularies) or evidence.get(Comparison)
    original = comparison.original
    terms = list(original.vocabulary.entries)
    before = _Side(
        closed_patterns(original.indptr, original.ids, len(terms), measure.integer("n"), progress=progress),
        terms,
        np.ones(len(terms), np.bool_),
    )
    after = _released(comparison, measure.integer("n"), progress)
    n_entries, n_patterns = len(before.patterns.ids), len(before.patterns)
    least = int(before.patterns.supports[-1])
    note = f"over {n_patterns:,} patterns that at least {least:,} vocabularies hold, {n_entries:,} terms in all"
    recall = 100.0 * _shared(before, after) / n_entries
    distance = _distance(before, after, comparison.network, measure.integer("eps"), progress) / n_entries
    name = str(measure)
    return [
        Score(name, "recall of patterns", recall, 100.0, units_counted=n_patterns, note=note),
        Score(name, "distance of patterns", distance, 0.0, "", units_counted=n_patterns, better="lower", note=note),
    ]


def _released(comparison: Comparison | Vocabularies, n: int, progress: Progress) -> _Side:
    """Return the patterns of a release; entries are numbered by falling number of vocabularies, then by text."""
    if isinstance(comparison, Comparison):
        indptr, ids = comparison.released.indptr, comparison.released.ids
        terms = list(comparison.released.vocabulary.entries)
        return _Side(
            closed_patterns(indptr, ids, len(terms), n, progress=progress), terms, np.ones(len(terms), np.bool_)
        )
    released, (term_of, is_generalized, entry) = comparison.released, comparison.entries
    history = row_numbers(released.indptr)
    cells = np.unique(np.stack((history, entry)), axis=1)  # a generalised term may stand there at two levels
    support = np.bincount(cells[1], minlength=len(term_of))
    order = np.lexsort((np.arange(len(term_of)), -support))  # entries are in the order of their texts
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    by_row = np.lexsort((rank[cells[1]], cells[0]))
    indptr = np.searchsorted(cells[0], np.arange(len(released.users) + 1)).astype(np.int64)
    ids = rank[cells[1]][by_row].astype(np.int32)
    terms = [released.terms[term_of[place]] for place in order]
    return _Side(closed_patterns(indptr, ids, len(terms), n, progress=progress), terms, ~is_generalized[order])


def _shared(before: _Side, after: _Side) -> int:
    """Sum up the entries that each original pattern shares with the released one that has most of them."""
    place = {term: i for i, (term, typed) in enumerate(zip(after.terms, after.is_typed, strict=True)) if typed}
    ids = np.array([place.get(before.terms[entry], -1) for entry in before.patterns.ids], np.int64)
    pattern = row_numbers(after.patterns.indptr, dtype=np.int32)
    posts = gather(after.patterns.ids, pattern, len(after.terms))
    return int(most_shared(before.patterns.indptr, ids, *posts, len(after.patterns)).sum())


def _distance(before: _Side, after: _Side, network: Network, eps: int, progress: Progress) -> int:
    """Sum up the distance of each original pattern from the nearest released one."""
    omega = eps + 1
    (ones, ids), (others, other_ids) = (np.unique(side.patterns.ids, return_inverse=True) for side in (before, after))
    table = _term_distances(before, after, ones, others, network, eps)
    best, n = np.empty(len(before.patterns), np.int64), len(before.patterns)
    rows = (before.patterns.indptr, ids.astype(np.int32), after.patterns.indptr, other_ids.astype(np.int32))
    for first in range(0, n, _PER_CALL):
        progress(_STAGE, first, n)
        nearest(*rows, table, omega, first, min(first + _PER_CALL, n), best)
    progress(_STAGE, n, n)
    return int(best.sum())


def _term_distances(
    before: _Side, after: _Side, ones: NDArray[np.int32], others: NDArray[np.int32], network: Network, eps: int
) -> NDArray[np.int64]:
    """Return the distance between each two terms of patterns; twice omega where they are not matched.

    Of a name that lists several terms (wine|vino) the nearest counts.
    """
    texts, other_texts = [before.terms[i] for i in ones], [after.terms[i] for i in others]
    listed = [text.split("|") for text in other_texts]
    above = ancestry(network, (*texts, *(part for parts in listed for part in parts)), limit=eps)
    shape = (len(texts), sum(map(len, listed)))
    one, other = (axis.ravel().astype(np.int32) for axis in np.indices(shape))
    found = above.distances(one, other + np.int32(len(texts))).reshape(shape)
    begins = indptr_of([len(names) for names in listed])[:-1]
    found = np.minimum.reduceat(found, begins, axis=1) if listed else found
    table = np.where(np.isinf(found), 2 * (eps + 1), found).astype(np.int64)
    place = {text: i for i, text in enumerate(texts)}
    for column, text in enumerate(other_texts):
        if after.is_typed[others[column]] and text in place:
            table[place[text], column] = 0  # also where no network knows it
    return table
