from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import Score
from queryveil.kinds.base import kind_of
from queryveil.measures.base import Comparison
from queryveil.measures.utility.patterns import measure_patterns
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.network import Network, distance, wordnet
from tests.builders import profiles_of
from tests.goods import VOCABULARIES, goods
from tests.measures.test_blm import GOODS, LG, SSC, Bag, released_of, typed
from tests.twins.patterns import closed_patterns

WORDS = ("dog", "cat", "wolf", "car", "wine", "beer", "qzx")


def patterns(comparison: Comparison | Vocabularies, name: str = "patterns") -> tuple[Score, Score]:
    recall, far = measure_patterns(Evidence(comparison), resolve("measure", name), rng=np.random.default_rng(0))
    return recall, far


def slow_distance(network: Network, one: tuple[str, ...], other: tuple[str, ...], eps: int) -> float:
    """Return the weight of the perfect matching on the padded problem."""
    omega, n = eps + 1, len(one) + len(other)
    cost = np.zeros((n, n))
    cost[: len(one), len(other) :] = omega
    cost[len(one) :, : len(other)] = omega
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            steps = 0 if a == b else distance(network, a, b)
            cost[i, j] = steps if steps <= eps else 1e6
    return float(cost[linear_sum_assignment(cost)].sum())


def slowly(network: Network, before: list[list[str]], after: list[list[str]], n: int, eps: int) -> tuple[float, float]:
    found = []
    for rows in (before, after):
        by_people = sorted({t for row in rows for t in row}, key=lambda t: (-sum(t in row for row in rows), t))
        numbered = [{by_people.index(term) for term in row} for row in rows]
        found.append([tuple(by_people[i] for i in entries) for _, entries in closed_patterns(numbered, n)])
    originals, released = found
    total = sum(map(len, originals))
    shared = sum(max(len(set(o) & set(a)) for a in released) for o in originals)
    far = sum(min(slow_distance(network, o, a, eps) for a in released) for o in originals)
    return 100 * shared / total, far / total


rows = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=2, max_size=7)


@settings(max_examples=60)
@given(rows, rows, st.integers(1, 12), st.sampled_from([2, 8]))
def test_distances_equal_padded_matchings_of_all_pairs(
    before: list[list[str]], after: list[list[str]], n: int, eps: int
) -> None:
    bags = [typed(*row) for row in after]
    comparison = Vocabularies(profiles_of(before), released_of(bags), None, wordnet(), 4)
    recall, far = patterns(comparison, f"patterns(n={n}, eps={eps})")
    assert (recall.value, far.value) == pytest.approx(slowly(wordnet(), before, after, n, eps))


def test_a_release_of_everything_loses_no_pattern() -> None:
    log = profiles_of(VOCABULARIES)
    recall, far = patterns(Comparison(kind_of("histories"), log, log, None))
    assert (recall.value, far.value) == (100.0, 0.0)


def test_clusters_keep_more_patterns_than_generalising(tmp_path: Path) -> None:
    log, network = profiles_of(VOCABULARIES), goods(tmp_path)
    ssc, lg = (
        patterns(Vocabularies(log, released_of(bags), None, network, 4), "patterns(eps=4)") for bags in (SSC, LG)
    )
    assert lg[0].value == 0.0
    assert ssc[0].value is not None
    assert ssc[0].value > 50
    assert ssc[1].value is not None
    assert lg[1].value is not None
    assert ssc[1].value < lg[1].value


def test_a_generalised_name_is_not_the_term_of_that_name(tmp_path: Path) -> None:
    log = profiles_of([("goods",), ("goods",)])
    recall, far = patterns(Vocabularies(log, released_of([GOODS] * 2), None, goods(tmp_path), 4))
    assert (recall.value, far.value) == (0.0, 0.0)


def test_no_pair_of_terms_is_nearer_than_leaving_both_alone(tmp_path: Path) -> None:
    words = sorted({term for vocabulary in VOCABULARIES for term in vocabulary})
    for one, other in combinations(words, 2):
        bags: list[Bag] = [typed(other)]
        released = Vocabularies(profiles_of([(one,)]), released_of(bags), None, goods(tmp_path), 4)
        _, far = patterns(released, "patterns(eps=4)")
        assert far.value == slow_distance(goods(tmp_path), (one,), (other,), 4)
