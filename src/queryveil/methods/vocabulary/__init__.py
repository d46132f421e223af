"""Vocabulary k-anonymity by semantic clustering (SSC): every cluster publishes one typical vocabulary.

Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010. Section IV-B gives three ways
to name a bag of matched terms: the vote, the bag itself, and local generalisation.

Where we read it differently, and why, is in docs/decisions/0028: its example does not follow from its own rules,
matchings are not unique, and with sessions one person could be all of the k.

More than `block` vocabularies are clustered in blocks of similar length (docs/decisions/0042): the time of SSC grows
with more than the square root of the cube of their number. What is unmatched costs most, so a vocabulary's neighbours
are about as long as it is: blocks are cut from the vocabularies sorted by length, those of one length by their most
common term.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import Int32Array, IntArray, gather_rows, indptr_of, row_sums
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import Cluster, ClusteringRule
from queryveil.methods.base import MethodTask
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people
from queryveil.methods.vocabulary.clustering import STAGE, cluster_vocabularies, prepare, rule_of
from queryveil.methods.vocabulary.names import BagNames, PeopleBelow, PublishedName
from queryveil.semantics.network import Network


def cut_by_length(profiles: Profiles, k: int, block: int) -> list[IntArray]:
    """Return the histories that are not empty in as few blocks of at most `block` as possible, if that is not 0.

    Blocks are of about equal size. Every block has k people; one with fewer is joined to the next, or the last one to
    the block before it. All of them together must have k people.
    """
    full = np.flatnonzero(np.diff(profiles.indptr))
    if not block or len(full) <= block:
        return [full]
    common, sizes = profiles.ids[profiles.indptr[full]], row_sums(profiles.counts, profiles.indptr)[full]
    order = full[np.lexsort((common, -sizes))]
    blocks, waiting = list[IntArray](), order[:0]
    for part in np.array_split(order, -(-len(order) // block)):
        waiting = np.concatenate((waiting, part))
        if len(np.unique(profiles.owner[waiting])) >= k:
            blocks.append(waiting)
            waiting = order[:0]
    blocks[-1] = np.concatenate((blocks[-1], waiting))
    return [np.sort(rows) for rows in blocks]


def cluster_blocks(
    profiles: Profiles, network: Network, rule: ClusteringRule, blocks: list[IntArray], progress: Progress
) -> list[Cluster]:
    """Return the clusters of every block, one block after the other, by histories and terms of the whole log."""
    clusters: list[Cluster] = []
    n_done, total = 0, sum(map(len, blocks))
    for rows in blocks:
        part, terms = part_of(profiles, rows)
        made = cluster_vocabularies(*prepare(part, network, rule.eps), rule, silent)
        clusters += [c._replace(members=rows[c.members], terms=terms[c.terms]) for c in made]
        n_done += len(rows)
        progress(STAGE, n_done, total)
    return clusters


def part_of(profiles: Profiles, rows: IntArray) -> tuple[Profiles, Int32Array]:
    """Return the profiles of some histories over the terms they hold, and the number of each term in the whole log."""
    indptr, pairs = gather_rows(profiles.indptr, rows)
    terms, ids = np.unique(profiles.ids[pairs], return_inverse=True)
    part = replace(
        profiles,
        vocabulary=tuple(profiles.vocabulary[term] for term in terms),
        indptr=indptr,
        ids=ids.astype(np.int32),
        counts=profiles.counts[pairs],
        owner=profiles.owner[rows],
        weights=None,
    )
    return part, terms


def run(task: MethodTask) -> PublishedVocabularies:
    """Return, for every history, the typical vocabulary of its cluster."""
    profiles, network, method = task.profiles, task.inputs.get(Network), task.method
    rule = rule_of(method)
    refuse_network(network, method)
    clustered = profiles if method.word("terms") == "all" else without_unmatchable(profiles, network, rule.k)
    refuse_too_few_people(clustered, method)
    bags, cache = prepare(clustered, network, rule.eps)
    blocks = cut_by_length(clustered, rule.k, method.integer("block"))
    if len(blocks) == 1:
        clusters = cluster_vocabularies(bags, cache, rule, task.progress)
    else:
        clusters = cluster_blocks(clustered, network, rule, blocks, task.progress)
    people_below = PeopleBelow(profiles, bags, cache)
    people = profiles.holder_counts()
    names = BagNames(profiles.vocabulary, bags, cache, network, floor_of(method), people, people_below)
    typical = [names.typical_vocabulary(cluster, method.word("typical")) for cluster in clusters]
    made = _publish_vocabularies(profiles, clusters, typical)
    if len(blocks) > 1:
        in_blocks = f"in {len(blocks):,} blocks of at most {max(map(len, blocks)):,}"
        made = replace(made, summary={**made.summary, "vocabularies clustered": in_blocks})
    return not_empty(made, method)


def refuse_network(network: Network, method: ResolvedName) -> None:
    """Refuse a network in which terms that are near need not have what the method publishes of them."""
    network.require_hierarchy()
    if not network.is_hierarchy and method.word("typical") not in ("vote", "bags"):
        raise InputError(
            f"{method}: terms near by other relations or by vectors need not have a more general term in common; "
            "take typical=vote, or --network wordnet."
        )


def without_unmatchable(profiles: Profiles, network: Network, k: int) -> Profiles:
    """Return the profiles without the terms that are in no network and that fewer than k people hold.

    Such a term only matches itself, so no cluster can publish it; it only makes the vocabularies that hold it seem far
    from all others.
    """
    is_matchable = profiles.holder_counts() >= k
    rare = np.flatnonzero(~is_matchable)
    is_matchable[rare] = network.find_all(profiles.vocabulary[term] for term in rare.tolist()) >= 0
    return profiles.select(is_matchable[profiles.ids])


def _publish_vocabularies(
    profiles: Profiles, clusters: Sequence[Cluster], typical: Sequence[Counter[PublishedName]]
) -> PublishedVocabularies:
    """Return the typical vocabulary of its cluster for every history."""
    terms = tuple(sorted({name for vocabulary in typical for name, _ in vocabulary}))
    number = {name: position for position, name in enumerate(terms)}
    rows = [sorted((number[name], level, count) for (name, level), count in each.items()) for each in typical]
    cells = np.array([cell for row in rows for cell in row], np.int32).reshape(-1, 3)
    row_of = np.full(profiles.n_histories, len(rows))  # the last one is empty
    for position, cluster in enumerate(clusters):
        row_of[cluster.members] = position
    indptr, taken = gather_rows(indptr_of([*map(len, rows), 0]), row_of)
    ids, levels, counts = cells[taken].T
    n_full = sum(map(bool, typical))
    summary = {
        "clusters": n_full,
        "clusters with nothing to publish": len(typical) - n_full,
        "empty vocabularies": int(np.count_nonzero(np.diff(profiles.indptr) == 0)),
    }
    return PublishedVocabularies(terms, indptr, ids.copy(), counts.copy(), levels.copy(), summary=summary)
