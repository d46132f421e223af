import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from queryveil.core.errors import InputError
from queryveil.kernels.semantics import paths_up
from queryveil.semantics import DECLARATIONS
from queryveil.semantics.network import Network, wordnet
from tests.builders import profiles_of
from tests.semantics.networks import network_of, networks, synonym_sets
from tests.twins.augmentation import paths_of


def test_every_declared_network_opens_with_the_same_arguments(tmp_path: Path) -> None:
    taxonomy, vectors = tmp_path / "taxonomy.csv", tmp_path / "vectors.txt"
    taxonomy.write_text("dog,animal\n")
    vectors.write_text("dog 1 0\n")
    profiles = profiles_of([["dog", "bone"]] * 6 + [["car"]] * 6)
    opened = {d.name: d.load()(profiles, vectors if d.name == "vectors" else taxonomy) for d in DECLARATIONS}
    assert {name: network.name for name, network in opened.items()} == {name: name for name in opened}
    assert set(opened) == {"wordnet", "wordnet_all", "taxonomy", "cooccurrence", "vectors"}
    assert all(network.find("dogs") == network.find("dog") is not None for network in opened.values())


def test_the_taxonomy_network_needs_a_file() -> None:
    declaration = next(d for d in DECLARATIONS if d.name == "taxonomy")
    with pytest.raises(InputError, match="give it by --taxonomy"):
        declaration.load()(profiles_of([["dog"]]))


def test_listing_networks_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from queryveil.semantics import DECLARATIONS\n"
        "assert not {'numpy', 'numba', 'pyarrow'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@settings(max_examples=60)
@given(networks())
def test_paths_equal_those_of_the_slow_twin(network: Network) -> None:
    for node in range(network.n_nodes):
        assert network.paths(node) == paths_of(network, node)


def test_paths_of_one_node_are_limited() -> None:
    # a ladder of 12 rungs with two nodes each: 2 ** 11 ways up
    parents: list[list[int]] = [[]] + [[0]] * 2 + [[2 * (rung // 2) - 1, 2 * (rung // 2)] for rung in range(2, 22)]
    network = network_of([[0]] * len(parents), parents, len(parents))
    assert len(network.paths(len(parents) - 1)) == 256
    few, _, _ = paths_up(np.array([len(parents) - 1], np.int32), network.edge_indptr, network.edges, 3)
    assert few.tolist() == [0, 3]


def test_each_hypernym_of_a_synset_starts_its_own_path() -> None:
    network = wordnet()
    dog = int(network.senses[network.sense_indptr[network.lemmas.numbers["dog"]]])
    above = [network.words_of(path[1])[0] for path in network.paths(dog)]
    assert above == ["canine", "domestic animal"]
    assert {network.words_of(path[-1]) for path in network.paths(dog)} == {("entity",)}


def test_senses_are_in_sense_order() -> None:
    assert synonym_sets(wordnet(), "scarlets")[0] == ("scarlet", "vermilion", "orange red")
    assert synonym_sets(wordnet(), "myspace") == []
