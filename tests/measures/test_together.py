"""The measure `together` against counting with sets, and by hand."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.core.results import Score
from queryveil.histories import pieces as person_pieces
from queryveil.histories.pieces import PersonRows
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import kind_of
from queryveil.measures.base import Comparison
from queryveil.measures.utility import together
from queryveil.measures.utility.together import measure_together
from tests.builders import profiles_of

TERMS = "abcdefg"
Combination = tuple[str, ...]


def measure(original: Profiles, released: Profiles, history_of: Sequence[int] | None) -> dict[str, Score]:
    """Return the scores by label."""
    behind = None if history_of is None else np.array(history_of, np.int64)
    evidence = Evidence(Comparison(kind_of("histories"), original, released, behind))
    scores = measure_together(evidence, resolve("measure", "together"), rng=np.random.default_rng(0))
    return {score.label: score for score in scores}


def held(histories: Sequence[set[str]], owners: Sequence[int], size: int) -> dict[Combination, set[int]]:
    """Return the people who have each combination in one history."""
    found: dict[Combination, set[int]] = {}
    for terms, owner in zip(histories, owners, strict=True):
        for combination in combinations(sorted(terms), size):
            found.setdefault(combination, set()).add(owner)
    return found


@st.composite
def cut_logs(draw: st.DrawFn) -> tuple[list[set[str]], list[int], list[set[str]], list[int]]:
    """Draw histories with their owners, and pieces of them with the history of each, in any order."""
    histories = draw(st.lists(st.sets(st.sampled_from(TERMS), min_size=1), min_size=1, max_size=8))
    owners = sorted(draw(st.lists(st.integers(0, 4), min_size=len(histories), max_size=len(histories))))
    owners = [sorted(set(owners)).index(owner) for owner in owners]
    pieces, behind = [], []
    for number, terms in enumerate(histories):
        part = {term: draw(st.integers(0, 2)) for term in sorted(terms)}
        for which in (1, 2):  # the others are deleted
            if kept := {term for term in terms if part[term] == which}:
                pieces.append(kept)
                behind.append(number)
    order = draw(st.permutations(range(len(pieces))))
    return histories, owners, [pieces[i] for i in order], [behind[i] for i in order]


@settings(max_examples=60)
@given(cut_logs(), st.integers(1, 40))
def test_the_figures_are_those_of_counting_with_sets(
    drawn: tuple[list[set[str]], list[int], list[set[str]], list[int]], n_pairs_per_step: int
) -> None:
    histories, owners, pieces, behind = drawn
    if not pieces:
        return
    original, released = profiles_of(histories, owners), profiles_of(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(person_pieces, "_PAIRS_PER_STEP", n_pairs_per_step)
        found = measure(original, released, behind)
    by = [owners[h] for h in behind]
    before, after = held(histories, owners, 2), held(pieces, by, 2)
    n_before, n_after = (sum(map(len, pairs.values())) for pairs in (before, after))
    score = found["pairs of terms still together"]
    assert score.units_counted == n_before
    assert score.value == (pytest.approx(100 * n_after / n_before) if n_before else None)
    errors = [
        abs(len(people) - len(after.get(pair, ()))) / ((len(people) + len(after.get(pair, ()))) / 2)
        for pair, people in before.items()
    ]
    if errors and len(original.vocabulary) > 1:
        error = found[f"error of pairs, terms 1 to {len(original.vocabulary)}"]
        assert error.value == pytest.approx(np.mean(errors))
        assert error.units_counted == len(errors)


@settings(max_examples=60)
@given(cut_logs(), st.integers(1, 12))
def test_the_most_frequent_combinations_are_those_of_counting_with_sets(
    drawn: tuple[list[set[str]], list[int], list[set[str]], list[int]], most: int
) -> None:
    histories, owners, _, _ = drawn
    original = profiles_of(histories, owners)
    rows = PersonRows.of_profiles(original)
    number = {term: i for i, term in enumerate(original.vocabulary)}
    everything = {**held(histories, owners, 2), **held(histories, owners, 3)}
    counted = [
        (-len(people), len(terms), tuple(sorted(number[term] for term in terms)))
        for terms, people in everything.items()
        if len(people) >= 2
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_MOST_FREQUENT", most)
        found = together._most_frequent(rows, len(number), silent)
    assert found == {terms for _, _, terms in sorted(counted)[:most]}


def test_pieces_lose_pairs_and_keep_terms() -> None:
    original = profiles_of([["a", "b", "c"]] * 4)
    found = measure(original, profiles_of([["a", "b"]] * 4 + [["c"]] * 4), [0, 1, 2, 3, 0, 1, 2, 3])
    assert found["pairs of terms still together"].value == pytest.approx(100 / 3)
    assert found["error of pairs, terms 1 to 3"].value == pytest.approx((0 + 2 + 2) / 3)
    assert found["frequent combinations lost (tKd)"].value == pytest.approx(75)  # ab of ab, ac, bc, abc
    whole = measure(original, original, [0, 1, 2, 3])
    assert [score.value for score in whole.values()] == [100, 0, 0]


def test_without_the_private_folder_histories_stand_for_people() -> None:
    original = profiles_of([["a", "b"]] * 3)
    assert measure(original, profiles_of([["a", "b"], ["a"]]), None)["pairs of terms still together"].value == (
        pytest.approx(100 / 3)
    )


def test_a_log_of_single_terms_has_no_pairs() -> None:
    original = profiles_of([["a"], ["a"]])
    score = measure(original, original, [0, 1])["pairs of terms still together"]
    assert score.value is None
    assert "nobody" in score.note
