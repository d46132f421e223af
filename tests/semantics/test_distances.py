import math
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import InputError
from queryveil.core.rows import indptr_of_sorted
from queryveil.semantics.cooccurrence import open_cooccurrence
from queryveil.semantics.network import (
    Network,
    ancestry,
    distance,
    lowest_common_ancestor,
    wordnet,
    wordnet_with_relations,
)
from tests.builders import profiles_of
from tests.semantics.networks import WORDS, networks
from tests.twins.augmentation import paths_of


def heights(network: Network, word: str, parts: set[int]) -> dict[int, int]:
    """Return every node above a word's senses with the fewest edges to it, by walking all paths."""
    number = network.find(word)
    if number is None:
        return {}
    found: dict[int, int] = {}
    for sense in network.senses[network.sense_indptr[number] : network.sense_indptr[number + 1]].tolist():
        for path in paths_of(network, sense) if network.parts[sense] in parts else ():
            for height, node in enumerate(path):
                found[node] = min(height, found.get(node, height))
    return found


def twin_distance(network: Network, one: str, other: str) -> float:
    for parts in ({0}, {1, 2, 3}):
        first, second = heights(network, one, parts), heights(network, other, parts)
        if parts == {1, 2, 3} or (first and second):
            return min((first[node] + second[node] for node in first.keys() & second.keys()), default=math.inf)
    raise AssertionError


@settings(max_examples=100)
@given(networks(), st.one_of(st.none(), st.integers(0, 5)))
def test_distances_equal_those_of_the_slow_twin(network: Network, limit: int | None) -> None:
    pairs = np.array(list(combinations_with_replacement(range(len(WORDS)), 2)), np.int32)
    found = ancestry(network, WORDS, limit=limit).distances(pairs[:, 0].copy(), pairs[:, 1].copy())
    expected = [twin_distance(network, WORDS[a], WORDS[b]) for a, b in pairs]
    assert found.tolist() == [d if limit is None or d <= limit else math.inf for d in expected]


def shortest_path(network: Network, related: set[tuple[int, int]], one: str, other: str) -> float:
    """Return the fewest relations between any two senses, spreading from all senses of one word a step at a time."""

    def senses(text: str) -> set[int]:
        word = network.find(text)
        return set() if word is None else set(network.senses[slice(*network.sense_indptr[word : word + 2])].tolist())

    reached, wanted, steps = senses(one), senses(other), 0
    while reached and wanted:
        if reached & wanted:
            return steps
        wider = reached | {b for a, b in related if a in reached}
        if wider == reached:
            break
        reached, steps = wider, steps + 1
    return math.inf


@settings(max_examples=100)
@given(networks(), st.one_of(st.none(), st.integers(0, 5)), st.data())
def test_distances_over_relations_equal_those_of_the_slow_twin(
    network: Network, limit: int | None, data: st.DataObject
) -> None:
    nodes = st.integers(0, network.n_nodes - 1)
    drawn = data.draw(st.sets(st.tuples(nodes, nodes), max_size=12))
    related = sorted(drawn | {(b, a) for a, b in drawn})  # relations are walked in both directions
    rows, values = (np.array([pair[i] for pair in related], np.int32) for i in (0, 1))
    with_relations = replace(network, relations=(indptr_of_sorted(rows, network.n_nodes), values))
    pairs = np.array(list(combinations_with_replacement(range(len(WORDS)), 2)), np.int32)
    found = ancestry(with_relations, WORDS, limit=limit).distances(pairs[:, 0].copy(), pairs[:, 1].copy())
    expected = [shortest_path(network, set(related), WORDS[a], WORDS[b]) for a, b in pairs]
    assert found.tolist() == [d if limit is None or d <= limit else math.inf for d in expected]
    assert with_relations.hierarchy.relations is None


def test_distances_in_wordnet_by_all_relations() -> None:
    """A dog is a domestic animal, so is a domestic cat, and that is a cat: a path that no common hypernym is on."""
    network = wordnet_with_relations()
    assert distance(wordnet(), "dog", "cat") == 4
    assert distance(network, "dog", "cat") == 3
    assert distance(network, "hot", "cold") == 1  # antonyms
    assert distance(network, "car door", "car") == 1  # a part and the whole
    assert distance(network, "beautiful", "beautifully") == 1  # derived, across parts of speech
    assert distance(network, "myspace", "dog") == math.inf
    pair = np.array([0], np.int32), np.array([1], np.int32)
    assert ancestry(network, ("dog", "cat"), limit=3).distances(*pair).tolist() == [3]
    assert ancestry(network, ("dog", "cat"), limit=2).distances(*pair).tolist() == [math.inf]


def test_distances_in_wordnet() -> None:
    network = wordnet()
    assert distance(network, "dog", "dogs") == 0
    assert distance(network, "kitten", "pup") == 2
    assert distance(network, "wine", "beer") == 3  # both are alcohol, beer is a brew
    assert distance(network, "quickly", "dog") == math.inf
    assert distance(network, "myspace", "dog") == math.inf
    assert distance(network, "restrain", "inhibit") == 1  # on the cycle among verbs


def test_lowest_common_ancestor_in_wordnet() -> None:
    network = wordnet()
    above = ancestry(network, ("kitten", "pup", "myspace"))
    found = lowest_common_ancestor(above, np.array([0, 1], np.int32))
    assert found is not None
    assert network.words_of(found[0]) == ("young mammal",)
    assert lowest_common_ancestor(above, np.array([0, 2], np.int32)) is None


def test_terms_beyond_the_limit_are_unconnected() -> None:
    pair = np.array([0], np.int32), np.array([1], np.int32)
    assert ancestry(wordnet(), ("wine", "beer"), limit=3).distances(*pair).tolist() == [3]
    assert ancestry(wordnet(), ("wine", "beer"), limit=2).distances(*pair).tolist() == [math.inf]


def test_a_network_without_hypernyms_has_no_distances() -> None:
    network = open_cooccurrence(profiles_of([["a", "b"]] * 6))
    with pytest.raises(InputError, match="the network cooccurrence has no hypernyms"):
        distance(network, "a", "b")
    with pytest.raises(InputError, match="has no hypernyms"):
        network.paths(0)
