"""What a published name may stand for: the terms that it lists, or all below it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.semantics.network import Network
from queryveil.semantics.taxonomy import taxonomy_of
from queryveil.semantics.tree import term_tree, terms_below, terms_listed
from tests.goods import EDGES
from tests.semantics.networks import WORDS, networks
from tests.twins.augmentation import paths_of


@settings(max_examples=100)
@given(networks(), st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
def test_names_stand_for_the_terms_of_all_nodes_below(network: Network, names: list[str]) -> None:
    found = terms_below(names, WORDS, network, term_tree(network, WORDS))
    expected = set()
    for term, text in enumerate(WORDS):
        number = network.find(text)
        senses = [] if number is None else network.senses[slice(*network.sense_indptr[number : number + 2])].tolist()
        above = {node for sense in senses for path in paths_of(network, sense) for node in path}
        usual = {network.words_of(node)[0] for node in above}
        expected |= {(term, name) for name, text in enumerate(names) if text in usual}
    assert {(int(term), int(name)) for term, how, name in found if how == 1} == expected
    assert {(int(term), int(name)) for term, how, name in found if how == 0} <= expected


def test_names_above_unknown_terms_stand_for_all_of_them() -> None:
    network, terms = taxonomy_of(EDGES), ("wine", "vino", "jackets", "xq", "zx")
    found = terms_below(("alcohol", "(other)", "goods"), terms, network, term_tree(network, terms))
    assert {(terms[term], name) for term, _, name in found.tolist()} == {
        ("wine", 0),
        ("vino", 0),
        ("xq", 1),
        ("zx", 1),
        ("wine", 2),
        ("vino", 2),
        ("jackets", 2),
    }


def test_lists_stand_for_their_parts() -> None:
    found = terms_listed(("wine", "vino|wine", "wine|beer"), ("vino", "wine"))
    assert found.tolist() == [[0, 1], [1, 1], [1, 2]]
    assert terms_listed((), ()).shape == (0, 2)
    assert found.dtype == np.int64
