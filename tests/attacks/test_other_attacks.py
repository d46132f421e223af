"""Multiplicity, time, url, vanity and minimality: by hand, against a twin, and successful on the log itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.attacks.base import ItemTables, build_scenario
from queryveil.attacks.finding import (
    attack_by_counts,
    attack_by_moments,
    attack_by_names,
    attack_by_urls,
    in_units,
    names_in,
    own_names,
)
from queryveil.attacks.minimality import ANOTHER_HISTORY, find_deleted
from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.kernels.attacks import BLOCKED, COULD_HAVE_STAYED, SHOWN, classify_items
from tests.attacks.settings import setting, table
from tests.attacks.test_crowds import pairs
from tests.twins import attacks as twin


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_counts_distinguish_people_who_share_all_terms() -> None:
    counts = [{0: n, 1: 1} for n in range(1, 6)]
    rows = table([[0, 1]] * 5, range(5), counts)
    built = replace(setting([[0, 1]] * 5, [[0, 1]] * 5), terms=ItemTables(rows, rows))
    (found,) = attack_by_counts(Evidence(built), resolve("attack", "multiplicity(m=2)"), rng=rng())
    assert found.rate.value == found.original.value == 1.0
    assert found.control.value == 0.0
    assert found.knowledge == "2 terms and how often each"


def test_coarser_moments_find_larger_crowds() -> None:
    minutes = [[60 * n, 86_400] for n in range(4)]
    rows = table(minutes, range(4))
    built = setting([[0]] * 4, [[0]] * 4, kept={"time": ItemTables(rows, rows)})
    (found,) = attack_by_moments(Evidence(built), resolve("attack", "time(m=2)"), rng=rng())
    assert (found.rate.value, found.risk_of, found.knowledge) == (1.0, "linkability", "the minutes of 2 queries")
    (coarse,) = attack_by_moments(Evidence(built), resolve("attack", "time(m=2, unit=day)"), rng=rng())
    assert (coarse.rate.value, coarse.crowd) == (1 / 4, 4.0)


@given(st.integers(0, 2**32), st.integers(1, 2))
@settings(deadline=None, max_examples=30)
def test_urls_succeed_as_often_as_everybody_is_searched_by_hand(seed: int, m: int) -> None:
    draws = np.random.default_rng(seed)
    clicked = [set(draws.choice(6, draws.integers(m, 5), replace=False).tolist()) for _ in range(6)]
    shown = [{url for url in urls if draws.random() < 0.7} for urls in clicked]
    tables = ItemTables(table(shown, range(6)), table(clicked, range(6)))
    built = setting([[0]] * 6, [[0]] * 6, kept={"url": tables})
    attack = resolve("attack", f"url(m={m})")
    (found,) = attack_by_urls(Evidence(built), attack, rng=np.random.default_rng(seed))
    scenario, again = build_scenario(built, tables), np.random.default_rng(seed)
    rows = scenario.people.draw_rows(m, 1_000, again)
    known = scenario.keys[scenario.people.draw_items(rows, m, again)].tolist()
    for rate, side in ((found.rate, shown), (found.original, clicked)):
        weight = {url: 1 / np.log1p(sum(url in urls for urls in side)) for urls in side for url in urls}
        success = []
        for person, urls in zip(rows.tolist(), known, strict=True):
            score = [sum(weight[url] for url in set(urls) & own) for own in side]
            best = [other for other in range(6) if score[other] > 0 and score[other] >= max(score) - 1e-12]
            success.append(1 / len(best) if person in best else 0.0)
        assert rate.value == pytest.approx(np.mean(success))
    assert (found.control.value, found.targets, found.risk_of) == (0.0, 6, "linkability")


def test_moments_in_coarser_units_are_unique() -> None:
    coarse = in_units(table([[0, 30, 61], [59], []], [0, 1, 2]), 60)
    assert (coarse.indptr.tolist(), coarse.keys.tolist()) == ([0, 2, 3, 3], [0, 1, 0])


def test_names_in_queries() -> None:
    assert names_in("john smith seattle") == [("john", "smith")]
    assert names_in("smith") == names_in("seattle weather") == []


TERMS = ("john", "smith", "mary", "jones", "red", "shoes")
SEARCHED = [(0, "john smith"), (0, "john smith home"), (0, "mary jones"), (1, "mary jones"), (1, "red shoes")]


def test_the_most_searched_rare_name_is_taken_as_the_own_name() -> None:
    built = setting([[0, 1, 2, 3], [2, 3, 4, 5]], [[4]], terms=TERMS, queries=SEARCHED)
    assert built.queries is not None
    assert own_names(built.queries, 3) == {0: ("john", "smith"), 1: ("mary", "jones")}
    assert own_names(built.queries, 1) == {0: ("john", "smith")}  # two people searched for mary jones


def test_vanity_finds_people_who_searched_for_their_name() -> None:
    log = [[0, 1, 2, 3], [2, 3, 4, 5]]
    (seen,) = attack_by_names(
        Evidence(setting(log, log, terms=TERMS, queries=SEARCHED)), resolve("attack", "vanity(shared=1)"), rng=rng()
    )
    assert (seen.rate.value, seen.original.value, seen.targets) == (1.0, 1.0, 1)
    (hidden,) = attack_by_names(
        Evidence(setting(log, [[2], [2]], terms=TERMS, queries=SEARCHED)), resolve("attack", "vanity"), rng=rng()
    )
    assert (hidden.targets, hidden.rate.value) == (2, 1 / 4)  # one is not found, the other in a crowd of two
    with pytest.raises(InputError, match="the log has none"):
        attack_by_names(
            Evidence(setting(log, log, terms=TERMS, queries=[(0, "red shoes")])),
            resolve("attack", "vanity"),
            rng=rng(),
        )


logs = st.lists(st.tuples(st.integers(0, 6), st.sets(st.integers(0, 6), max_size=5)), min_size=3, max_size=14).map(
    lambda histories: sorted(histories, key=lambda history: history[0])
)


@settings(max_examples=250)
@given(logs, st.integers(2, 4), st.integers(1, 4))
def test_judgements_equal_those_of_the_slow_twin(log: list[tuple[int, set[int]]], k: int, m: int) -> None:
    numbers = {owner: n for n, owner in enumerate(sorted({owner for owner, _ in log}))}
    owners, released = [numbers[owner] for owner, _ in log], [row for _, row in log]
    scenario = build_scenario(built := setting(released, released, owners=owners), built.terms)
    published = scenario.release.published
    units = [
        (owner, frozenset(published.ids[a:b].tolist()))
        for owner, (a, b) in zip(owners, pairs(published.indptr), strict=True)
    ]
    questions = [(unit, item) for unit in range(len(units)) for item in range(len(scenario.keys))]
    if not questions:
        return
    unit, item = (np.array(column) for column in zip(*questions, strict=True))
    found = classify_items(published, np.zeros(len(units), np.int32), unit, item.astype(np.int32), k, m)
    for (u, i), answer in zip(questions, found.tolist(), strict=True):
        blocked = BLOCKED if twin.is_blocked(units, u, i, k, m) else COULD_HAVE_STAYED
        assert answer == (SHOWN if i in units[u][1] else blocked)


def test_partitions_are_counted_separately() -> None:
    scenario = build_scenario(built := setting([[0, 1], [0, 1], [0]], [[0, 1], [0, 1], [0]]), built.terms)
    questions = np.array([2]), np.array([1], np.int32)
    together, apart = np.zeros(3, np.int32), np.array([0, 0, 1], np.int32)
    assert classify_items(scenario.release.published, together, *questions, 3, 2).tolist() == [COULD_HAVE_STAYED]
    assert classify_items(scenario.release.published, apart, *questions, 3, 2).tolist() == [BLOCKED]


def test_minimality_distinguishes_deleted_terms_from_terms_never_held() -> None:
    # The last one lost 5, which two others have with 1 but none with 0; all could have had 2 beside 0.
    log = [[0, 2], [0, 2], [0, 2], [1, 5], [1, 5], [0, 5]]
    released = [[0, 2], [0, 2], [0, 2], [1, 5], [1, 5], [0]]
    built = setting(log, released, claim="km(k=3, m=2)")
    (found,) = find_deleted(Evidence(built), resolve("attack", "minimality"), rng=rng())
    assert (found.targets, found.baseline.value, found.controlled_by) == (1, 0.5, ANOTHER_HISTORY)
    assert found.original.value == 1.0
    assert found.rate.value in (0.5, 1.0)  # of 1 it cannot tell, that 2 could have stayed it can
    seeds = [
        find_deleted(Evidence(built), resolve("attack", "minimality"), rng=np.random.default_rng(seed))[0].rate.value
        for seed in range(20)
    ]
    assert set(seeds) == {0.5, 1.0}


def test_minimality_needs_something_deleted() -> None:
    log = [[0, 1], [0, 1]]
    with pytest.raises(InputError, match="needs terms that were deleted from some histories only"):
        find_deleted(Evidence(setting(log, log)), resolve("attack", "minimality"), rng=rng())
