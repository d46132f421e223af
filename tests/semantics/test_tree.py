from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.semantics.cooccurrence import learn
from queryveil.semantics.tree import ANY, UNKNOWN, TermTree, term_tree
from queryveil.semantics.wordnet import wordnet
from tests.builders import profiles_of
from tests.methods.generalize.goods import VOCABULARIES, goods

GOODS = tuple(sorted({term for vocabulary in VOCABULARIES for term in vocabulary}))


def above(tree: TermTree, term: int) -> list[str]:
    """Return the names from a term to the root."""
    names, node = [], int(tree.leaf[term])
    while node >= 0:
        names.append(tree.names[node])
        node = int(tree.parent[node])
    return names


def test_a_taxonomy_is_its_own_tree(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), GOODS)
    assert above(tree, GOODS.index("wine")) == ["wine", "alcohol", "edibles", "goods"]
    assert tree.n_leaves[0] == 8
    assert tree.names[tree.lowest_common(tree.leaf[[GOODS.index("wine"), GOODS.index("rawmilk")]])] == "edibles"


def test_nodes_that_divide_nothing_are_passed_over_but_counted(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), ("wine", "vino", "boots"))
    assert above(tree, 0) == ["wine", "alcohol", "goods"]
    assert above(tree, 2) == ["boots", "goods"]
    assert [int(tree.depth[tree.leaf[term]]) for term in range(3)] == [3, 3, 3]


def test_a_term_with_more_below_it_is_a_leaf_below_itself(tmp_path: Path) -> None:
    tree = term_tree(goods(tmp_path), ("alcohol", "wine", "boots"))
    assert above(tree, 0) == ["alcohol", "alcohol", "goods"]
    assert tree.depth[tree.leaf[0]] == 3


def test_parts_of_speech_and_unknown_terms_have_their_own_tops() -> None:
    tree = term_tree(wordnet(), ("dog", "qzx", "yodel", "vbq", "walk", "deem"))
    assert above(tree, 1)[1:] == [UNKNOWN, ANY]
    assert above(tree, 5)[-1] == ANY
    assert above(tree, 5)[1] in (ANY, "(verb)")


def test_what_no_meaning_connects_leaves_all_in_doubt() -> None:
    tree = term_tree(wordnet(), ("dog", "cat", "qzx", "vbq", "brx"))
    assert tree.doubt[0] == tree.doubt[tree.names.index(UNKNOWN)] == 4
    assert tree.doubt[tree.names.index("carnivore")] == 1
    assert not tree.doubt[tree.leaf].any()


def test_one_unknown_term_is_a_leaf_below_the_top() -> None:
    assert above(term_tree(wordnet(), ("dog", "cat", "qzx")), 2) == ["qzx", ANY]


def test_networks_without_hypernyms_are_refused() -> None:
    with pytest.raises(InputError, match="no hypernyms"):
        term_tree(learn(profiles_of([("a", "b")])), ("a",))


@settings(deadline=None, max_examples=60)
@given(st.sets(st.sampled_from(wordnet().words[::997]), min_size=1, max_size=30))
def test_numbers_and_counts_agree_with_the_ways_up(words: set[str]) -> None:
    terms = sorted(words)
    tree = term_tree(wordnet(), terms)
    assert tree.n_leaves[0] == len(terms)
    for node in range(len(tree.parent)):
        inside = [leaf for leaf in tree.leaf.tolist() if node <= leaf < tree.end[node]]
        assert tree.n_leaves[node] == len(inside)
        below = np.flatnonzero(tree.parent == node)
        assert len(below) != 1
        assert all(node < child < tree.end[node] for child in below)


def test_the_cycle_among_verbs_ends() -> None:
    tree = term_tree(wordnet(), ("restrain", "inhibit", "suppress", "keep"))
    assert tree.n_leaves[0] == 4
