"""Clustering many vocabularies in blocks of similar length (docs/decisions/0042).

The time of SSC grows with more than the square root of the cube of their number. What is unmatched costs most, so a
vocabulary's neighbours are about as long as it is: blocks are cut from the vocabularies sorted by length, those of one
length by their most common term.
"""

from dataclasses import replace

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import Int32Array, IntArray, gather_rows, row_sums
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import Cluster, ClusteringRule
from queryveil.methods.vocabulary.clustering import STAGE, cluster_vocabularies, prepare
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
