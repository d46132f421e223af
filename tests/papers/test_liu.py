"""The running example of Liu and Wang 2010: Figures 1 to 3."""

from pathlib import Path

import numpy as np
import pytest

from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import best_savings, columns_of, distance
from queryveil.kernels.clustering.growing import begin, centre_of
from queryveil.methods.vocabulary.clustering import cluster_vocabularies, prepare, rule_of
from queryveil.semantics.network import Network
from queryveil.semantics.network import distance as term_distance
from queryveil.semantics.taxonomy import read_taxonomy
from tests.builders import profiles_of, run_method

TREE = """child,parent
edibles,goods
apparel,goods
alcohol,edibles
dairy,edibles
outer,apparel
footwear,apparel
wine,alcohol
vino,alcohol
raw-milk,dairy
homo-milk,dairy
jackets,outer
pants,outer
boots,footwear
shoes,footwear
"""
VOCABULARIES = (
    "wine wine jackets boots",
    "vino vino jackets shoes",
    "wine vino raw-milk jackets shoes",
    "vino raw-milk raw-milk homo-milk",
    "raw-milk homo-milk homo-milk jackets pants",
)
METHOD = "vocabulary(k=2, eps=4, floor=1)"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path: Path = tmp_path_factory.mktemp("liu") / "tree.csv"
    path.write_text(TREE)
    return read_taxonomy(path)


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return profiles_of([vocabulary.split() for vocabulary in VOCABULARIES])


def vocabulary_distance(profiles: Profiles, network: Network, method: str, one: int, other: int) -> int:
    """Return the distance of two vocabularies."""
    rule = rule_of(resolve("method", method))
    bags, cache = prepare(profiles, network, rule.eps)
    centre = centre_of(begin(bags, one), bags, cache, rule)
    _, reach = best_savings(centre, np.zeros(len(centre.units), np.int64))
    return int(distance(centre, bags, other, columns_of(bags, other, reach), -(1 << 60), 1 << 60)[0])


def bags_of_histories(published: PublishedVocabularies) -> list[dict[str, int]]:
    """Return the published bag of every history."""
    rows = np.split(np.arange(len(published.ids)), published.indptr[1:-1])
    return [{published.terms[published.ids[i]]: int(published.counts[i]) for i in row} for row in rows]


def test_distances_of_terms(network: Network) -> None:
    assert term_distance(network, "wine", "vino") == 2
    assert term_distance(network, "wine", "jackets") == 6


def test_distance_of_the_first_two_vocabularies(profiles: Profiles, network: Network) -> None:
    assert vocabulary_distance(profiles, network, "vocabulary(k=2, eps=4, model=maximum)", 0, 1) == 6
    assert vocabulary_distance(profiles, network, "vocabulary(k=2, eps=4)", 0, 1) == 6


def test_the_two_models_differ_for_large_omega(profiles: Profiles, network: Network) -> None:
    assert vocabulary_distance(profiles, network, "vocabulary(k=2, eps=4, model=maximum)", 0, 2) == 4
    assert vocabulary_distance(profiles, network, "vocabulary(k=2, eps=4, omega=100)", 0, 2) == 104


def test_the_clusters_equal_the_paper(profiles: Profiles, network: Network) -> None:
    rule = rule_of(resolve("method", METHOD))
    found = cluster_vocabularies(*prepare(profiles, network, rule.eps), rule, silent)
    assert [cluster.members.tolist() for cluster in found] == [[0, 1, 2], [3, 4]]


def test_the_typical_vocabularies_equal_the_paper(profiles: Profiles, network: Network) -> None:
    one = {"wine": 1, "vino": 1, "jackets": 1, "shoes": 1}
    other = {"raw-milk": 2, "homo-milk": 1}
    assert bags_of_histories(run_method(profiles, METHOD, network)) == [one, one, one, other, other]


def test_typical_vocabularies_as_bags_and_generalized(profiles: Profiles, network: Network) -> None:
    one = {"vino|wine": 2, "jackets": 1, "boots|shoes": 1}
    other = {"raw-milk": 1, "homo-milk": 1, "homo-milk|raw-milk": 1}
    made = run_method(profiles, METHOD[:-1] + ", typical=bags)", network)
    assert bags_of_histories(made) == [one] * 3 + [other] * 2
    one, other = {"alcohol": 2, "jackets": 1, "footwear": 1}, {"raw-milk": 1, "homo-milk": 1, "dairy": 1}
    made = run_method(profiles, METHOD[:-1] + ", typical=generalize)", network)
    assert bags_of_histories(made) == [one] * 3 + [other] * 2
    assert sorted(zip(made.ids.tolist(), made.levels.tolist(), strict=True))[0] == (0, 1)  # alcohol is one level up


def test_the_seed_rule_of_the_pseudo_code_gives_other_clusters(profiles: Profiles, network: Network) -> None:
    rule = rule_of(resolve("method", METHOD[:-1] + ", seed_rule=first)"))
    found = cluster_vocabularies(*prepare(profiles, network, rule.eps), rule, silent)
    assert [set(cluster.members) for cluster in found] != [{0, 1, 2}, {3, 4}]
