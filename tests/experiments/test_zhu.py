"""The evaluation of Zhu and Xiong 2010: its example tables, and the people that take part."""

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.experiments.zhu.examples import GROUPS, SIMILARITY, SYNONYMS, example_tables, sets_of, similarity
from queryveil.experiments.zhu.grid import FEWEST, TERMS, equal_profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of

TABLE_4 = {
    "UP_1": (
        "({kitten, kitty}, 1), ({riding, horseback riding, equitation}, 0.8), ({young mammal}, 1), "
        "({sport, athletics}, 0.8)"
    ),
    "UP_2": (
        "({pup, whelp}, 0.6), ({riding, horseback riding, equitation}, 1), ({young mammal}, 0.6), "
        "({sport, athletics}, 1)"
    ),
}


def test_the_example_tables_equal_the_paper() -> None:
    tables = {table.name: table for table in example_tables()}
    assert list(tables) == [f"Table {i}" for i in range(1, 6)]
    for term, synonyms in SYNONYMS.items():
        assert sets_of(term, 0) == [synonyms]
    assert {a: round(similarity(a), 3) for a in SIMILARITY} == SIMILARITY
    assert {row[0]: row[1] for row in tables["Table 4"].rows} == TABLE_4
    assert {label: tuple(ours.split(", ")) for label, _, ours, _ in tables["Table 5"].rows} == GROUPS


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
