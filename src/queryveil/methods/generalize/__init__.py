"""LG: terms are generalised, in some histories more than in others, until every vocabulary is that of k people.

He, Naughton: Anonymization of Set-Valued Data via Top-Down, Local Generalization, 2009; for bags as Liu and Wang 2010,
section V-A, extend it: the grouping is that of sets, and of a generalised term as many occurrences are kept as all
members of a group have. The hierarchy is a tree over the terms of the log (`queryveil.semantics.tree`).

Where we read it differently, and why: k counts people; only divisions that occur are looked at, since a node of WordNet
has up to 403 children (docs/explanation/papers/liu-wang.md).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import gather_rows, indptr_of
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.generalize import shared_counts
from queryveil.methods.base import MethodTask
from queryveil.methods.generalize.parts import Part, divide
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people
from queryveil.semantics.network import Network
from queryveil.semantics.tree import TermTree, term_tree


def run(task: MethodTask) -> PublishedVocabularies:
    """Run the method as declared."""
    return publish(task.profiles, task.inputs.get(Network), task.method, progress=task.progress)


def publish(
    profiles: Profiles, network: Network, method: ResolvedName, *, progress: Progress = silent
) -> PublishedVocabularies:
    """Return the generalised terms of every history, which all histories of its part share."""
    refuse_too_few_people(profiles, method)
    progress("making a tree of the terms", 0, 1)
    tree = term_tree(network, profiles.vocabulary.entries)
    indptr, leaves, counts = _by_leaf(profiles, tree)
    parts = divide(indptr, leaves, profiles.owner, tree, method.integer("k"), progress)
    rows = []
    for part in parts:
        shared, steps = shared_counts(indptr, leaves, counts, tree.depth, tree.end, part.members, part.cut)
        rows.append((part.cut, shared if method["bags"] else np.ones_like(shared), steps))
    names, number = _names(profiles, tree)
    is_public = _is_public(profiles, tree, method)
    published = _published(profiles.n_histories, parts, [_named(*row, number, is_public) for row in rows], names)
    return not_empty(published, method)


def _by_leaf(profiles: Profiles, tree: TermTree) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the histories as CSR rows of tree nodes instead of term ids, ascending within a row."""
    history = profiles.row_numbers()
    leaves = tree.leaf[profiles.ids]
    order = np.lexsort((leaves, history))
    return profiles.indptr, leaves[order], profiles.counts[order]


def _names(profiles: Profiles, tree: TermTree) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the different names, terms of the log first, and the number of each node's name."""
    numbers = {name: i for i, name in enumerate(profiles.vocabulary.entries)}
    number = np.array([numbers.setdefault(name, len(numbers)) for name in tree.names], np.int32)
    return tuple(numbers), number


def _is_public(profiles: Profiles, tree: TermTree, method: ResolvedName) -> NDArray[np.bool_]:
    """Return which nodes' names may be published; a term of the log needs at least `floor` holders."""
    people = profiles.holders()
    is_public = np.ones(len(tree.parent), np.bool_)
    is_public[tree.leaf] = people >= floor_of(method)
    return is_public


Row = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]  # names, counts, levels


def _named(
    cut: NDArray[np.int64],
    shared: NDArray[np.int64],
    steps: NDArray[np.int64],
    number: NDArray[np.int32],
    is_public: NDArray[np.bool_],
) -> Row:
    """Return the names of a cut with counts and levels; nodes of the same name and level add up."""
    is_shown = is_public[cut]
    keys, place = np.unique(
        np.stack((number[cut[is_shown]].astype(np.int64), steps[is_shown])), axis=1, return_inverse=True
    )
    counts = np.bincount(place.ravel(), weights=shared[is_shown], minlength=keys.shape[1]).astype(np.int64)
    return keys[0].astype(np.int32), counts, keys[1]


def _published(n_histories: int, parts: list[Part], rows: list[Row], names: tuple[str, ...]) -> PublishedVocabularies:
    """Give every history the row of its part."""
    part_of = np.full(n_histories, len(parts), np.int64)  # histories without a part: an empty row after the last
    for number, part in enumerate(parts):
        part_of[part.members] = number
    indptr, taken = gather_rows(indptr_of([*(len(row[0]) for row in rows), 0]), part_of)
    ids, counts, levels = (np.concatenate(columns).astype(np.int32)[taken] for columns in zip(*rows, strict=True))
    return PublishedVocabularies(names, indptr, ids, counts, levels, summary=_summary(parts, levels))


def _summary(parts: list[Part], levels: NDArray[np.int32]) -> Mapping[str, object]:
    """Return counts that describe the run."""
    return {
        "vocabularies": len(parts),
        "generalised": round(float(np.mean(levels > 0)), 3) if len(levels) else 0.0,
    }
