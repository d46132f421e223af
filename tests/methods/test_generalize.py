from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import GuaranteeError
from queryveil.core.progress import silent
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.methods.generalize import divide
from queryveil.semantics.network import Network, wordnet
from queryveil.semantics.tree import TermTree, term_tree
from tests.builders import profiles_of, run_method
from tests.goods import VOCABULARIES, goods
from tests.twins import generalize as twin

WORDS = ("dog", "cat", "wolf", "car", "bus", "truck", "wine", "beer", "run", "walk", "red", "qzx", "myspace", "animal")


def generalized(profiles: Profiles, network: Network, method: str) -> PublishedVocabularies:
    published: PublishedVocabularies = run_method(profiles, method, network)
    return published


def bags(published: PublishedVocabularies) -> list[dict[tuple[str, int], int]]:
    return [
        {
            (published.terms[published.ids[i]], int(published.levels[i])): int(published.counts[i])
            for i in range(begin, end)
        }
        for begin, end in pairwise(published.indptr)
    ]


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return goods(tmp_path)


def test_running_example_of_liu_and_wang(network: Network) -> None:
    """Figure 2(b): Goods for the first and fourth, whose terms section V-A lists; Edibles, Apparel for the others."""
    found = bags(generalized(profiles_of(VOCABULARIES), network, "generalize(k=2)"))
    first, second = {("goods", 3): 4}, {("edibles", 2): 2, ("apparel", 2): 2}
    assert found == [first, second, second, first, second]


def test_sets_keep_each_name_once(network: Network) -> None:
    found = bags(generalized(profiles_of(VOCABULARIES), network, "generalize(k=2, bags=false)"))
    assert found[:2] == [{("goods", 3): 1}, {("edibles", 2): 1, ("apparel", 2): 1}]


def test_terms_that_all_share_stay_as_typed(network: Network) -> None:
    found = bags(generalized(profiles_of([("wine", "boots")] * 3), network, "generalize(k=3)"))
    assert found == [{("wine", 0): 1, ("boots", 0): 1}] * 3


def test_a_term_of_fewer_people_than_the_floor_is_left_out(network: Network) -> None:
    log = profiles_of([("wine", "boots")] * 3 + [("boots",)] * 3)
    found = bags(generalized(log, network, "generalize(k=3, floor=4)"))
    assert found == [{("boots", 0): 1}] * 6


def test_terms_in_no_network_stand_apart() -> None:
    found = bags(generalized(profiles_of([("qzx", "dog"), ("vbq", "cat")]), wordnet(), "generalize(k=2)"))
    assert found == [{("(other)", 1): 1, ("carnivore", 2): 1}] * 2


def test_too_few_people_are_refused(network: Network) -> None:
    with pytest.raises(GuaranteeError, match="only 2 people"):
        generalized(profiles_of([("wine",), ("vino",)]), network, "generalize(k=3)")


def test_histories_of_one_person_count_once(network: Network) -> None:
    log = profiles_of([("wine",), ("wine",), ("vino",), ("boots",)], [0, 0, 1, 2])
    found = bags(generalized(log, network, "generalize(k=2)"))
    assert found == [{("goods", 3): 1}] * 4


logs = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=4, max_size=14).filter(
    lambda rows: sum(map(bool, rows)) > 3
)


def parts(log: Profiles, tree: TermTree, k: int) -> tuple[list[list[int]], list[Any]]:
    rows = [sorted(tree.leaf[log.ids[a:b]].tolist()) for a, b in pairwise(log.indptr)]
    leaves = np.array([leaf for row in rows for leaf in row], np.int32)
    found = divide(log.indptr, leaves, log.owner, tree, k, silent)
    return rows, [(part.members.tolist(), part.cut.tolist()) for part in found]


@settings(max_examples=100)
@given(logs, st.integers(2, 4), st.integers(1, 3))
def test_same_as_the_slow_twin(histories: list[list[str]], k: int, each: int) -> None:
    log = profiles_of(histories, [h // each for h in range(len(histories))])
    tree = term_tree(wordnet(), log.vocabulary)
    rows, found = parts(log, tree, k)
    if sum(map(bool, rows)) and len({log.owner[h] for h, row in enumerate(rows) if row}) >= k:
        assert found == twin.divide(rows, log.owner.tolist(), tree, k)


@settings(max_examples=60)
@given(logs, st.booleans())
def test_every_vocabulary_is_that_of_k_people_and_covers_them(histories: list[list[str]], keep_counts: bool) -> None:
    log = profiles_of(histories)
    found = bags(generalized(log, wordnet(), f"generalize(k=2, bags={str(keep_counts).lower()})"))
    shared = Counter(tuple(sorted(bag.items())) for bag in found if bag)
    assert min(shared.values()) >= 2
    for bag, (begin, end) in zip(found, pairwise(log.indptr), strict=True):
        assert 0 < sum(bag.values()) <= log.counts[begin:end].sum()
