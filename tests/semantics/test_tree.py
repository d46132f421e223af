from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.semantics.cooccurrence import open_cooccurrence
from queryveil.semantics.network import wordnet
from queryveil.semantics.tree import ANY, UNKNOWN, TermTree, term_tree
from tests.builders import profiles_of
from tests.goods import VOCABULARIES, goods

GOODS = tuple(sorted({term for vocabulary in VOCABULARIES for term in vocabulary}))


def above(tree: TermTree, term: int) -> list[str]:
    """Return the names from a term to the root."""
    names, node = [], int(tree.leaf[term])
    while node >= 0:
        names.append(tree.names[node])
        node = int(tree.parent[node])
    return names


def lowest_common(tree: TermTree, nodes: np.ndarray) -> int:
    """Return the lowest node that is an ancestor of all nodes, or one of them."""
    first, last = int(nodes.min()), int(nodes.max())
    while tree.end[first] <= last:
        first = int(tree.parent[first])
    return first


def test_a_taxonomy_is_its_own_tree(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), GOODS)
    assert above(tree, GOODS.index("wine")) == ["wine", "alcohol", "edibles", "goods"]
    assert tree.n_leaves[0] == 8
    assert tree.names[lowest_common(tree, tree.leaf[[GOODS.index("wine"), GOODS.index("rawmilk")]])] == "edibles"


def test_nodes_with_one_child_are_skipped_but_count_as_steps(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), ("wine", "vino", "boots"))
    assert above(tree, 0) == ["wine", "alcohol", "goods"]
    assert above(tree, 2) == ["boots", "goods"]
    assert [int(tree.depth[tree.leaf[term]]) for term in range(3)] == [3, 3, 3]


def test_a_term_whose_node_has_children_is_a_leaf_below_it(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), ("alcohol", "wine", "boots"))
    assert above(tree, 0) == ["alcohol", "alcohol", "goods"]
    assert tree.depth[tree.leaf[0]] == 3


def test_parts_of_speech_and_unknown_terms_have_artificial_roots() -> None:
    tree = term_tree(wordnet(), ("dog", "qzx", "yodel", "vbq", "walk", "deem"))
    assert above(tree, 1)[1:] == [UNKNOWN, ANY]
    assert above(tree, 5)[-1] == ANY
    assert above(tree, 5)[1] in (ANY, "(verb)")


def test_an_artificial_node_may_stand_for_any_term() -> None:
    tree = term_tree(wordnet(), ("dog", "cat", "qzx", "vbq", "brx"))
    assert tree.doubt[0] == tree.doubt[tree.names.index(UNKNOWN)] == 4
    assert tree.doubt[tree.names.index("carnivore")] == 1
    assert not tree.doubt[tree.leaf].any()


def test_a_single_unknown_term_is_a_leaf_below_the_root() -> None:
    assert above(term_tree(wordnet(), ("dog", "cat", "qzx")), 2) == ["qzx", ANY]


def test_networks_without_hypernyms_are_refused() -> None:
    with pytest.raises(InputError, match="no hypernyms"):
        term_tree(open_cooccurrence(profiles_of([("a", "b")])), ("a",))


@settings(max_examples=60)
@given(st.sets(st.sampled_from(wordnet().words[::997]), min_size=1, max_size=30))
def test_preorder_numbers_agree_with_the_parents(words: set[str]) -> None:
    terms = sorted(words)
    tree = term_tree(wordnet(), terms)
    assert tree.n_leaves[0] == len(terms)
    for node in range(len(tree.parent)):
        inside = [leaf for leaf in tree.leaf.tolist() if node <= leaf < tree.end[node]]
        assert tree.n_leaves[node] == len(inside)
        below = np.flatnonzero(tree.parent == node)
        assert len(below) != 1
        assert all(node < child < tree.end[node] for child in below)


def test_a_cycle_of_hypernyms_is_cut() -> None:
    tree = term_tree(wordnet(), ("restrain", "inhibit", "suppress", "keep"))
    assert tree.n_leaves[0] == 4
