"""LG: terms are generalised, in some histories more than in others, until k people share every vocabulary.

He, Naughton: Anonymization of Set-Valued Data via Top-Down, Local Generalization, 2009; for bags as Liu and Wang 2010,
section V-A, extend it: the grouping is that of sets, and a generalised term keeps the minimum of its occurrences over
the members of a group. The hierarchy is a tree over the terms of the log (`queryveil.semantics.tree`). What we read
differently is in docs/explanation/papers/liu-wang.md.

Histories are divided top down: the node that makes terms most precise is expanded, as long as k people stay together.
Ties, so that the same log always gives the same parts: of several nodes with the same gain the first from the root
down; people are taken out of the part with most people, the first such in the order of the log, those who lose least
first, then the earliest; a part is dissolved if it has the fewest people, the last such first.
"""

from dataclasses import dataclass

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, Int32Array, IntArray, gather_rows, indptr_of, row_numbers
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.kernels.generalize import Holdings, count_owners, find_holdings, gains_of, look_up, shared_counts
from queryveil.methods.base import MethodTask
from queryveil.methods.vocabularies import floor_of, not_empty, refuse_too_few_people
from queryveil.semantics.network import Network
from queryveil.semantics.tree import TermTree, term_tree

_STAGE = "generalising"
_REPORT_EVERY = 256  # expansions

PublishedRow = tuple[Int32Array, IntArray, IntArray]  # names, counts, levels


@dataclass(frozen=True, eq=False)
class Part:
    """Histories whose terms are all below the same nodes, with some below each of them."""

    members: IntArray  # ascending
    cut: IntArray  # nodes, ascending
    open: IntArray  # the nodes of these that may still be expanded


def run(task: MethodTask) -> PublishedVocabularies:
    """Return the generalised terms of every history, which all histories of its part share."""
    profiles, method = task.profiles, task.method
    network = task.inputs.get(Network)
    if network.without_placed is not None:
        raise InputError(
            f"{method}: a word placed by its vector is near its neighbours and no kind of them, so no term is more "
            "general than both; take --network wordnet."
        )
    refuse_too_few_people(profiles, method)
    task.progress("making a tree of the terms", 0, 1)
    tree = term_tree(network, profiles.vocabulary)
    leaves = tree.leaf[profiles.ids]
    order = np.lexsort((leaves, row_numbers(profiles.indptr)))  # nodes ascend within a history
    indptr, leaves, counts = profiles.indptr, leaves[order], profiles.counts[order]
    parts = divide(indptr, leaves, profiles.owner, tree, method.integer("k"), task.progress)
    numbers = {name: i for i, name in enumerate(profiles.vocabulary)}  # of names, terms of the log first
    number = np.array([numbers.setdefault(name, len(numbers)) for name in tree.names], np.int32)
    is_public = np.ones(len(tree.parent), np.bool_)
    is_public[tree.leaf] = profiles.holder_counts() >= floor_of(method)
    if floor_of(method) > method.integer("k"):  # of k people of a part each holds a term below every node
        person = profiles.owner_per_pair()[order]
        for node in np.unique(np.concatenate([part.cut for part in parts])).tolist():
            is_below = (leaves >= node) & (leaves < tree.end[node])
            is_public[node] = count_owners(person, np.flatnonzero(is_below)) >= floor_of(method)
    rows = []
    for part in parts:
        shared, steps = shared_counts(indptr, leaves, counts, tree.depth, tree.end, part.members, part.cut)
        rows.append(_name_cut(part.cut, shared if method["bags"] else np.ones_like(shared), steps, number, is_public))
    return not_empty(_publish_rows(profiles.n_histories, parts, rows, tuple(numbers)), method)


def _name_cut(
    cut: IntArray, shared: IntArray, steps: IntArray, number: Int32Array, is_public: BoolArray
) -> PublishedRow:
    """Return the names of a cut with counts and levels; nodes of the same name and level add up."""
    is_shown = is_public[cut]
    keys, position = np.unique(
        np.stack((number[cut[is_shown]].astype(np.int64), steps[is_shown])), axis=1, return_inverse=True
    )
    counts = np.bincount(position.ravel(), weights=shared[is_shown], minlength=keys.shape[1]).astype(np.int64)
    return keys[0].astype(np.int32), counts, keys[1]


def _publish_rows(
    n_histories: int, parts: list[Part], rows: list[PublishedRow], names: tuple[str, ...]
) -> PublishedVocabularies:
    """Give every history the row of its part."""
    part_of = np.full(n_histories, len(parts), np.int64)  # histories without a part: an empty row after the last
    for number, part in enumerate(parts):
        part_of[part.members] = number
    indptr, taken = gather_rows(indptr_of([*(len(row[0]) for row in rows), 0]), part_of)
    ids, counts, levels = (np.concatenate(columns).astype(np.int32)[taken] for columns in zip(*rows, strict=True))
    summary = {"vocabularies": len(parts), "generalised": round(float(np.mean(levels > 0)), 3) if len(levels) else 0.0}
    return PublishedVocabularies(names, indptr, ids, counts, levels, summary=summary)


def divide(
    indptr: IntArray,
    leaves: Int32Array,  # the nodes of each history's terms, ascending
    owner: Int32Array,
    tree: TermTree,
    k: int,
    progress: Progress,
) -> list[Part]:
    """Return parts of the histories that have terms, each of at least k people."""
    held = find_holdings(indptr, leaves, tree.parent, tree.n_leaves, tree.doubt)
    everybody = np.flatnonzero(np.diff(indptr))
    root = np.zeros(1, np.int64)
    waiting = [Part(everybody, root, root[tree.n_leaves[root] > 1])]
    done: list[Part] = []
    n_done, step = 0, 0
    while waiting:
        if step % _REPORT_EVERY == 0:
            progress(_STAGE, n_done, len(everybody))
        part = waiting.pop()
        smaller = _expand(part, held, owner, tree, k)
        waiting += reversed(smaller)
        if not smaller:
            done.append(part)
            n_done += len(part.members)
        step += 1
    progress(_STAGE, n_done, len(everybody))
    return done


def _expand(part: Part, held: Holdings, owner: Int32Array, tree: TermTree, k: int) -> list[Part]:
    """Return the parts into which expanding the best node divides a part, none if no node can be expanded."""
    gains = gains_of(held, owner, part.members, part.open, k)
    useful = part.open[gains >= 0]  # a node that divides nobody here divides nobody in a smaller part
    for node in useful[np.argsort(-gains[gains >= 0], kind="stable")].tolist():
        children, lost = look_up(held, part.members, node)
        groups, rest = _divide_members(part.members, children, lost, owner, k)
        if groups:
            return _parts(part, groups, rest, node, useful[useful != node], held, tree)
    return []


def _parts(
    part: Part, groups: list[IntArray], rest: IntArray, node: int, nodes: IntArray, held: Holdings, tree: TermTree
) -> list[Part]:
    """Return the smaller parts: groups that hold the same children of the node, then the rest, which stays above it."""
    smaller = []
    for members in groups:
        below = _children(held, int(look_up(held, members[:1], node)[0][0]))
        cut = np.sort(np.concatenate((part.cut[part.cut != node], below)))
        smaller.append(Part(members, cut, np.sort(np.concatenate((nodes, below[tree.n_leaves[below] > 1])))))
    if len(rest):
        smaller.append(Part(rest, part.cut, nodes))
    return smaller


def _children(held: Holdings, number: int) -> IntArray:
    """Return the children in a set, given by its number."""
    found = []
    while number:
        found.append(held.last[number])
        number = held.before[number]
    return np.array(found[::-1], np.int64)


def _divide_members(
    members: IntArray, children: IntArray, lost: IntArray, owner: Int32Array, k: int
) -> tuple[list[IntArray], IntArray]:
    """Return groups of members with the same children, and the rest: groups too small, filled up to k people.

    There is no group if none of k people results.
    """
    order = np.argsort(children, kind="stable")
    cuts = np.flatnonzero(np.diff(children[order])) + 1
    groups = sorted(np.split(order, cuts), key=lambda group: int(group[0]))
    people = [count_owners(owner, members[group]) for group in groups]
    large = [group for group, n in zip(groups, people, strict=True) if n >= k]
    small = [group for group, n in zip(groups, people, strict=True) if n < k]
    rest = np.sort(np.concatenate(small)) if small else np.empty(0, np.int64)
    while large and 0 < count_owners(owner, members[rest]) < k:
        filled = _fill_up(members, large, rest, lost, owner, k)
        if filled is not None:
            large, rest = filled
            break
        fewest = min(range(len(large)), key=lambda i: (count_owners(owner, members[large[i]]), -i))
        rest = np.sort(np.concatenate((rest, large.pop(fewest))))
    return [members[group] for group in large], members[rest]


def _fill_up(
    members: IntArray, large: list[IntArray], rest: IntArray, lost: IntArray, owner: Int32Array, k: int
) -> tuple[list[IntArray], IntArray] | None:
    """Move people from parts that have more than k into the rest until it has k; None if there are not enough."""
    people = set(owner[members[rest]].tolist())
    groups = list(large)
    for i in sorted(range(len(groups)), key=lambda i: (-count_owners(owner, members[groups[i]]), i)):
        persons, position = np.unique(owner[members[groups[i]]], return_inverse=True)
        price = np.bincount(position, weights=lost[groups[i]])
        spare = len(persons) - k
        for j in np.argsort(price, kind="stable").tolist():
            if len(people) >= k or spare == 0:
                break
            if int(persons[j]) not in people:
                people.add(int(persons[j]))
                spare -= 1
                is_moved = owner[members[groups[i]]] == persons[j]
                rest = np.concatenate((rest, groups[i][is_moved]))
                groups[i] = groups[i][~is_moved]
    return (groups, np.sort(rest)) if len(people) >= k else None
