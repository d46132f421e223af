"""Global suppression: terms are deleted from the whole log, the rarest first, until k people share every vocabulary.

Liu and Wang 2010 compare with it as suppression: over 90 % of the terms are deleted. Vocabularies are equal if they
hold the same terms; a term is published with the minimum of its occurrences over the people who share the vocabulary.
A history without any kept term is suppressed. Of terms with equally many holders those later in the alphabet go first.
Deleting a term never separates people with equal vocabularies, so terms are added, the most common first, until one
leaves somebody with fewer than k: the same terms stay as if the rarest were deleted one by one.
"""

from itertools import pairwise

import numpy as np

from queryveil.core.names import ResolvedName
from queryveil.core.rows import Int32Array, IntArray, row_numbers
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.histories import gather
from queryveil.methods.base import MethodTask
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people


def run(task: MethodTask) -> PublishedVocabularies:
    """Return each history's kept terms; a term's count is the minimum over the people who share the vocabulary."""
    profiles, method = task.profiles, task.method
    refuse_too_few_people(profiles, method)
    task.progress("suppressing", 0, 1)
    n_terms = _most_terms(profiles, method)
    left = profiles.select(profiles.ids < n_terms)  # ids fall with the number of people
    vocabularies = [left.ids[a:b].tobytes() for a, b in pairwise(left.indptr)]
    labels: dict[bytes, int] = {}
    label = np.array([labels.setdefault(each, len(labels)) for each in vocabularies], np.int64)
    cell = label[row_numbers(left.indptr)] * np.int64(max(n_terms, 1)) + left.ids
    _, position = np.unique(cell, return_inverse=True)
    shared = np.full(len(left.ids), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(shared, position, left.counts)
    task.progress("suppressing", 1, 1)
    published = PublishedVocabularies(
        profiles.vocabulary,
        left.indptr,
        left.ids,
        shared[position],
        np.zeros(len(left.ids), np.int32),
        summary={"terms left": n_terms, "terms deleted": len(profiles.vocabulary) - n_terms},
    )
    return not_empty(published, method)


def _most_terms(profiles: Profiles, method: ResolvedName) -> int:
    """Return how many of the most common terms can be kept so that k people share every vocabulary."""
    most = int(np.count_nonzero(profiles.holder_counts() >= floor_of(method)))
    starts, holders = gather(profiles.ids, row_numbers(profiles.indptr, np.int32), len(profiles.vocabulary))
    group, n_groups = np.zeros(profiles.n_histories, np.int64), 1  # 0: nothing is kept of them
    for term in range(most):
        those = holders[starts[term] : starts[term + 1]]
        _, parts = np.unique(group[those], return_inverse=True)
        after = group.copy()
        after[those] = n_groups + parts
        n_groups += int(parts.max()) + 1
        touched = np.concatenate((those, np.flatnonzero(np.isin(group, group[those][group[those] > 0]))))
        if _fewest_people(after[touched], profiles.owner[touched]) < method.integer("k"):
            return term
        group = after
    return most


def _fewest_people(group: IntArray, owner: Int32Array) -> int:
    """Return the number of people of the smallest non-empty group."""
    pairs = np.unique(np.stack((group[group > 0], owner[group > 0])), axis=1)
    return int(np.unique(pairs[0], return_counts=True)[1].min()) if pairs.shape[1] else 0
