"""Inference by Equations 1 to 3 of Zhu and Xiong: as the twin has it, and by hand on histories and groups."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.attacks.base import build_scenario
from queryveil.attacks.infer import HiddenTerms, infer, infer_terms, prior_of
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import AttackResult
from tests.attacks.settings import groups, setting
from tests.attacks.test_crowds import draw_names, names_by_id, pairs
from tests.twins import attacks as twin

logs = st.lists(
    st.tuples(st.integers(0, 4), st.sets(st.integers(0, 6), min_size=3, max_size=6)), min_size=2, max_size=10
).map(lambda histories: sorted(histories, key=lambda history: history[0]))


def attack(built: Any, m: int = 1) -> tuple[AttackResult, AttackResult]:
    belief, guess = infer(Evidence(built), resolve("attack", f"infer(m={m})"), rng=np.random.default_rng(3))
    return belief, guess


@settings(max_examples=100)
@given(logs, st.data())
def test_beliefs_equal_those_of_the_slow_twin(log: list[tuple[int, set[int]]], data: st.DataObject) -> None:
    numbers = {owner: n for n, owner in enumerate(sorted({owner for owner, _ in log}))}
    owners, original = [numbers[owner] for owner, _ in log], [row for _, row in log]
    released = [data.draw(st.sets(st.sampled_from(sorted(row)))) for row in original]
    scenario = build_scenario(built := setting(original, released, owners=owners), built.terms)
    prior, view = prior_of(scenario), scenario.release
    n_people = len(set(owners))
    for item in range(len(scenario.keys)):
        holders = {owner for owner, row in zip(owners, original, strict=True) if scenario.keys[item] in row}
        assert prior[item] == len(holders) / n_people
    row = data.draw(st.sampled_from(range(len(log))))
    *known, secret = data.draw(
        st.permutations(scenario.people.ids[slice(*pairs(scenario.people.indptr)[row])].tolist())
    )[:3]
    hidden = HiddenTerms(np.array([known], np.int32), np.array([secret], np.int32), np.array([row]), scenario.people)
    units = [
        (owner, frozenset(view.published.ids[a:b].tolist()))
        for owner, (a, b) in zip(owners, pairs(view.published.indptr), strict=True)
    ]
    for is_absent in (False, True):
        found = infer_terms(view, hidden, is_absent, prior)
        seen = twin.without(units, owners[row]) if is_absent else units
        share, guess = twin.beliefs(seen, known, view.weights.tolist(), dict(enumerate(prior.tolist())))
        assert found.belief[0] == pytest.approx(share[secret])
        assert found.guess[0] == guess
        assert found.is_right[0] == (guess >= 0 and scenario.keys[guess] in original[row])


@settings(max_examples=100)
@given(logs, st.data())
def test_beliefs_by_names_for_several_terms_equal_those_of_the_slow_twin(
    log: list[tuple[int, set[int]]], data: st.DataObject
) -> None:
    numbers = {owner: n for n, owner in enumerate(sorted({owner for owner, _ in log}))}
    owners, original = [numbers[owner] for owner, _ in log], [row for _, row in log]
    released, names = draw_names(data, original)
    scenario = build_scenario(built := setting(original, released, owners=owners, names=names), built.terms)
    prior, view, meant = prior_of(scenario), scenario.release, names_by_id(scenario, names, log)
    row = data.draw(st.sampled_from(range(len(log))))
    *known, secret = data.draw(
        st.permutations(scenario.people.ids[slice(*pairs(scenario.people.indptr)[row])].tolist())
    )[:3]
    hidden = HiddenTerms(np.array([known], np.int32), np.array([secret], np.int32), np.array([row]), scenario.people)
    units = [
        (owner, frozenset(view.published.ids[a:b].tolist()))
        for owner, (a, b) in zip(owners, pairs(view.published.indptr), strict=True)
    ]
    priors = dict(enumerate(prior.tolist()))
    for is_absent in (False, True):
        found = infer_terms(view, hidden, is_absent, prior)
        seen = twin.without(units, owners[row]) if is_absent else units
        share, guess = twin.beliefs(seen, known, view.weights.tolist(), priors, meant)
        assert found.belief[0] == pytest.approx(share[secret])
        rise = [share[item] - priors[item] if item >= 0 else 0.0 for item in (guess, int(found.guess[0]))]
        assert rise[0] == pytest.approx(rise[1])  # equal but for rounding, by which a tie may be broken
        assert found.guess[0] not in known


def test_a_general_term_says_how_likely_each_of_its_terms_is() -> None:
    """Three of the four who hold something below 100 hold 1, one holds 2."""
    log = [[0, 1], [0, 1], [0, 1], [0, 2], [3, 4]]
    built = setting(log, [[0, 100]] * 4 + [[3]], names={100: [1, 2]})
    scenario = build_scenario(built, built.terms)
    known, secret = np.array([[0], [0]], np.int32), np.array([1, 2], np.int32)
    hidden = HiddenTerms(known, secret, np.array([0, 3]), scenario.people)
    found = infer_terms(scenario.release, hidden, False, prior_of(scenario))
    assert (found.belief.tolist(), found.guess.tolist()) == ([3 / 4, 1 / 4], [1, 1])


def test_the_original_reveals_every_term() -> None:
    log = [[0, 3 * n + 1, 3 * n + 2, 3 * n + 3] for n in range(10)]  # three terms of one's own
    belief, guess = attack(setting(log, log), m=2)
    assert belief.rate.value == guess.rate.value == belief.original.value == 1.0
    assert guess.control.value == 0.0
    assert guess.risk.value == 1.0
    assert belief.baseline.value < 0.5


def test_a_crowd_that_shares_a_secret_gives_it_away() -> None:
    sick = [[0, 9]] * 4  # all who know 0 have 9: homogeneity, which (k, m)-anonymity does not prevent
    well = [[1, 2]] * 4
    belief, guess = attack(setting([*sick, *well], [*sick, *well]))
    assert belief.rate.value == guess.rate.value == 1.0
    assert belief.control.value == 1.0  # it is learnt of everybody who knows 0, in the log or not
    assert belief.risk.value == 0.0
    assert belief.baseline.value == 0.5


def test_groups_by_hand() -> None:
    original = [[0, 1], [0, 2], [0, 3], [4, 5], [4, 6]]
    built = groups(original, [0, 0, 0, 1, 1], [[0, 1, 2, 3], [4, 5, 6]])
    scenario = build_scenario(built, built.terms)
    known, secret = np.array([[0], [4]], np.int32), np.array([1, 5], np.int32)
    hidden = HiddenTerms(known, secret, np.array([0, 3]), scenario.people)
    with_target = infer_terms(scenario.release, hidden, False, prior_of(scenario))
    assert with_target.belief.tolist() == pytest.approx([1 / 3, 1 / 2])  # the share of members who hold the term
    assert with_target.guess.tolist() == [1, 5]  # the first of equal ones
    without = infer_terms(scenario.release, hidden, True, prior_of(scenario))
    assert without.belief.tolist() == [0.0, 0.0]  # nobody else brought the term into the group
    # Equation 1: what was gained is the share in the group less the share of all people
    assert (with_target.belief - prior_of(scenario)[secret]).tolist() == pytest.approx([1 / 3 - 1 / 5, 1 / 2 - 1 / 5])


def test_without_a_crowd_the_belief_is_the_prior() -> None:
    built = setting([[0, 1], [0, 1], [2, 3]], [[0], [0]], histories=[0, 1])
    scenario = build_scenario(built, built.terms)
    hidden = HiddenTerms(np.array([[2]], np.int32), np.array([3], np.int32), np.array([2]), scenario.people)
    found = infer_terms(scenario.release, hidden, False, prior_of(scenario))
    assert (found.belief.tolist(), found.guess.tolist(), found.is_right.tolist()) == ([1 / 3], [-1], [False])


def test_other_people_are_the_control() -> None:
    log = [[0, 1, 2], [0, 1, 3]]
    belief, guess = attack(setting(log, log, others=[[0, 1, 50], [8]]), m=2)
    assert belief.controls == guess.controls == 1
    assert belief.controlled_by == "people of another log"


def test_an_m_that_leaves_no_secret_is_refused() -> None:
    with pytest.raises(InputError, match="nobody has more than 2; take a smaller m"):
        attack(setting([[0, 1]], [[0, 1]]), m=2)
