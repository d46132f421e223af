"""Pattern survival: the most frequent closed patterns of the original compared with those of the release.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section V-B. Recall is the
share of the entries of original patterns that are in the released pattern which has most of them; sDist is the distance
of each original pattern from the nearest released one, per entry. Patterns are sets of terms that vocabularies hold
together; each vocabulary counts once, whosever it is, since a reader of the release can count no other way.

Distances follow the second of the paper's models, in which a term without a counterpart costs omega = eps + 1: by the
first, any two unrelated patterns would be at distance 0. A generalised term is not the term of that name: it counts in
sDist, by the meaning of its name, and not in Recall.

A pattern is closed if nothing can be added to it without losing a row. The order of patterns is total: more rows first,
then fewer entries, then the pattern that has the most frequent of the entries which only one of the two has, ties by
the lowest id. The empty pattern does not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, batches, silent
from queryveil.core.results import Score
from queryveil.core.rows import BoolArray, Int32Array, IntArray, indptr_of, indptr_of_sorted, row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels import patterns as mining
from queryveil.kernels.histories import gather
from queryveil.measures.base import Comparison
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.network import Network, ancestry, wordnet
from queryveil.semantics.tree import SEPARATOR

_COMPARED_PER_CALL = 20  # patterns between two progress reports
_EXTENDED_PER_CALL = 1_000  # patterns extended between two progress reports
_PAIRED, _MOST_PAIRED = 8, 256  # entries per row that are paired, on average, and at most in all


@dataclass(frozen=True, eq=False)
class Patterns:
    """Patterns as CSR rows, the most frequent first."""

    indptr: IntArray  # (patterns + 1,)
    ids: Int32Array  # ascending within a pattern
    supports: IntArray  # (patterns,): rows that hold it

    def __len__(self) -> int:
        return len(self.supports)

    def __iter__(self) -> Iterator[Int32Array]:
        return (self.ids[begin:end] for begin, end in pairwise(self.indptr))


def closed_patterns(
    indptr: IntArray, ids: Int32Array, n_entries: int, n: int, *, progress: Progress = silent
) -> Patterns:
    """Return the n most frequent closed patterns of rows, or all if there are fewer."""
    n_rows = len(indptr) - 1
    codes = _hash_rows(n_rows)
    support, code = mining.entry_codes(indptr, ids, codes, n_entries)
    least = _least_support(indptr, ids, codes, support, code, n)
    used = _by_frequency(support, least)
    position = np.full(n_entries, -1, np.int64)
    position[used] = np.arange(len(used))
    table = mining.make_table(indptr, ids, position, support[used])
    found = _start_with_root(n, support[used], n_rows)
    n_known, spare = (1, 1) if found.size[0] else mining.extend(table, found, 0, least, 0, 1)
    stage, rank, is_done = "looking for patterns", 0, False
    while not is_done:
        progress(stage, rank, n)
        rank, n_known, spare, is_done = mining.extend_all(table, found, least, rank, n_known, spare, _EXTENDED_PER_CALL)
    progress(stage, n, n)
    slots = found.order[:n_known]
    flags = np.unpackbits(found.entries[slots].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    pattern, entry = np.nonzero(flags)
    original_ids = used[entry].astype(np.int32)
    in_order = original_ids[np.lexsort((original_ids, pattern))]
    return Patterns(indptr_of(found.size[slots]), in_order, found.support[slots])


def _hash_rows(n_rows: int) -> NDArray[np.uint64]:
    """Return a hash of every row number (SplitMix64: Steele, Lea, Flood 2014)."""
    x = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _by_frequency(support: IntArray, least: int) -> IntArray:
    """Return the entries of at least `least` rows, the most frequent first."""
    found = np.flatnonzero(support >= least)
    return found[np.argsort(-support[found], kind="stable")]


def _least_support(
    indptr: IntArray, ids: Int32Array, codes: NDArray[np.uint64], support: IntArray, code: NDArray[np.uint64], n: int
) -> int:
    """Return a support that at least n closed patterns reach, or 1.

    Sets that different rows hold have different closures. Considers the n most frequent entries, and pairs of the most
    frequent ones, few per row.
    """
    common = _by_frequency(support, 1 if n >= len(support) else max(int(np.partition(support, -n)[-n]), 1))
    n_paired = int(np.searchsorted(np.cumsum(support[common]), _PAIRED * (len(indptr) - 1)))
    n_paired = min(n_paired, _MOST_PAIRED, len(common))
    position = np.full(len(support), -1, np.int64)
    position[common[:n_paired]] = np.arange(n_paired)
    pair_support, pair_code = mining.pair_codes(indptr, ids, codes, position, n_paired)
    supports = np.concatenate((support[common], pair_support[pair_support > 0]))
    _, first = np.unique(np.concatenate((code[common], pair_code[pair_support > 0])), return_index=True)
    return int(np.sort(supports[first])[-n]) if len(first) >= n else 1


def _start_with_root(n: int, support: IntArray, n_rows: int) -> mining.Found:
    """Allocate n patterns, and store the entries that all rows hold in slot 0."""
    found = mining.Found(
        np.zeros(n, np.int64),
        np.zeros(n + 2, np.int64),
        np.zeros(n + 2, np.int64),
        np.full(n + 2, -1, np.int64),
        np.zeros((n + 2, (len(support) + 63) // 64), np.uint64),
        np.zeros((n + 2, (n_rows + 63) // 64), np.uint64),
    )
    found.entries[0] = _bits(support == n_rows)
    found.rows[0] = _bits(np.ones(n_rows, np.bool_))
    found.support[0], found.size[0] = n_rows, np.count_nonzero(support == n_rows)
    return found


def _bits(flags: BoolArray) -> NDArray[np.uint64]:
    """Pack flags into 64-bit words."""
    padded = np.zeros((len(flags) + 63) // 64 * 64, np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.dtype("<u8"))


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
        network, after = wordnet(), _mine_profiles(comparison.released, n, progress)
    else:
        network, after = comparison.network, _mine_vocabularies(comparison, n, progress)
    n_entries, n_patterns = len(before.patterns.ids), len(before.patterns)
    least = int(before.patterns.supports[-1])
    note = f"over {n_patterns:,} patterns that at least {least:,} vocabularies hold, {n_entries:,} terms in all"
    recall = 100.0 * _shared_entries(before, after) / n_entries
    distance = _total_distance(before, after, network, measure.integer("eps"), progress) / n_entries
    name = str(measure)
    return [
        Score(name, "recall of patterns", recall, 100.0, "%", n_patterns, note=note, base="patterns"),
        Score(name, "distance of patterns", distance, 0.0, "", n_patterns, None, "lower", note, "patterns"),
    ]


def _mine_profiles(profiles: Profiles, n: int, progress: Progress) -> _Side:
    terms = list(profiles.vocabulary)
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
    return int(mining.most_shared(before.patterns.indptr, ids, *postings, len(after.patterns)).sum())


def _total_distance(before: _Side, after: _Side, network: Network, eps: int, progress: Progress) -> int:
    """Sum the distances of original patterns from the nearest released pattern."""
    (ones, ids), (others, other_ids) = (np.unique(side.patterns.ids, return_inverse=True) for side in (before, after))
    table = _term_distances(before, after, ones, others, network, eps)
    best = np.empty(len(before.patterns), np.int64)
    rows = (before.patterns.indptr, ids.astype(np.int32), after.patterns.indptr, other_ids.astype(np.int32))
    for part in batches(len(best), _COMPARED_PER_CALL, "comparing patterns", progress):
        mining.nearest(*rows, table, eps + 1, part.start, part.stop, best)
    return int(best.sum())


def _term_distances(
    before: _Side, after: _Side, ones: Int32Array, others: Int32Array, network: Network, eps: int
) -> IntArray:
    """Return the distance between each two terms of patterns; twice omega where they are not matched.

    For a name that lists several terms (wine|vino), the nearest of them counts.
    """
    texts, other_texts = [before.terms[i] for i in ones], [after.terms[i] for i in others]
    listed = [text.split(SEPARATOR) for text in other_texts]
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
