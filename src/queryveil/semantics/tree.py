"""The terms of a log as the leaves of a tree: what generalising and its loss are about.

A hierarchy becomes a tree by the first sense of each term and the first hypernym of each node (Liu and Wang 2010 say
of WordNet only that a tree is made from it). A term that means a node with more below it is a leaf below that node.
Where there are several tops, one node stands above those of each part of speech and one above the terms that the
network does not know, so that what a dictionary lacks does not make the top as wide as the log; these nodes have names
that no term has, such as (verb). To be below such a node says nothing: no meaning connects two unknown terms, or two
verbs whose hypernyms never meet. Nodes with a single node below them are passed over: they divide nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from queryveil.semantics.network import Network

UNKNOWN, ANY = "(other)", "(any)"
PARTS = ("(noun)", "(verb)", "(adjective)", "(adverb)")
NO_MEANING = frozenset((UNKNOWN, ANY, *PARTS))


@dataclass(frozen=True, eq=False)
class TermTree:
    """A tree over terms; nodes are numbered from the root down, all that is below a node right behind it."""

    parent: NDArray[np.int32]  # (nodes,): −1 for the root, which is node 0
    end: NDArray[np.int32]  # (nodes,): behind the last node below
    depth: NDArray[np.int32]  # (nodes,): steps from the root in the hierarchy, nodes passed over counted
    n_leaves: NDArray[np.int64]  # (nodes,): terms at or below the node
    doubt: NDArray[np.int64]  # (nodes,): other terms that may be meant by it; all others where no meaning connects them
    leaf: NDArray[np.int32]  # (terms,): the node of each term
    names: tuple[str, ...] = field(repr=False)  # (nodes,): of a leaf the term

    def lowest_common(self, nodes: NDArray[np.int32]) -> int:
        """Return the lowest node that is at or above all of some nodes."""
        first, last = int(nodes.min()), int(nodes.max())
        while self.end[first] <= last:
            first = int(self.parent[first])
        return first


@dataclass
class _Node:
    """A node while the tree is made."""

    name: str
    below: dict[int, "_Node"] = field(default_factory=dict)  # by their number in the network
    terms: list[int] = field(default_factory=list)


def term_tree(network: Network, terms: Sequence[str]) -> TermTree:
    """Return the tree of the terms of a log."""
    network.require_hierarchy()
    tops: dict[int, dict[int, _Node]] = {}  # part of speech → top nodes
    unknown = _Node(UNKNOWN)
    made: dict[int, _Node] = {}
    for term, word in enumerate(network.find_all(terms).tolist()):
        if word < 0:
            unknown.terms.append(term)
        else:
            node = int(network.senses[network.sense_indptr[word]])
            _add(network, node, made, tops.setdefault(int(network.parts[node]), {})).terms.append(term)
    kinds = [_under_one(tops[part], PARTS[part]) for part in sorted(tops)]
    kinds += [unknown] if unknown.terms else []
    root = _under_one(dict(enumerate(kinds)), ANY)
    return _numbered(root, terms)


def _add(network: Network, node: int, made: dict[int, _Node], tops: dict[int, _Node]) -> _Node:
    """Return a node of the tree, made with all above it that were not there; a way up ends before it comes back."""
    way = []
    while node not in made:
        made[node] = _Node(network.words_of(node)[0])
        way.append(node)
        above = network.edges[network.edge_indptr[node] : network.edge_indptr[node + 1]]
        if not len(above) or int(above[0]) in way:
            tops[node] = made[node]
            break
        node = int(above[0])
    else:
        way.append(node)
    for lower, upper in pairwise(way):
        made[upper].below[lower] = made[lower]
    return made[way[0]]


def _under_one(nodes: dict[int, _Node], name: str) -> _Node:
    """Return the only node, or one above several."""
    return next(iter(nodes.values())) if len(nodes) == 1 else _Node(name, nodes)


@dataclass
class _Rows:
    """Nodes in the order of their numbers."""

    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    says_nothing: list[bool] = field(default_factory=list)

    def add(self, parent: int, depth: int, name: str, says_nothing: bool) -> int:
        self.parent.append(parent)
        self.depth.append(depth)
        self.name.append(name)
        self.says_nothing.append(says_nothing)
        return len(self.parent) - 1


def _numbered(root: _Node, terms: Sequence[str]) -> TermTree:
    """Number the nodes from the root down: nodes in the order of the network, then terms in the order of the log."""
    rows, leaf = _Rows(), np.empty(len(terms), np.int32)
    waiting: list[tuple[_Node | int, int, int]] = [(root, -1, 0)]  # a node or a term, the number above it, its depth
    while waiting:
        node, parent, depth = waiting.pop()
        while isinstance(node, _Node) and len(node.below) + len(node.terms) == 1:
            node = next(iter(node.below.values()), None) or node.terms[0]
            depth += isinstance(node, _Node)
        if not isinstance(node, _Node):
            leaf[node] = rows.add(parent, depth, terms[node], False)
            continue
        number = rows.add(parent, depth, node.name, node.name in NO_MEANING)
        inner = [(node.below[key], number, depth + 1) for key in sorted(node.below)]
        waiting += reversed([*inner, *((term, number, depth + 1) for term in node.terms)])
    return _tree(rows, leaf)


def _tree(rows: _Rows, leaf: NDArray[np.int32]) -> TermTree:
    """Return the tree with what is below every node counted."""
    n_nodes = len(rows.parent)
    end, n_leaves = np.arange(1, n_nodes + 1, dtype=np.int32), np.zeros(n_nodes, np.int64)
    n_leaves[leaf] = 1
    for node in range(n_nodes - 1, 0, -1):
        above = rows.parent[node]
        end[above] = max(end[above], end[node])
        n_leaves[above] += n_leaves[node]
    parent, depth = (np.array(column, np.int32) for column in (rows.parent, rows.depth))
    doubt = np.where(rows.says_nothing, n_leaves[0], n_leaves) - 1
    return TermTree(parent, end, depth, n_leaves, doubt, leaf, tuple(rows.name))
