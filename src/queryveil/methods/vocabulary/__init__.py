"""Vocabulary k-anonymity by semantic clustering (SSC).

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010.

Where we read it differently, and why, is in docs/decisions/0028: its example does not follow from its own rules,
matchings are not unique, and with sessions one person could be all of the k.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import Rule
from queryveil.methods.base import MethodTask
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people
from queryveil.methods.vocabulary.clustering import Cluster, clusters_of
from queryveil.methods.vocabulary.typical import Election, Name, typical_of
from queryveil.methods.vocabulary.words import bags_of, words_of
from queryveil.semantics.network import Network


def run(task: MethodTask) -> PublishedVocabularies:
    """Run the method as declared."""
    return publish(task.profiles, task.inputs.get(Network), task.method, progress=task.progress)


def publish(
    profiles: Profiles, network: Network, method: ResolvedName, *, progress: Progress = silent
) -> PublishedVocabularies:
    """Return, for every history, the typical vocabulary of its cluster."""
    network.require_hierarchy()
    rule = rule_of(method)
    hopeful = without_hopeless(profiles, network, rule.k)
    refuse_too_few_people(hopeful, method)
    bags, numbers = bags_of(hopeful, network)
    words = words_of(network, rule.eps, bags, numbers)
    clusters = clusters_of(bags, words, rule, progress)
    choose = Election(profiles, bags, words, network, floor_of(method)).chooser(method.word("typical"))
    typical = [typical_of(cluster, choose) for cluster in clusters]
    return not_empty(_published(profiles, clusters, typical), method)


def without_hopeless(profiles: Profiles, network: Network, k: int) -> Profiles:
    """Return the profiles without the terms that are in no network and that fewer than k people hold.

    Such a term is matched with nothing but itself, so that no cluster can publish it; all it could do is to make the
    vocabularies that hold it seem far from all others.
    """
    people = profiles.holders()
    has_hope = people >= k
    rare = np.flatnonzero(~has_hope)
    has_hope[rare] = network.find_all(profiles.vocabulary[term] for term in rare.tolist()) >= 0
    return profiles.select(has_hope[profiles.ids])


def rule_of(method: ResolvedName) -> Rule:
    """Return what decides which terms are matched."""
    eps = method.integer("eps")
    omega = int(method.values.get("omega", eps + 1))
    is_maximum, is_farthest = method.word("model") == "maximum", method.word("seed_rule") == "farthest"
    return Rule(method.integer("k"), eps, omega, is_maximum, is_farthest)


def _published(
    profiles: Profiles, clusters: Sequence[Cluster], typical: Sequence[Counter[Name]]
) -> PublishedVocabularies:
    """Give every member of a cluster its typical vocabulary."""
    terms = tuple(sorted({name for vocabulary in typical for name, _ in vocabulary}))
    number = {name: place for place, name in enumerate(terms)}
    rows: list[list[tuple[int, int, int]]] = [[] for _ in range(profiles.n_histories)]
    for cluster, vocabulary in zip(clusters, typical, strict=True):
        row = sorted((number[name], level, count) for (name, level), count in vocabulary.items())
        for member in cluster.members:
            rows[member] = row
    indptr = indptr_of([len(row) for row in rows])
    ids, levels, counts = np.array([cell for row in rows for cell in row], np.int32).reshape(-1, 3).T
    summary = _summary(profiles, clusters, typical)
    return PublishedVocabularies(terms, indptr, ids.copy(), counts.copy(), levels.copy(), summary=summary)


def _summary(profiles: Profiles, clusters: Sequence[Cluster], typical: Sequence[Counter[Name]]) -> dict[str, Any]:
    """Return counts that describe the run."""
    is_full = [bool(vocabulary) for vocabulary in typical]
    return {
        "clusters": sum(is_full),
        "clusters with nothing to publish": len(is_full) - sum(is_full),
        "empty vocabularies": int(np.count_nonzero(np.diff(profiles.indptr) == 0)),
    }
