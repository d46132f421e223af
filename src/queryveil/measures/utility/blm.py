"""Loss of precision: bLM of bags of terms, and LM of sets.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section V-A. All occurrences
that a published term stands for become as imprecise as their lowest common node of the tree: its leaves minus one, over
all leaves minus one; leaves are the terms of the log (`queryveil.semantics.tree`). If no meaning connects them, as for
two terms that no dictionary has, everything is lost. An occurrence that no published one stands for is suppressed, and
counts at least 1. bLM is the mean over all occurrences of the log. What a published term stands for is derived from the
release and its private folder, alike for every method (docs/explanation/papers/liu-wang.md).
"""

import numpy as np

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, batches, silent
from queryveil.core.results import Score
from queryveil.core.rows import indptr_of_sorted
from queryveil.kernels.clustering.loss import LogTerms, PublishedEntries, loss_of_clusters
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.network import ancestry
from queryveil.semantics.tree import TermTree, term_tree, terms_below, terms_listed

_PER_CALL = 64  # clusters between two progress reports
_NEEDS_PRIVATE = "needs --private: whose vocabulary became which stands there"


def measure_blm(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return bLM, and the share of all occurrences that a published one stands for."""
    comparison = evidence.get(Vocabularies)
    n_all = int(comparison.original.counts.sum())
    found = _loss(comparison, True, progress)
    value = None if found is None else (found[0] + measure.real("penalty") * (n_all - found[1])) / n_all
    kept = None if found is None else 100.0 * found[1] / n_all
    note, base = _NEEDS_PRIVATE if found is None else "", "occurrences"
    return [
        Score(str(measure), "bLM", value, 0.0, unit="", units_counted=n_all, better="lower", note=note, base=base),
        Score(str(measure), "occurrences published", kept, 100.0, units_counted=n_all, note=note, base=base),
    ]


def measure_lm(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return LM as if vocabularies were sets."""
    comparison = evidence.get(Vocabularies)
    n_all = len(comparison.original.ids)
    found = _loss(comparison, False, progress)
    value = None if found is None else (found[0] + n_all - found[1]) / n_all
    note = _NEEDS_PRIVATE if found is None else "as sets: how often a term occurs does not count"
    return [Score(str(measure), "LM", value, 0.0, "", n_all, better="lower", note=note, base="pairs")]


def _loss(comparison: Vocabularies, as_bags: bool, progress: Progress) -> tuple[float, int] | None:
    """Return the summed loss of published occurrences and their number; None without the private folder."""
    if comparison.history_of is None:
        return None
    original = comparison.original
    tree = term_tree(comparison.network, original.vocabulary)
    clusters = comparison.clusters(comparison.history_of)
    given = (original.indptr, original.ids, original.counts, clusters, *_index_names(comparison, tree))
    total, n_kept = 0.0, 0
    for part in batches(len(clusters.entry_indptr) - 1, _PER_CALL, "measuring loss", progress):
        loss, kept = loss_of_clusters(*given, as_bags, part.start, part.stop)
        total, n_kept = total + loss, n_kept + kept
    return total, n_kept


def _index_names(comparison: Vocabularies, tree: TermTree) -> tuple[LogTerms, PublishedEntries]:
    """Number the names of generalised entries, and find the names above every term of the original."""
    original, released, network = comparison.original.vocabulary, comparison.released, comparison.network
    term_of, is_generalized, _ = comparison.entries
    texts = [released.terms[term] for term in term_of]
    numbers: dict[str, int] = {}
    name = [numbers.setdefault(text, len(numbers)) if g else -1 for text, g in zip(texts, is_generalized, strict=True)]
    listed = np.insert(terms_listed(tuple(numbers), original), 1, 0, axis=1)  # as near as below in the tree
    rows = np.unique(np.concatenate((listed, terms_below(tuple(numbers), original, network, tree))), axis=0)
    indptr = indptr_of_sorted(rows[:, 0], len(original))
    middle = np.searchsorted(2 * rows[:, 0] + rows[:, 1], 2 * np.arange(len(original)) + 1).astype(np.int64)
    near = ancestry(network, (*original, *texts), limit=comparison.eps)
    terms = LogTerms(tree.parent, tree.end, tree.doubt, tree.leaf, indptr, rows[:, 2].copy(), middle, near)
    term_number = {text: number for number, text in enumerate(original)}
    same = np.array([term_number.get(text, -1) for text in texts], np.int64)
    return terms, PublishedEntries(same, np.array(name, np.int64), len(original) + np.arange(len(texts)))
