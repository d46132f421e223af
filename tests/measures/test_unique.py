"""Uniqueness against a slow, obvious twin, and on examples whose answer is known by hand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil.measures.privacy.unique as unique
from queryveil.core.errors import UnknownNameError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.core.results import Score, wilson
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import kind_of
from queryveil.measures import UNIQUE
from queryveil.measures.base import Comparison
from tests.builders import profiles_of, rows

LETTERS = "abcdefghij"

data = st.lists(
    st.tuples(st.integers(0, 4), st.sets(st.sampled_from(LETTERS), min_size=1, max_size=8)), min_size=1, max_size=24
).map(lambda histories: sorted(histories, key=lambda history: history[0]))


def build(histories: Sequence[tuple[int, set[str]]]) -> Profiles:
    return profiles_of([sorted(terms) for _, terms in histories], [owner for owner, _ in histories])


def twin(profiles: Profiles, owner: Sequence[int], combination: set[int]) -> bool:
    """Collect everyone who holds all the terms, and see whether it is one."""
    return len({owner[h] for h, row in enumerate(rows(profiles)) if combination <= set(row)}) == 1


def measure(comparison: Comparison, m: int, seed: int = 1) -> Score:
    (score,) = unique.measure_uniqueness(
        Evidence(comparison), resolve("measure", f"unique(m={m})"), rng=np.random.default_rng(seed)
    )
    return score


@given(data, st.integers(1, 6), st.integers(0, 2**32))
@settings(max_examples=200)
def test_agrees_with_the_twin_for_owners_in_any_order(histories: list[tuple[int, set[str]]], m: int, seed: int) -> None:
    profiles = build(histories)
    owner = profiles.owner.copy()
    np.random.default_rng(seed).shuffle(owner)  # released histories do not stand by person
    drawn_from, terms = unique.draw(profiles, m, np.random.default_rng(seed))
    with patch.object(unique, "COMBINATIONS_PER_CALL", 3):  # so that there are several parts
        alone = unique.single_out(profiles, owner, drawn_from, terms)
    expected = [twin(profiles, owner.tolist(), set(row) - {-1}) for row in terms.tolist()]
    assert alone.tolist() == expected


@given(data, st.integers(1, 6), st.integers(0, 2**32))
def test_draws_distinct_terms_of_the_history(histories: list[tuple[int, set[str]]], m: int, seed: int) -> None:
    profiles = build(histories)
    drawn_from, terms = unique.draw(profiles, m, np.random.default_rng(seed))
    assert drawn_from.tolist() == list(range(profiles.n_histories))
    for row, drawn in zip(rows(profiles), terms.tolist(), strict=True):
        real = [term for term in drawn if term >= 0]
        assert drawn == sorted(drawn)
        assert len(set(real)) == len(real) == min(m, len(row))
        assert set(real) <= set(row)


def test_every_set_of_terms_is_equally_likely() -> None:
    profiles = profiles_of([list("abcde")] * 20_000)
    _, terms = unique.draw(profiles, 3, np.random.default_rng(5))
    seen = Counter(map(tuple, terms.tolist()))
    assert set(seen) == set(combinations(range(5), 3))
    assert max(abs(count - 2000) for count in seen.values()) < 5 * np.sqrt(2000)


def test_a_history_shorter_than_m_is_drawn_whole_and_an_empty_one_not_at_all() -> None:
    profiles = profiles_of([["a", "b"], ["a"], ["a", "b", "c"]])
    with_a_gap = replace(
        profiles, indptr=np.insert(profiles.indptr, 1, 2), owner=np.arange(4, dtype=np.int32)
    )  # the second of four histories is empty
    drawn_from, terms = unique.draw(with_a_gap, 3, np.random.default_rng(0))
    assert drawn_from.tolist() == [0, 2, 3]
    assert terms.tolist() == [[-1, 0, 1], [-1, -1, 0], [0, 1, 2]]


def test_before_and_after_by_hand() -> None:
    original = profiles_of([["a", "b"], ["a", "b"], ["a", "c"], ["c", "d"]])
    released = profiles_of([["a", "b"], ["a", "b"], ["a"], ["d"]])
    score = measure(Comparison(kind_of("histories"), original, released, None), 2)
    assert (score.measure, score.label) == ("unique(m=2)", "singled out by 2 random terms")
    assert (score.original, score.value, score.units_counted) == (50.0, 25.0, 4)
    assert (score.better, score.unit, score.note) == ("lower", "%", "of 4 people of the log and 4 of the release")
    assert score.interval == pytest.approx((4.56, 69.94), abs=0.01)  # Wilson's, of 1 in 4


def test_histories_of_one_person_are_one_owner_if_owners_are_known() -> None:
    original = profiles_of([["a", "b"], ["a", "b"], ["c"], ["c"]], owners=[0, 0, 1, 2])
    released = profiles_of([["a", "b"], ["c"], ["a", "b"], ["c"]])
    blind = measure(Comparison(kind_of("histories"), original, released, None), 2)
    knowing = measure(Comparison(kind_of("histories"), original, released, np.array([0, 2, 1, 3], np.int64)), 2)
    of = "of 4 histories of the log and 4 of the release"
    assert (blind.original, blind.value, blind.note) == (50.0, 0.0, f"{of}; {unique.HISTORIES_COUNTED}")
    assert (knowing.original, knowing.value, knowing.note) == (50.0, 50.0, f"{of}; {unique.PER_HISTORY}")


def test_a_release_without_terms_has_no_value() -> None:
    original = profiles_of([["a"], ["a", "b"]])
    none = np.empty(0, np.int32)
    empty = Profiles((), np.zeros(1, np.int64), none, none, none, ())
    score = measure(Comparison(kind_of("histories"), original, empty, np.empty(0, np.int64)), 1)
    assert (score.value, score.interval, score.units_counted, score.note) == (None, None, 0, "the release has no terms")
    assert score.label == "singled out by 1 random term"


def test_the_seed_determines_the_result() -> None:
    rng = np.random.default_rng(2)
    profiles = profiles_of([rng.choice(list(LETTERS), 5, replace=False).tolist() for _ in range(20)])
    comparison = Comparison(kind_of("histories"), profiles, profiles, None)
    assert measure(comparison, 3, seed=4) == measure(comparison, 3, seed=4)
    assert len({measure(comparison, 3, seed=seed).value for seed in range(8)}) > 1


@given(data, st.integers(0, 2**32))
def test_one_known_term_is_the_mean_over_all_terms(histories: list[tuple[int, set[str]]], seed: int) -> None:
    profiles = build(histories)
    owner = profiles.owner.copy()
    np.random.default_rng(seed).shuffle(owner)
    alone = [[twin(profiles, owner.tolist(), {term}) for term in row] for row in rows(profiles)]
    hits, n = unique.count_singled_out(profiles, owner, 1, np.random.default_rng(seed), silent)
    assert hits == pytest.approx(sum(sum(row) / len(row) for row in alone))
    assert n == len(alone)


def test_one_known_term_is_exact_and_has_no_interval() -> None:
    original = profiles_of([["a", "b", "c"], ["a", "d"], ["a"]])
    score = measure(Comparison(kind_of("histories"), original, profiles_of([["a"], ["a"]]), None), 1)
    assert score.original == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)
    assert (score.value, score.interval, score.original_interval) == (0.0, None, None)


def test_a_log_has_the_same_figure_whatever_the_seed() -> None:
    rng = np.random.default_rng(2)
    profiles = profiles_of([rng.choice(list(LETTERS), 5, replace=False).tolist() for _ in range(20)])
    comparison = Comparison(kind_of("histories"), profiles, profiles, None)
    for m in (1, 2, 3):
        scores = [measure(comparison, m, seed=seed) for seed in range(8)]
        assert len({(score.original, score.original_interval) for score in scores}) == 1
    assert scores[0].original is not None
    bounds = wilson(scores[0].original / 100 * 20, 20)
    assert scores[0].original_interval == pytest.approx([100 * bound for bound in bounds])


def test_progress_reaches_its_end() -> None:
    calls: list[tuple[str, int, int]] = []
    profiles = profiles_of([["a"], ["b"]])
    unique.measure_uniqueness(
        Evidence(Comparison(kind_of("histories"), profiles, profiles, None)),
        resolve("measure", "unique(m=2)"),
        rng=np.random.default_rng(0),
        progress=lambda *call: calls.append(call),
    )
    assert calls == [("counting who is singled out", 2, 2)] * 2


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 0.0370), (50, 0.4038, 0.5962), (100, 0.9630, 1.0)])
def test_wilsons_interval(hits: int, low: float, high: float) -> None:
    assert wilson(hits, 100) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("name", ["unique", "unique(m=0)", "unique(m=7)"])
def test_m_must_be_given_and_in_range(name: str) -> None:
    with pytest.raises(UnknownNameError):
        resolve("measure", name)


def test_the_declared_function_is_this_measure() -> None:
    assert UNIQUE.load() is unique.measure_uniqueness
