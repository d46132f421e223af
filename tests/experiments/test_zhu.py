"""The evaluation of Zhu and Xiong 2010: its example tables, and the people that take part."""

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.experiments.zhu.examples import (
    GROUPS,
    SIMILARITY,
    SYNONYMS,
    example_tables,
    java_path,
    sets_of,
    similarity,
)
from queryveil.experiments.zhu.grid import FEWEST, TERMS, equal_profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of


def test_the_example_tables_equal_the_paper() -> None:
    tables = {table.name: table for table in example_tables()}
    assert list(tables) == ["Table 1", "Figure 1", *(f"Table {i}" for i in range(2, 6))]
    for term, synonyms in SYNONYMS.items():
        assert sets_of(term, 0) == [synonyms]
    assert {a: round(similarity(a), 3) for a in SIMILARITY} == SIMILARITY
    for name in ("Table 3", "Table 4"):
        assert [row[1] for row in tables[name].rows] == [row[2] for row in tables[name].rows]
    assert {label: tuple(ours.split(", ")) for label, _, ours, _ in tables["Table 5"].rows} == GROUPS


def test_java_of_a_coffee_drinker_and_of_a_programmer() -> None:
    assert java_path("UP_3")[:2] == [("coffee", "java"), ("beverage", "drink", "drinkable", "potable")]
    assert ("programming language", "programing language") in java_path("UP_4")
    paths = {row[0]: row[1] for row in example_tables()[1].rows}
    assert paths["kitten"].startswith("{kitten, kitty} → {young mammal} → ")
    assert all(path.endswith(" → {entity}") for path in paths.values())


def test_people_take_part_with_equally_many_known_terms() -> None:
    words = [word for word in wordnet().words if word.isalpha() and word not in STOP_WORDS][: 2 * TERMS]
    rng = np.random.default_rng(2)
    long = [[*rng.permutation(words)[: TERMS + 20].tolist(), "the", "xyzzyx"] for _ in range(FEWEST + 5)]
    profiles = profiles_of([*long[:50], words[: TERMS - 1], *long[50:]])  # the person in between has too few terms
    equal = equal_profiles(profiles, FEWEST + 2, np.random.default_rng(0))
    assert equal.n_people == FEWEST + 2
    assert set(np.diff(equal.indptr).tolist()) == {TERMS}
    assert set(equal.vocabulary) <= set(words)
    for person in (0, 49, 50):
        row = equal.ids[equal.indptr[person] : equal.indptr[person + 1]]
        own = long[person]
        assert (np.diff(row) > 0).all()
        assert {equal.vocabulary[entry] for entry in row.tolist()} < set(own)
    with pytest.raises(InputError, match=f"have {TERMS} terms that WordNet knows, and the paper's evaluation takes"):
        equal_profiles(profiles_of(long[:3]), FEWEST, np.random.default_rng(0))
