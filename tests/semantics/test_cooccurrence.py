import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.histories.profiles import Profiles
from queryveil.kernels.cooccurrence import strongest_related
from queryveil.semantics import cooccurrence
from queryveil.semantics.cooccurrence import open_cooccurrence
from tests.builders import profiles_of

Ties = dict[str, list[tuple[str, float]]]


def twin(profiles: Profiles, least_people: int, least_shared: int, most: int) -> Ties:
    """Return every term's neighbours by counting people with sets."""
    people: dict[int, set[int]] = {}
    for h, owner in enumerate(profiles.owner.tolist()):
        for term in profiles.ids[profiles.indptr[h] : profiles.indptr[h + 1]].tolist():
            people.setdefault(term, set()).add(owner)
    people = {term: who for term, who in people.items() if len(who) >= least_people}
    n = len(set().union(*people.values()))
    found: dict[int, list[tuple[float, int]]] = {term: [] for term in people}
    for t, u in combinations(people, 2):
        both = len(people[t] & people[u])
        if both >= least_shared and both * n > len(people[t]) * len(people[u]):
            strength = math.log(both * n / (len(people[t]) * len(people[u]))) / math.log(n / both)
            found[t].append((-strength, u))
            found[u].append((-strength, t))
    name = profiles.vocabulary
    return {name[t]: [(name[u], -s) for s, u in sorted(ties)[:most]] for t, ties in found.items()}


def ties_of(profiles: Profiles) -> Ties:
    network = open_cooccurrence(profiles)
    assert network.strengths is not None
    bounds = zip(network.words, network.edge_indptr, network.edge_indptr[1:], strict=False)
    return {
        word: [(network.words[network.edges[e]], float(network.strengths[e])) for e in range(a, b)]
        for word, a, b in bounds
    }


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True), min_size=5, max_size=40),
    st.booleans(),
)
def test_neighbours_equal_those_of_the_slow_twin(histories: list[list[str]], by_session: bool) -> None:
    owners = [h // 2 if by_session else h for h in range(len(histories))]
    profiles = profiles_of(histories, owners)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "MIN_PEOPLE", 3)
        patch.setattr(cooccurrence, "MIN_SHARED", 2)
        patch.setattr(cooccurrence, "MAX_NEIGHBOURS", 3)
        patch.setattr(cooccurrence, "_VISITS_PER_CHUNK", 7)
        found = ties_of(profiles)
    expected = twin(profiles, 3, 2, 3)
    assert {t: [u for u, _ in ties] for t, ties in found.items()} == {
        t: [u for u, _ in ties] for t, ties in expected.items()
    }
    for term, ties in found.items():
        assert [s for _, s in ties] == pytest.approx([s for _, s in expected[term]])


def test_terms_of_the_same_people_are_neighbours_and_chance_is_not() -> None:
    histories = [["myspace", "band", "the"]] * 6 + [["cars", "the"]] * 14 + [["myspace", "cars", "rare"]]
    found = ties_of(profiles_of(histories))
    assert [term for term, _ in found["myspace"]] == ["band"]
    assert "rare" not in found


def test_people_with_too_many_terms_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    histories = [["a", "b"]] * 6 + [["a", "b", "c", "d"]] * 6 + [["e"]] * 9
    assert {t for t, _ in ties_of(profiles_of(histories))["c"]} >= {"d"}
    monkeypatch.setattr(cooccurrence, "MAX_TERMS_OF_PERSON", 3)
    assert ties_of(profiles_of(histories))["c"] == []


def test_no_term_with_enough_people_gives_an_empty_network() -> None:
    assert open_cooccurrence(profiles_of([["a", "b"], ["a"]])).n_nodes == 0


def test_forms_of_a_known_term_are_found() -> None:
    network = open_cooccurrence(profiles_of([["kitten", "milk"]] * 6 + [["car"]] * 6))
    assert network.find("kittens") == network.find("kitten")
    assert network.find("dog") is None


def test_strengths_over_several_steps_are_products_along_the_best_path() -> None:
    # 0 → 1 → 2 and 0 → 2 directly, 2 → 3
    indptr, edges = np.array([0, 2, 3, 4, 4]), np.array([1, 2, 2, 3], np.int32)
    strengths = np.array([0.8, 0.1, 0.5, 0.5])
    expected: dict[int, dict[int, float]] = {
        0: {0: 1.0},
        1: {0: 1.0, 1: 0.8, 2: 0.1},
        2: {0: 1.0, 1: 0.8, 2: 0.4, 3: 0.05},
        3: {0: 1.0, 1: 0.8, 2: 0.4, 3: 0.2},
    }
    for steps, ties in expected.items():
        _, nodes, found = strongest_related(np.array([0], np.int32), indptr, edges, strengths, steps, 9)
        assert dict(zip(nodes.tolist(), found.round(12).tolist(), strict=True)) == ties
    bounds, nodes, _ = strongest_related(np.array([0, 1], np.int32), indptr, edges, strengths, 3, 2)
    assert (bounds.tolist(), nodes.tolist()) == ([0, 3, 6], [0, 1, 2, 1, 2, 3])


def test_neighbours_are_sorted_by_strength() -> None:
    for ties in ties_of(profiles_of([["a", "b"]] * 9 + [["a", "c"]] * 5 + [["d"]] * 20)).values():
        assert [s for _, s in ties] == sorted((s for _, s in ties), reverse=True)
        assert max(Counter(u for u, _ in ties).values(), default=1) == 1
