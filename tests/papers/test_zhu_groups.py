"""Zhu & Xiong 2010: Table 5, the groups of the four example profiles.

With the paper's weighting UP_3 (coffee) and UP_4 (programming) share no meaning: they form a group because they remain
when the first seed is UP_1 or UP_2. From p = 0.625 on, four terms are enough for two profiles of 2.5 terms on average;
up to p = 0.833, the three terms of UP_3 are not enough for it alone.
"""

import numpy as np
import pytest

from queryveil.core.names import resolve
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability import group_profiles
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import wordnet

PROFILES = (
    {"kitten": 1.0, "riding": 0.8},
    {"pup": 0.6, "equitation": 1.0},
    {"mocha": 0.7, "java": 0.6, "coffee": 0.8},
    {"programming language": 0.6, "java": 1.0, "c++": 0.4},
)
WORDS = ("java", "c++", "coffee", "equitation", "kitten", "mocha", "programming language", "pup", "riding")
SEEDS = [seed for seed in range(10) if np.random.default_rng(seed).integers(4) < 2]  # UP_1 or UP_2 is drawn first


def example() -> Profiles:
    """Return the profiles of Table 1."""
    rows = [sorted((WORDS.index(term), weight) for term, weight in row.items()) for row in PROFILES]
    return Profiles(
        WORDS,
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([term for row in rows for term, _ in row], np.int32),
        np.ones(sum(map(len, rows)), np.int32),
        np.arange(4, dtype=np.int32),
        ("UP_1", "UP_2", "UP_3", "UP_4"),
        weights=np.array([weight for row in rows for _, weight in row]),
    )


def published_terms(grouped: Grouping, g: int) -> set[str]:
    return {WORDS[i] for i in grouped.ids[grouped.indptr[g] : grouped.indptr[g + 1]]}


@pytest.mark.parametrize("p", [0.625, 0.7, 0.8, 0.833])
@pytest.mark.parametrize("closest", ["seed", "centroid"])
@pytest.mark.parametrize("average", ["group", "global"])
@pytest.mark.parametrize("a", [0, 1, 3])
def test_table_5_groups_the_four_profiles_in_pairs(p: float, closest: str, average: str, a: int) -> None:
    name = f"linkability(p={p}, a={a}, closest={closest}, average={average}, representative=union, floor=1)"
    features = augment(example(), wordnet(), a=a, weighting="paper", unknown="keep")
    assert SEEDS
    for seed in SEEDS:
        grouped = group_profiles(example(), features, resolve("method", name), rng=np.random.default_rng(seed))
        assert grouped.group[0] == grouped.group[1] != grouped.group[2] == grouped.group[3]
        assert published_terms(grouped, int(grouped.group[0])) == {"kitten", "riding", "pup", "equitation"}
        assert published_terms(grouped, int(grouped.group[2])) == {
            "mocha",
            "java",
            "coffee",
            "programming language",
            "c++",
        }
