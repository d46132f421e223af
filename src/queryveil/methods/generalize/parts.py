"""Dividing histories top down: the node that makes terms most precise is expanded, as long as k people stay together.

Ties, so that the same log always gives the same parts: of several nodes with the same gain the first from the root
down; people are taken out of the part with most people, the first such in the order of the log, those who lose least
first, then the earliest; a part is dissolved if it has the fewest people, the last such first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.kernels.generalize import Holdings, count_owners, gains_of, holdings, look_up
from queryveil.semantics.tree import TermTree

_STAGE = "generalising"
_REPORT_EVERY = 256  # expansions


@dataclass(frozen=True, eq=False)
class Part:
    """Histories that hold something below each of the same nodes, and nothing else."""

    members: NDArray[np.int64]  # ascending
    cut: NDArray[np.int64]  # nodes, ascending
    open: NDArray[np.int64]  # of these, those that may still be expanded


@dataclass(frozen=True, eq=False)
class _Division:
    """What becomes of the members of a part if a node is expanded."""

    parts: list[NDArray[np.int64]]  # members that hold the same children of it
    rest: NDArray[np.int64]  # members for whom it stays as it is


def divide(
    indptr: NDArray[np.int64],
    leaves: NDArray[np.int32],  # the nodes of each history's terms, ascending
    owner: NDArray[np.int32],
    tree: TermTree,
    k: int,
    progress: Progress,
) -> list[Part]:
    """Return parts of the histories that have terms, each of at least k people."""
    held = holdings(indptr, leaves, tree.parent, tree.n_leaves, tree.doubt)
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


def _expand(part: Part, held: Holdings, owner: NDArray[np.int32], tree: TermTree, k: int) -> list[Part]:
    """Return the parts that expanding the best node makes of a part, none where no node can be expanded."""
    gains = gains_of(held, owner, part.members, part.open, k)
    useful = part.open[gains >= 0]  # what divides nobody here divides nobody in any smaller part
    for node in useful[np.argsort(-gains[gains >= 0], kind="stable")].tolist():
        children, lost = look_up(held, part.members, node)
        division = _divided(part.members, children, lost, owner, k)
        if division is not None:
            return _parts(part, division, node, useful[useful != node], held, tree)
    return []


def _parts(
    part: Part, division: _Division, node: int, nodes: NDArray[np.int64], held: Holdings, tree: TermTree
) -> list[Part]:
    """Return the smaller parts, the rest last."""
    smaller = []
    for members in division.parts:
        number = int(look_up(held, members[:1], node)[0][0])
        below = _children(held, number)
        inner = below[tree.n_leaves[below] > 1]
        cut = np.sort(np.concatenate((part.cut[part.cut != node], below)))
        smaller.append(Part(members, cut, np.sort(np.concatenate((nodes, inner)))))
    if len(division.rest):
        smaller.append(Part(division.rest, part.cut, nodes))
    return smaller


def _children(held: Holdings, number: int) -> NDArray[np.int64]:
    """Return the children that a number of the trie stands for."""
    found = []
    while number:
        found.append(held.last[number])
        number = held.before[number]
    return np.array(found[::-1], np.int64)


def _divided(
    members: NDArray[np.int64],
    children: NDArray[np.int64],
    lost: NDArray[np.int64],
    owner: NDArray[np.int32],
    k: int,
) -> _Division | None:
    """Put members with the same children together; too few for a part make the rest, which is filled up to k people.

    None where no part of k people comes out of it.
    """
    order = np.argsort(children, kind="stable")
    cuts = np.flatnonzero(np.diff(children[order])) + 1
    groups = sorted((group for group in np.split(order, cuts)), key=lambda group: int(group[0]))
    people = [count_owners(owner, members[group]) for group in groups]
    large = [group for group, n in zip(groups, people, strict=True) if n >= k]
    small = [group for group, n in zip(groups, people, strict=True) if n < k]
    rest = np.sort(np.concatenate(small)) if small else np.empty(0, np.int64)
    while large and 0 < count_owners(owner, members[rest]) < k:
        filled = _filled(members, large, rest, lost, owner, k)
        if filled is not None:
            large, rest = filled
            break
        fewest = min(range(len(large)), key=lambda i: (count_owners(owner, members[large[i]]), -i))
        rest = np.sort(np.concatenate((rest, large.pop(fewest))))
    return _Division([members[group] for group in large], members[rest]) if large else None


def _filled(
    members: NDArray[np.int64],
    large: list[NDArray[np.int64]],
    rest: NDArray[np.int64],
    lost: NDArray[np.int64],
    owner: NDArray[np.int32],
    k: int,
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]] | None:
    """Take people out of parts that have more than k until the rest has k; None where there are not enough."""
    people = set(owner[members[rest]].tolist())
    groups = list(large)
    for i in sorted(range(len(groups)), key=lambda i: (-count_owners(owner, members[groups[i]]), i)):
        persons, place = np.unique(owner[members[groups[i]]], return_inverse=True)
        price = np.bincount(place, weights=lost[groups[i]])
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
