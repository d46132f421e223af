"""Published names that stand for several terms of a log: lists such as wine|vino, and more general terms."""

from collections.abc import Sequence

import numpy as np

from queryveil.core.rows import IntArray, row_numbers
from queryveil.semantics.network import Network, ancestry
from queryveil.semantics.tree import TermTree

SEPARATOR = "|"


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
