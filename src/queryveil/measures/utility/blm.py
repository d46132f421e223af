"""How much less precise what is published has become: bLM of bags, and LM of sets beside it.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010, section V-A. All occurrences
that a published term stands for become as unclear as the lowest node of the tree above them: the leaves below it but
one, of all leaves but one; leaves are the terms of the log (`queryveil.semantics.tree`). Where no meaning connects
them, as two terms that no dictionary has, all of it is lost. An occurrence that no published one stands for is
suppressed, and counts at least 1. bLM is the mean over all occurrences of the log.

What a published term stands for is found from the release and its private folder, alike for every method: behind each
published vocabulary, every member's occurrences are matched with the published ones at the lowest cost, a term as typed
with those within the method's eps (none but itself where it has no eps), a generalised one with those below it.

LM, for sets, has every term of a member count once, and lets a published term stand for any number of them: that three
kinds of fruit became one does not show in it, which is why it flatters.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import row_numbers
from queryveil.kernels.clustering.loss import Entries, Terms, loss_of_clusters
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.distances import Ancestry, ancestry
from queryveil.semantics.tree import TermTree, term_tree

_PER_CALL = 64  # clusters between two reports
_STAGE = "measuring loss"
_NEEDS_PRIVATE = "needs --private: whose vocabulary became which stands there"


def compute_blm(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return bLM, and the share of all occurrences that a published one stands for."""
    comparison = evidence.get(Vocabularies)
    n_all = int(comparison.original.counts.sum())
    found = _loss(comparison, True, progress)
    value = None if found is None else (found[0] + measure.real("penalty") * (n_all - found[1])) / n_all
    kept = None if found is None else 100.0 * found[1] / n_all
    note = _NEEDS_PRIVATE if found is None else ""
    return [
        Score(str(measure), "bLM", value, 0.0, unit="", units_counted=n_all, better="lower", note=note),
        Score(str(measure), "occurrences published", kept, 100.0, units_counted=n_all, note=note),
    ]


def compute_lm(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return LM as if vocabularies were sets."""
    comparison = evidence.get(Vocabularies)
    n_all = len(comparison.original.ids)
    found = _loss(comparison, False, progress)
    value = None if found is None else (found[0] + n_all - found[1]) / n_all
    note = _NEEDS_PRIVATE if found is None else "as sets: how often a term occurs does not count"
    return [Score(str(measure), "LM", value, 0.0, unit="", units_counted=n_all, better="lower", note=note)]


def _loss(comparison: Vocabularies, as_bags: bool, progress: Progress) -> tuple[float, int] | None:
    """Return the summed loss of what is published, and how many occurrences that is; None where it cannot be told."""
    if comparison.history_of is None:
        return None
    original = comparison.original
    tree = term_tree(comparison.network, original.vocabulary.entries)
    clusters = comparison.clusters(comparison.history_of)
    terms, entries = _prepared(comparison, tree)
    total, n_kept, n_clusters = 0.0, 0, len(clusters.entry_indptr) - 1
    for first in range(0, n_clusters, _PER_CALL):
        progress(_STAGE, first, n_clusters)
        loss, kept = loss_of_clusters(
            original.indptr,
            original.ids,
            original.counts,
            clusters,
            terms,
            entries,
            tree.parent,
            tree.end,
            tree.doubt,
            comparison.eps,
            as_bags,
            first,
            min(first + _PER_CALL, n_clusters),
        )
        total, n_kept = total + loss, n_kept + kept
    progress(_STAGE, n_clusters, n_clusters)
    return total, n_kept


def _prepared(comparison: Vocabularies, tree: TermTree) -> tuple[Terms, Entries]:
    """Number the names of generalised entries, and find what is above every term."""
    original, released, network = comparison.original.vocabulary.entries, comparison.released, comparison.network
    term_of, is_generalized, _ = comparison.entries
    texts = [released.terms[term] for term in term_of]
    numbers: dict[str, int] = {}
    name = [numbers.setdefault(text, len(numbers)) if g else -1 for text, g in zip(texts, is_generalized, strict=True)]
    place = {text: number for number, text in enumerate(original)}
    above = ancestry(network, (*original, *texts))
    words = [network.words[network.node_words[begin]] for begin in network.word_indptr[:-1]] if numbers else []
    node_name = np.array([numbers.get(word, -1) for word in words], np.int64)
    own = [(place[part], 0, number) for text, number in numbers.items() for part in text.split("|") if part in place]
    indptr, names, middle = _names_above(tree, above, len(original), numbers, node_name, own)
    terms = Terms(tree.leaf, indptr, names, middle, above.indptr, above.middle, above.nodes, above.heights)
    same = np.array([place.get(text, -1) for text in texts], np.int64)
    return terms, Entries(same, np.array(name, np.int64), len(original) + np.arange(len(texts)))


def _names_above(
    tree: TermTree,
    above: Ancestry,
    n_terms: int,
    numbers: dict[str, int],
    node_name: NDArray[np.int64],
    own: list[tuple[int, int, int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the names of nodes above each term: those of the tree, then, from the middle on, those by any sense.

    A name that lists several terms (wine|vino) counts as above each of them; these are given.
    """
    tree_name = np.array([numbers.get(name, -1) for name in tree.names], np.int64)
    tree_name[tree.leaf] = -1
    pairs = [np.array(own, np.int64).reshape(-1, 3)]  # term, 0 for the tree or 1 for any sense, name
    terms, node = np.arange(n_terms), tree.parent[tree.leaf].astype(np.int64)
    while len(terms):
        terms, node = terms[node >= 0], node[node >= 0]
        pairs.append(np.stack((terms, np.zeros_like(terms), tree_name[node]), axis=1))
        node = tree.parent[node].astype(np.int64)
    if numbers:
        end = above.indptr[n_terms]
        owner = row_numbers(above.indptr[: n_terms + 1])
        pairs.append(np.stack((owner, np.ones(end, np.int64), node_name[above.nodes[:end]]), axis=1))
    rows = np.unique(np.concatenate(pairs), axis=0)
    rows = rows[rows[:, 2] >= 0]
    indptr = np.searchsorted(rows[:, 0], np.arange(n_terms + 1))
    middle = np.searchsorted(2 * rows[:, 0] + rows[:, 1], 2 * np.arange(n_terms) + 1)
    return indptr.astype(np.int64), rows[:, 2].copy(), middle.astype(np.int64)
