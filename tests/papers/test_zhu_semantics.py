"""Zhu & Xiong 2010: Tables 1 to 4 and Figure 1, the meanings of the terms of the example profiles."""

from dataclasses import replace

import numpy as np
import pytest

from queryveil.core.rows import row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.semantics.augmentation import FeatureMatrix, Unknown, augment
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of
from tests.semantics.networks import synonym_sets
from tests.twins.augmentation import augmented

TABLE_1 = (
    {"kitten": 1.0, "riding": 0.8},
    {"pup": 0.6, "equitation": 1.0},
    {"mocha": 0.7, "java": 0.6, "coffee": 0.8},
    {"programming language": 0.6, "java": 1.0, "C++": 0.4},
)


@pytest.fixture
def profiles() -> Profiles:
    found = profiles_of(TABLE_1)
    bounds = zip(TABLE_1, found.indptr, found.indptr[1:], strict=False)
    weights = [user[found.vocabulary[entry]] for user, a, b in bounds for entry in found.ids[a:b].tolist()]
    return replace(found, weights=np.array(weights))


def dense(features: FeatureMatrix) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    table = np.zeros((len(features.indptr) - 1, features.n_dimensions))
    table[row_numbers(features.indptr), features.ids] = features.values
    return table


def similarity(features: FeatureMatrix, one: int, other: int) -> float:
    table = dense(features)
    return float(table[one] @ table[other] / np.linalg.norm(table[one]) / np.linalg.norm(table[other]))


@pytest.mark.parametrize(
    ("term", "synonyms"),
    [
        ("Kitten", {"kitten", "kitty"}),
        ("Riding", {"riding", "horseback riding", "equitation"}),
        ("Pup", {"pup", "whelp"}),
        ("Equitation", {"riding", "horseback riding", "equitation"}),
    ],
)
def test_table_2_synonym_sets(term: str, synonyms: set[str]) -> None:
    assert set(synonym_sets(wordnet(), term)[0]) == synonyms


@pytest.mark.parametrize(
    ("a", "expected", "printed"), [(0, 0.53567, 0.536), (1, 0.73655, 0.737)], ids=["table 3", "table 4"]
)
@pytest.mark.parametrize("unknown", ["drop", "keep"])
def test_tables_3_and_4_similarity_of_up_1_and_up_2(
    profiles: Profiles, a: int, expected: float, printed: float, unknown: Unknown
) -> None:
    found = similarity(augment(profiles, wordnet(), a=a, weighting="paper", unknown=unknown), 0, 1)
    assert round(found, 5) == expected
    assert round(found, 3) == printed


def weights_by_synonym_set(profiles: Profiles, a: int) -> list[dict[tuple[str, ...], float]]:
    """Return the synonym sets of every profile with their weights; the twin tells which node a dimension is."""
    network = wordnet()
    features = augment(profiles, network, a=a, weighting="paper", unknown="drop")
    nodes = sorted({node for vector in augmented(profiles, network, a, "paper", "drop") for _, node in vector})
    words = [network.words_of(node) for node in nodes]
    return [{words[d]: row[d] for d in np.flatnonzero(row)} for row in dense(features)]


def test_table_4_the_augmented_profiles(profiles: Profiles) -> None:
    riding = ("riding", "horseback riding", "equitation")
    up_1, up_2 = weights_by_synonym_set(profiles, a=1)[:2]
    assert up_1 == {("kitten", "kitty"): 1.0, riding: 0.8, ("young mammal",): 1.0, ("sport", "athletics"): 0.8}
    assert up_2 == {("pup", "whelp"): 0.6, riding: 1.0, ("young mammal",): 0.6, ("sport", "athletics"): 1.0}


def test_figure_1_java_is_coffee_for_up_3_and_a_programming_language_for_up_4(profiles: Profiles) -> None:
    up_3, up_4 = weights_by_synonym_set(profiles, a=1)[2:]
    island, coffee, language = (synonym_sets(wordnet(), "java")[sense] for sense in range(3))
    assert island == language == ("java",)
    assert up_3[coffee] == pytest.approx(0.7 + 0.6 + 0.8)  # coffee, java, and mocha, which is a coffee
    assert up_4[language] == 1.0
    assert up_4["object-oriented programming language", "object-oriented programing language"] == 1.0
    assert ("island",) not in up_3 | up_4


def test_c_plus_plus_is_not_in_wordnet(profiles: Profiles) -> None:
    assert wordnet().find("C++") is None
    dropped, kept = (augment(profiles, wordnet(), a=0, weighting="paper", unknown=u) for u in ("drop", "keep"))
    assert kept.n_dimensions == dropped.n_dimensions + 1
