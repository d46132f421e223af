"""Pattern survival: the most frequent closed patterns of the original compared with those of the release.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section V-B. Recall is the
share of the entries of original patterns that are in the released pattern which has most of them; sDist is the distance
of each original pattern from the nearest released one, per entry. Patterns are sets of terms that vocabularies hold
together; each vocabulary counts once, whosever it is, since a reader of the release can count no other way.

Distances follow the second of the paper's models, in which a term without a counterpart costs omega = eps + 1: by the
first, any two unrelated patterns would be at distance 0. A generalised term is not the term of that name: it counts in
sDist, by the meaning of its name, and not in Recall.
"""

from dataclasses import dataclass

import numpy as np

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, batches, silent
from queryveil.core.results import Score
from queryveil.core.rows import BoolArray, Int32Array, IntArray, indptr_of, indptr_of_sorted, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather
from queryveil.kernels.patterns import most_shared, nearest
from queryveil.measures.base import Comparison, Vocabularies
from queryveil.measures.utility.closed_patterns import Patterns, closed_patterns
from queryveil.semantics.network import Network, ancestry

_PER_CALL = 20  # patterns between two progress reports


@dataclass(frozen=True, eq=False)
class _Side:
    """The patterns of the original or of the release, and the terms of their entries."""

    patterns: Patterns
    terms: list[str]  # by entry
    is_typed: BoolArray  # (entries,): false for generalised terms


def measure_patterns(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return Recall and sDist of the n most frequent closed patterns."""
    comparison: Comparison | Vocabularies = evidence.find(Vocabularies) or evidence.get(Comparison)
    n = measure.integer("n")
    before = _mine_profiles(comparison.original, n, progress)
    if isinstance(comparison, Comparison):
        after = _mine_profiles(comparison.released, n, progress)
    else:
        after = _mine_vocabularies(comparison, n, progress)
    n_entries, n_patterns = len(before.patterns.ids), len(before.patterns)
    least = int(before.patterns.supports[-1])
    note = f"over {n_patterns:,} patterns that at least {least:,} vocabularies hold, {n_entries:,} terms in all"
    recall = 100.0 * _shared_entries(before, after) / n_entries
    distance = _total_distance(before, after, comparison.network, measure.integer("eps"), progress) / n_entries
    name = str(measure)
    return [
        Score(name, "recall of patterns", recall, 100.0, units_counted=n_patterns, note=note),
        Score(name, "distance of patterns", distance, 0.0, "", units_counted=n_patterns, better="lower", note=note),
    ]


def _mine_profiles(profiles: Profiles, n: int, progress: Progress) -> _Side:
    terms = list(profiles.vocabulary.entries)
    patterns = closed_patterns(profiles.indptr, profiles.ids, len(terms), n, progress=progress)
    return _Side(patterns, terms, np.ones(len(terms), np.bool_))


def _mine_vocabularies(comparison: Vocabularies, n: int, progress: Progress) -> _Side:
    """Return the patterns of released vocabularies; entries are numbered by falling frequency, then by text."""
    released, (term_of, is_generalized, entry) = comparison.released, comparison.entries
    # a generalised term may be in a vocabulary at two levels
    history, entry = np.unique(np.stack((row_numbers(released.indptr), entry)), axis=1)
    support = np.bincount(entry, minlength=len(term_of))
    order = np.argsort(-support, kind="stable")  # entries are in the order of their texts
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ids = rank[entry][np.lexsort((rank[entry], history))].astype(np.int32)
    terms = [released.terms[term_of[i]] for i in order]
    indptr = indptr_of_sorted(history, len(released.users))
    return _Side(closed_patterns(indptr, ids, len(terms), n, progress=progress), terms, ~is_generalized[order])


def _shared_entries(before: _Side, after: _Side) -> int:
    """Sum the entries that each original pattern shares with the released pattern that has most of them."""
    number = {term: i for i, (term, typed) in enumerate(zip(after.terms, after.is_typed, strict=True)) if typed}
    ids = np.array([number.get(before.terms[entry], -1) for entry in before.patterns.ids], np.int64)
    pattern = row_numbers(after.patterns.indptr, dtype=np.int32)
    postings = gather(after.patterns.ids, pattern, len(after.terms))
    return int(most_shared(before.patterns.indptr, ids, *postings, len(after.patterns)).sum())


def _total_distance(before: _Side, after: _Side, network: Network, eps: int, progress: Progress) -> int:
    """Sum the distances of original patterns from the nearest released pattern."""
    (ones, ids), (others, other_ids) = (np.unique(side.patterns.ids, return_inverse=True) for side in (before, after))
    table = _term_distances(before, after, ones, others, network, eps)
    best = np.empty(len(before.patterns), np.int64)
    rows = (before.patterns.indptr, ids.astype(np.int32), after.patterns.indptr, other_ids.astype(np.int32))
    for part in batches(len(best), _PER_CALL, "comparing patterns", progress):
        nearest(*rows, table, eps + 1, part.start, part.stop, best)
    return int(best.sum())


def _term_distances(
    before: _Side, after: _Side, ones: Int32Array, others: Int32Array, network: Network, eps: int
) -> IntArray:
    """Return the distance between each two terms of patterns; twice omega where they are not matched.

    For a name that lists several terms (wine|vino), the nearest of them counts.
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
    row = {text: i for i, text in enumerate(texts)}
    for column, text in enumerate(other_texts):
        if after.is_typed[others[column]] and text in row:
            table[row[text], column] = 0  # also for terms that the network does not know
    return table
