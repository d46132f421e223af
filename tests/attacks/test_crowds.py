"""The crowd of those who match what is known: as the twin has it, bounded on (k, m) releases, all-seeing on the log."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.attacks.base import ABSENT, LEFT_OUT, Knowledge, Scenario, build_scenario
from queryveil.attacks.finding import BEYOND, attack_by_terms, match_crowds
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.results import AttackResult, Rate
from tests.attacks.settings import groups, setting
from tests.builders import profiles_of, rows, run_method
from tests.twins import attacks as twin

logs = st.lists(
    st.tuples(st.integers(0, 5), st.sets(st.integers(0, 7), min_size=1, max_size=6)), min_size=2, max_size=12
).map(lambda histories: sorted(histories, key=lambda history: history[0]))


def results_of(found: list[AttackResult]) -> dict[str, AttackResult]:
    return {result.knowledge: result for result in found}


def attack(*arguments: object, name: str = "known_terms(m=1)", seed: int = 1, **options: object) -> list[AttackResult]:
    built = setting(*arguments, **options)  # type: ignore[arg-type]
    return attack_by_terms(Evidence(built), resolve("attack", name), rng=np.random.default_rng(seed))


@settings(max_examples=100)
@given(logs, st.data())
def test_crowds_equal_those_of_the_slow_twin(log: list[tuple[int, set[int]]], data: st.DataObject) -> None:
    numbers = {owner: n for n, owner in enumerate(sorted({owner for owner, _ in log}))}
    owners, original = [numbers[owner] for owner, _ in log], [row for _, row in log]
    released = [data.draw(st.sets(st.sampled_from(sorted(row)))) for row in original]
    scenario = build_scenario(setting_ := setting(original, released, owners=owners), setting_.terms)
    view = scenario.release
    items = list(range(len(scenario.keys)))
    right = data.draw(st.lists(st.sampled_from(items), min_size=1, max_size=3, unique=True))
    wrong = data.draw(st.lists(st.sampled_from([i for i in items if i not in right] or items), max_size=1))
    me = data.draw(st.sampled_from(owners))
    shown = [frozenset(view.published.ids[a:b].tolist()) for a, b in pairs(view.published.indptr)]
    units = list(zip(owners, shown, strict=True))
    knowledge = Knowledge(np.array([[*right, *wrong]], np.int32), len(right), np.array([me], np.int32))
    for exact, is_absent in product((True, False), repeat=2):
        found = match_crowds(view, knowledge, exact=exact, is_absent=is_absent)
        seen = twin.without(units, me) if is_absent else units
        crowd = {owners[n] for n in twin.crowd(seen, right, wrong, view.weights.tolist(), exact=exact)}
        assert (found.people[0], found.owners[0], found.is_in[0]) == (len(crowd), len(crowd), me in crowd)


def draw_names(data: st.DataObject, original: list[set[int]]) -> tuple[list[set[int]], dict[int, set[int]]]:
    """Draw released rows of keys as typed and of names from 100 on, and the keys that each name stands for."""
    items = sorted(set().union(*original))
    meant = data.draw(st.lists(st.sets(st.sampled_from(items)), min_size=1, max_size=4))
    names = dict(enumerate(meant, 100))
    shown = st.sets(st.sampled_from([*items, *names]))
    return [data.draw(shown) for _ in original], names


def names_by_id(scenario: Scenario, names: dict[int, set[int]], log: list[tuple[int, set[int]]]) -> twin.Names:
    """Return the names with what each stands for, by the numbers of a scenario, with the share of its holders."""
    number = {key: n for n, key in enumerate(scenario.keys.tolist())}

    def holders(keys: set[int]) -> int:
        return len({owner for owner, row in log if row & keys})

    return {
        number[name]: {number[key]: holders({key}) / holders(keys) for key in keys}
        for name, keys in names.items()
        if name in number
    }


@settings(max_examples=200)
@given(logs, st.data())
def test_names_for_several_terms_match_each_of_them(log: list[tuple[int, set[int]]], data: st.DataObject) -> None:
    numbers = {owner: n for n, owner in enumerate(sorted({owner for owner, _ in log}))}
    owners, original = [numbers[owner] for owner, _ in log], [row for _, row in log]
    released, names = draw_names(data, original)
    scenario = build_scenario(built := setting(original, released, owners=owners, names=names), built.terms)
    view, meant = scenario.release, names_by_id(scenario, names, log)
    items = [n for n, key in enumerate(scenario.keys.tolist()) if key not in names]
    known = data.draw(st.lists(st.sampled_from(items), min_size=1, max_size=3, unique=True))
    me = data.draw(st.sampled_from(owners))
    units = [
        (owner, frozenset(view.published.ids[a:b].tolist()))
        for owner, (a, b) in zip(owners, pairs(view.published.indptr), strict=True)
    ]
    knowledge = Knowledge(np.array([known], np.int32), len(known), np.array([me], np.int32))
    for exact, is_absent in product((True, False), repeat=2):
        found = match_crowds(view, knowledge, exact=exact, is_absent=is_absent)
        seen = twin.without(units, me) if is_absent else units
        crowd = {owners[n] for n in twin.crowd(seen, known, (), view.weights.tolist(), exact=exact, names=meant)}
        assert (found.people[0], found.owners[0], found.is_in[0]) == (len(crowd), len(crowd), me in crowd)
    shown = scenario.released_items()
    rows_of = [set(row) for row in np.split(scenario.people.ids, scenario.people.indptr[1:-1])]
    kept = [set(row) for row in np.split(shown.ids, shown.indptr[1:-1])]
    for person, row, left in zip(owners, rows_of, kept, strict=True):
        published = {item for owner, seen in units if owner == person for n in seen for item in twin.items_of(n, meant)}
        assert left == row & published


def test_a_list_is_found_by_either_of_its_terms() -> None:
    """Everybody searched for 0 or 1, and 100 is published for both."""
    found = results_of(
        attack([[0], [1], [2], [2]], [[100], [100], [2], [2]], name="known_terms(m=1, wrong=0)", names={100: [0, 1]})
    )
    assert (found["1 term"].rate.value, found["1 term"].smallest) == (1 / 2, 2)


def pairs(indptr: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))


@settings(max_examples=120)
@given(
    st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=4, max_size=24),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from(["log", "release"]),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_no_success_on_a_km_release_exceeds_one_in_k(
    log: list[set[str]], k: int, m: int, of: str, wrong: int, seed: int
) -> None:
    profiles = profiles_of([sorted(history) for history in log])
    try:
        kept = run_method(profiles, f"km(k={k}, m={m})", seed=seed)
    except GuaranteeError:
        return
    histories = rows(profiles)
    flat = iter(kept.mask.tolist())
    released = [[item for item in row if next(flat)] for row in histories]
    staying = [h for h, row in enumerate(released) if row]
    claim = f"km(k={k}, m={m})"
    name = f"known_terms(m={m}, wrong={wrong}, of={of})"
    try:
        found = attack(histories, [released[h] for h in staying], histories=staying, claim=claim, name=name, seed=seed)
    except InputError as error:
        assert "nobody has more than" in str(error)
        return
    for result in found:
        if result.note != BEYOND:
            assert result.rate.value <= 1 / k + 1e-12
            assert result.smallest is None or result.smallest >= k


def test_unique_terms_find_everybody_in_the_original() -> None:
    log = [[0, n] for n in range(1, 21)]  # everybody has a term of their own
    found = results_of(attack(log, log, name="known_terms(m=2, wrong=0)"))
    both = found["2 terms"]
    assert both.rate.value == both.original.value == both.risk.value == 1.0
    assert both.control == Rate(0.0, 0.0, 0.0)  # who is not there is found nowhere
    assert (both.baseline.value, both.crowd, both.smallest, both.controlled_by) == (1 / 20, 1.0, 1, ABSENT)
    assert set(found) == {"2 terms", "2 terms, scored"}  # nobody has three


def test_a_release_that_kept_the_common_term_only() -> None:
    log = [[0, n] for n in range(1, 5)]
    found = results_of(attack(log, [[0]] * 4, name="known_terms(m=1, wrong=0)", claim="km(k=4, m=1)"))
    one, two = found["1 term"], found["2 terms"]
    assert 0 < one.rate.value <= 1 / 4
    assert one.risk == one.rate
    assert (two.rate.value, two.note) == (0.0, BEYOND)
    assert (found["2 terms, scored"].rate.value, found["2 terms, scored"].smallest) == (1 / 4, 4)


def test_crowds_of_two_are_a_risk() -> None:
    """A belief in a wrong find is no success, so it is not subtracted from any."""
    log = [[0, n // 2] for n in range(2, 12)]
    found = results_of(attack(log, log, name="known_terms(m=2, wrong=0)"))
    assert found["2 terms"].rate.value == found["2 terms"].risk.value == 1 / 2


def test_a_group_is_found_without_the_person_too() -> None:
    built = groups([[0, 1], [0, 1], [0, 1], [2, 3], [2, 3]], [0, 0, 0, 1, 1], [[0, 1], [2, 3]])
    known = resolve("attack", "known_terms(m=2, wrong=0)")
    found = results_of(attack_by_terms(Evidence(built), known, rng=np.random.default_rng(1)))
    group = found["2 terms: the group"]
    assert (group.rate.value, group.control.value, group.risk.value, group.controlled_by) == (1.0, 1.0, 0.0, LEFT_OUT)


def test_groups_hide_their_members() -> None:
    original = [[0, 1], [0, 2], [3, 4], [3, 5], [6]]
    built = groups(original, [0, 0, 1, 1, -1], [[0, 1, 2], [3, 4, 5]])
    found = results_of(
        attack_by_terms(Evidence(built), resolve("attack", "known_terms(m=2, wrong=0)"), rng=np.random.default_rng(1))
    )
    person, group = found["2 terms"], found["2 terms: the group"]
    assert (person.rate.value, person.risk_of, person.smallest) == (1 / 2, "singling out", 2)
    assert (group.rate.value, group.risk_of) == (1.0, "linkability")
    assert group.control.value == 0.0  # each has one of the two terms that nobody else brought into the group
    assert (person.baseline.value, group.baseline.value) == (1 / 4, 1 / 2)
    assert person.original.value == 1.0


def test_a_target_without_a_history_is_never_found() -> None:
    found = results_of(attack([[0, 1], [0, 1], [0, 1]], [[0, 1], [0, 1]], name="known_terms(m=2, wrong=0)"))
    assert found["2 terms"].rate.value == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert found["2 terms"].baseline.value == pytest.approx(2 / 3 / 2)


def test_an_m_above_all_histories_is_refused() -> None:
    with pytest.raises(InputError, match=r"needs people with 4 terms, and nobody has more than 2; take a smaller m\."):
        attack([[0, 1], [0]], [[0], [0]], name="known_terms(m=4)")


@settings(max_examples=100)
@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=9), st.integers(0, 2**32))
def test_draws_are_distinct_and_wrong_items_are_not_held(log: list[set[int]], seed: int) -> None:
    scenario: Scenario = build_scenario(built := setting(log, log), built.terms)
    rng = np.random.default_rng(seed)
    for width in (1, 2, 3):
        drawn_rows = scenario.people.draw_rows(width, 4, rng)
        assert len(drawn_rows) == min(4, sum(len(row) >= width for row in log))
        drawn = scenario.people.draw_items(drawn_rows, width, rng)
        wrong = scenario.people.draw_wrong(scenario.people.ids, drawn_rows, 2, rng)
        for row, items, false in zip(drawn_rows.tolist(), drawn.tolist(), wrong.tolist(), strict=True):
            mine = {int(np.searchsorted(scenario.keys, key)) for key in log[row]}
            assert set(items) <= mine
            assert len(set(items)) == width
            assert not {item for item in false if item >= 0} & mine
        assert scenario.people.holds(drawn_rows, drawn[:, 0]).all()
        assert not scenario.people.holds(drawn_rows, wrong[:, 0]).any()


def test_released_items_are_those_the_release_shows() -> None:
    scenario = build_scenario(built := setting([[0, 1], [2]], [[1]], histories=[0]), built.terms)
    shown = scenario.released_items()
    assert (shown.indptr.tolist(), shown.ids.tolist()) == ([0, 1, 1], [1])
