"""The measure of linkability, worked by hand and against a slow, obvious twin."""

import math
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil.measures.privacy.linkability as linkability
from queryveil.core.errors import UnknownNameError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import Score
from queryveil.measures import DECLARATIONS, LINKABILITY
from tests.twins.linkability import Person, Row, arrays

# group 3: a is held by 3 of 4, b by 1 of 4; group 7: c by 1 of 2; e and f are not published; one of 8 is suppressed
PEOPLE: list[Person] = [
    (3, {"a": 1.0}),
    (3, {"a": 1.0, "b": 1.0}),
    (3, {"a": 1.0}),
    (3, {"e": 1.0}),
    (7, {"c": 3.0, "f": 4.0}),
    (7, {"f": 1.0}),
    (None, {"a": 1.0}),
    (7, {}),
]
RELEASED: list[Row] = [(3, "a", 0.75), (3, "b", 0.25), (7, "c", 1.5)]


def measure(p: float, rows: Sequence[Row], people: Sequence[Person]) -> dict[str, Score]:
    released, members = arrays(rows, people)
    measure = resolve("measure", f"linkability(p={p})")
    scores = linkability.measure_linkability(Evidence(released, members), measure, rng=np.random.default_rng(0))
    assert all(score.measure == f"linkability(p={p})" and score.note for score in scores)
    return {score.label: score for score in scores}


def test_declared_for_groups_only() -> None:
    assert LINKABILITY.load() is linkability.measure_linkability
    for_groups = [declared.name for declared in DECLARATIONS if "groups" in declared.kinds]
    assert for_groups == ["linkability", "search", "clicks"]
    with pytest.raises(UnknownNameError, match="p must be a number above 0 and at most 1"):
        resolve("measure", "linkability(p=0)")


def test_linking_probabilities() -> None:
    scores = measure(0.5, RELEASED, PEOPLE)
    # group 3: (3/4 + 1/4) / 2; group 7: 1/3
    assert scores["linking probability"].value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert scores["linking probability of the worst group"].value == pytest.approx(1 / 2)
    assert scores["linking probability of the worst term"].value == pytest.approx((3 / 4 + 1 / 3) / 2)
    for label in linkability.PROBABILITIES:
        assert (scores[label].units_counted, scores[label].better, scores[label].unit) == (2, "lower", "")


def test_pairs_above_p() -> None:
    # members hold a published term 3 + 1 + 1 times; 4, 1 and 1 of all 8 people hold a, b and c
    for p, by_posterior, by_belief in ((0.2, 100, 80), (0.21, 100, 60), (0.25, 80, 0), (0.34, 60, 0), (0.75, 0, 0)):
        scores = measure(p, RELEASED, PEOPLE)
        above = scores["pairs above p by posterior"], scores["pairs above p by belief"]
        assert [score.value for score in above] == pytest.approx([by_posterior, by_belief])
        assert {(score.units_counted, score.better, score.unit) for score in above} == {(5, "lower", "%")}


def test_a_share_that_is_p_in_decimals_is_not_above() -> None:
    for p, n_holders in ((0.29, 29), (0.57, 57), (0.1, 10), (0.7, 70)):
        people: list[Person] = [(1, {"a" if i < n_holders else "b": 1.0}) for i in range(100)]
        assert measure(p, [(1, "a", 1.0)], people)["pairs above p by posterior"].value == 0


def test_group_sizes_and_suppressed_people() -> None:
    scores = measure(0.5, RELEASED, PEOPLE)
    assert scores["group size"].value == 3.5
    assert scores["smallest group"].value == 3
    assert scores["largest group"].value == 4
    assert scores["group size"].figure(3.5) == "3.500 people"
    assert (scores["smallest group"].units_counted, scores["smallest group"].better) == (2, "")
    assert scores["people suppressed"].value == pytest.approx(100 / 8)
    assert scores["people suppressed"].units_counted == 8
    percentages = {label: score.basis() for label, score in scores.items() if score.unit == "%"}
    assert percentages == {
        "pairs above p by posterior": "5 pairs",
        "pairs above p by belief": "5 pairs",
        "people suppressed": "8 people",
    }


def test_cosine_to_what_is_published() -> None:
    length = math.hypot(0.75, 0.25)
    each = (0.75 / length, 1 / math.sqrt(2) / length, 0.75 / length, 0, 0.6, 0, 0, 0)
    score = measure(0.5, RELEASED, PEOPLE)["cosine to the published profile"]
    assert score.value == pytest.approx(sum(each) / 8)
    assert (score.units_counted, score.better, score.unit) == (8, "higher", "")


def test_nothing_released() -> None:
    scores = measure(0.5, [], [(None, {"a": 1.0})])
    assert scores["linking probability"].value is None
    assert scores["pairs above p by belief"].value is None
    assert scores["group size"].value is None
    assert scores["people suppressed"].value == 100
    assert scores["cosine to the published profile"].value == 0


@settings(max_examples=150)
@given(
    people=st.lists(
        st.tuples(
            st.sampled_from((None, 1, 4)), st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 3), max_size=4)
        ),
        min_size=1,
        max_size=15,
    ),
    p=st.sampled_from((0.1, 0.25, 0.3, 0.5)),
    pairs_at_once=st.integers(1, 9),
    data=st.data(),
)
def test_agrees_with_the_twin(people: list[Person], p: float, pairs_at_once: int, data: st.DataObject) -> None:
    held = sorted({(group, term) for group, profile in people for term in profile if group is not None})
    rows = [(group, term, data.draw(st.floats(0.1, 2))) for group, term in held if data.draw(st.booleans())]
    if not rows:
        return
    with patch.object(linkability, "PAIRS_AT_ONCE", pairs_at_once):
        scores = measure(p, rows, people)
    groups = {group: [profile for g, profile in people if g == group] for group, _, _ in rows}
    share: dict[tuple[int | None, str], float] = {}
    for g, t, _ in rows:
        share[g, t] = sum(t in profile for profile in groups[g]) / len(groups[g])
    of_group = [[value for (g, _), value in share.items() if g == group] for group in groups]
    means = [sum(values) / len(values) for values in of_group]
    assert scores["linking probability"].value == pytest.approx(sum(means) / len(means))
    assert scores["linking probability of the worst group"].value == pytest.approx(max(means))
    worst = sum(map(max, of_group)) / len(of_group)
    assert scores["linking probability of the worst term"].value == pytest.approx(worst)
    pairs = [(g, t) for g, profile in people for t in profile if (g, t) in share]
    prior = {t: sum(t in profile for _, profile in people) / len(people) for _, t, _ in rows}
    posterior = sum(share[pair] > p + 1e-9 for pair in pairs)
    belief = sum(share[g, t] - prior[t] > p + 1e-9 for g, t in pairs)
    assert scores["pairs above p by posterior"].value == pytest.approx(100 * posterior / len(pairs))
    assert scores["pairs above p by belief"].value == pytest.approx(100 * belief / len(pairs))
    assert scores["cosine to the published profile"].value == pytest.approx(_mean_cosine(rows, people))


def _mean_cosine(rows: Sequence[Row], people: Sequence[Person]) -> float:
    total = 0.0
    for group, profile in people:
        published = {term: weight for g, term, weight in rows if g == group}
        lengths = math.hypot(*published.values()) * math.hypot(*profile.values())
        total += sum(weight * published.get(term, 0) for term, weight in profile.items()) / lengths if lengths else 0
    return total / len(people)
