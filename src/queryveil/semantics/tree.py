"""A tree whose leaves are the terms of a log, for generalisation and its information loss.

A hierarchy becomes a tree by the first sense of each term and the first hypernym of each node (Liu and Wang 2010 only
say that WordNet is made into a tree). A term whose node has children becomes a leaf below that node. If there are
several roots, one artificial node is put above those of each part of speech and one above the terms that the network
does not know, so that the root does not get as many children as the log has unknown terms; artificial nodes have names
that no term has, such as (verb). Being below one says nothing: two unknown terms, or two verbs without a common
hypernym, are not related. Nodes with a single child are skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from queryveil.core.rows import Int32Array, IntArray, row_numbers
from queryveil.semantics.network import HIDDEN, Network, ancestry

UNKNOWN, ANY = "(other)", "(any)"
PARTS = ("(noun)", "(verb)", "(adjective)", "(adverb)")
NO_MEANING = frozenset((UNKNOWN, ANY, HIDDEN, *PARTS))
SEPARATOR = "|"


@dataclass(frozen=True, eq=False)
class TermTree:
    """A tree over terms; nodes are in preorder: the descendants of a node follow it directly."""

    parent: Int32Array  # (nodes,): −1 for the root, which is node 0
    end: Int32Array  # (nodes,): the number after the last descendant
    depth: Int32Array  # (nodes,): steps from the root in the hierarchy, skipped nodes included
    n_leaves: IntArray  # (nodes,): terms at or below the node
    doubt: IntArray  # (nodes,): the other terms that it may stand for; all other terms for artificial nodes
    leaf: Int32Array  # (terms,): the node of each term
    names: tuple[str, ...] = field(repr=False)  # (nodes,): the term for a leaf


@dataclass
class _Node:
    """A node of the tree before numbering."""

    name: str
    children: dict[int, "_Node"] = field(default_factory=dict)  # by their number in the network
    terms: list[int] = field(default_factory=list)


def term_tree(network: Network, terms: Sequence[str]) -> TermTree:
    """Return the tree of the terms of a log."""
    network.require_hierarchy()
    network = network.hierarchy
    roots: dict[int, dict[int, _Node]] = {}  # part of speech → root nodes
    unknown = _Node(UNKNOWN)
    nodes: dict[int, _Node] = {}
    for term, word in enumerate(network.find_all(terms).tolist()):
        if word < 0:
            unknown.terms.append(term)
        else:
            node = int(network.senses[network.sense_indptr[word]])
            _add_path(network, node, nodes, roots.setdefault(int(network.parts[node]), {})).terms.append(term)
    tops = [_single_root(roots[part], PARTS[part]) for part in sorted(roots)]
    tops += [unknown] if unknown.terms else []
    return _number_nodes(_single_root(dict(enumerate(tops)), ANY), terms)


def _add_path(network: Network, node: int, nodes: dict[int, _Node], roots: dict[int, _Node]) -> _Node:
    """Return a node of the tree, created together with its missing ancestors; a path ends before a cycle closes."""
    path = []
    while node not in nodes:
        nodes[node] = _Node(network.words_of(node)[0])
        path.append(node)
        hypernyms = network.edges[network.edge_indptr[node] : network.edge_indptr[node + 1]]
        if not len(hypernyms) or int(hypernyms[0]) in path:
            roots[node] = nodes[node]
            break
        node = int(hypernyms[0])
    else:
        path.append(node)
    for lower, upper in pairwise(path):
        nodes[upper].children[lower] = nodes[lower]
    return nodes[path[0]]


def _single_root(nodes: dict[int, _Node], name: str) -> _Node:
    """Return the only node, or a new node above several."""
    return next(iter(nodes.values())) if len(nodes) == 1 else _Node(name, nodes)


def _number_nodes(root: _Node, terms: Sequence[str]) -> TermTree:
    """Number the nodes in preorder: child nodes in the order of the network, then terms in the order of the log."""
    rows: list[tuple[int, int, str]] = []  # the number of its parent, its depth and its name
    leaf = np.empty(len(terms), np.int32)
    stack: list[tuple[_Node | int, int, int]] = [(root, -1, 0)]  # a node or a term, the number of its parent, its depth
    while stack:
        node, parent, depth = stack.pop()
        while isinstance(node, _Node) and len(node.children) + len(node.terms) == 1:
            node = next(iter(node.children.values()), None) or node.terms[0]
            depth += isinstance(node, _Node)
        number = len(rows)
        if not isinstance(node, _Node):
            leaf[node] = number
            rows.append((parent, depth, terms[node]))
            continue
        rows.append((parent, depth, node.name))
        inner = [(node.children[key], number, depth + 1) for key in sorted(node.children)]
        stack += reversed([*inner, *((term, number, depth + 1) for term in node.terms)])
    parents, depths, names = zip(*rows, strict=True)
    end, n_leaves = np.arange(1, len(rows) + 1, dtype=np.int32), np.zeros(len(rows), np.int64)
    n_leaves[leaf] = 1
    for number in range(len(rows) - 1, 0, -1):  # from the leaves up
        parent = parents[number]
        end[parent] = max(end[parent], end[number])
        n_leaves[parent] += n_leaves[number]
    is_artificial = np.array([name in NO_MEANING for name in names])
    is_artificial[leaf] = False  # a term may be called like an artificial node
    doubt = np.where(is_artificial, n_leaves[0], n_leaves) - 1
    return TermTree(np.array(parents, np.int32), end, np.array(depths, np.int32), n_leaves, doubt, leaf, names)


def terms_listed(names: Sequence[str], terms: Sequence[str]) -> IntArray:
    """Return rows (term, name) of the names that list terms: each part of such a name is one of the terms."""
    number = {text: i for i, text in enumerate(terms)}
    lists = ((i, name.split(SEPARATOR)) for i, name in enumerate(names) if SEPARATOR in name)
    rows = [(number[part], i) for i, parts in lists for part in parts if part in number]
    return np.array(rows, np.int64).reshape(-1, 2)


def terms_below(names: Sequence[str], terms: Sequence[str], network: Network, tree: TermTree) -> IntArray:
    """Return rows (term, how, name) of terms below the node of a name: 0 in the tree of the terms, 1 by any sense."""
    number = {text: i for i, text in enumerate(names)}
    tree_name = np.array([number.get(name, -1) for name in tree.names], np.int64)
    tree_name[tree.leaf] = -1
    rows = []
    below, node = np.arange(len(terms)), tree.parent[tree.leaf].astype(np.int64)
    while len(below):
        below, node = below[node >= 0], node[node >= 0]
        rows.append(np.stack((below, np.zeros_like(below), tree_name[node]), axis=1))
        node = tree.parent[node].astype(np.int64)
    if names:
        network = network.hierarchy
        above = ancestry(network, terms)
        usual_words = [network.words[network.node_words[begin]] for begin in network.word_indptr[:-1]]
        node_name = np.array([number.get(word, -1) for word in usual_words], np.int64)
        owner = row_numbers(above.indptr)
        rows.append(np.stack((owner, np.ones_like(owner), node_name[above.nodes]), axis=1))
    found = np.unique(np.concatenate(rows), axis=0)
    return found[found[:, 2] >= 0]
