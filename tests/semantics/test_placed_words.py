from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.semantics.network import distance, wordnet
from queryveil.semantics.placed_words import find_vectors, open_placed_words
from queryveil.semantics.tree import NO_MEANING, term_tree
from queryveil.semantics.word_vectors import bundled_vectors
from tests.builders import profiles_of

LOG = [["subaru", "honda", "car", "dogs", "xqzzv"]] * 2


def test_words_that_wordnet_lacks_are_near_the_nouns_used_like_them() -> None:
    network, terms = open_placed_words(profiles_of(LOG)), ("subaru", "honda", "car", "dogs", "xqzzv")
    assert wordnet().find("subaru") is None
    assert [network.find(term) is not None for term in terms] == [True, True, True, True, False]
    assert distance(network, "subaru", "honda") < distance(network, "subaru", "dogs")
    assert distance(network, "car", "dogs") == distance(wordnet(), "car", "dogs")


def test_a_placed_word_is_below_no_more_general_term() -> None:
    network, terms = open_placed_words(profiles_of(LOG)), ("subaru", "car", "dogs")
    assert not network.is_hierarchy
    assert network.hierarchy.find("subaru") is None
    tree = term_tree(network, terms)
    assert tree.names[tree.parent[tree.leaf[0]]] in NO_MEANING
    assert tree.names == term_tree(wordnet(), terms).names


def test_misspelt_and_joined_words_take_the_vectors_of_frequent_ones() -> None:
    vectors = bundled_vectors()
    position = {word: number for number, word in enumerate(vectors.words)}
    found, rows = find_vectors(("califronia", "wolfkitchen", "qxzvkw", "subaru"), vectors)
    assert found == ["califronia", "wolfkitchen", "subaru"]
    assert (rows[0] == vectors.rows[position["california"]]).all()
    both = vectors.rows[[position["wolf"], position["kitchen"]]].sum(axis=0, dtype=float)
    assert abs(rows[1] / 127 - both / abs(both).max()).max() < 0.01


def test_words_are_placed_by_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("zorp 1 0\ncar 9 1\ndog 0 1\n")
    network = open_placed_words(profiles_of([["zorp", "automobile", "subaru"]]), path)
    assert distance(network, "zorp", "automobile") == 1  # a synonym of "car"
    assert network.find("subaru") is None
    assert network.vectors is not None
    assert network.vectors.words == ("zorp", "car")  # the dog is too far away
    path.write_text(network.vectors.as_text())
    again = open_placed_words(profiles_of([["zorp", "automobile", "subaru"]]), path)
    assert again.edges.tolist() == network.edges.tolist()


def test_an_excluded_term_is_no_name_of_a_placed_word() -> None:
    network = open_placed_words(profiles_of(LOG)).hide_names(frozenset({"subaru"}))
    assert "subaru" not in {network.words_of(node)[0] for node in range(network.n_nodes)}


def test_vectors_without_a_word_of_the_log_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("car 9 1\ndog 0 1\n")
    with pytest.raises(InputError, match=r"--vectors: .* has none of the 1 words of the log that WordNet lacks; give"):
        open_placed_words(profiles_of([["zorp", "car"]]), path)
