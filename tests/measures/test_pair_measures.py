"""SPI, JSD, impressions, PEL, exposed and worst: the papers' properties and toy cases, and slow twins."""

from collections.abc import Sequence
from dataclasses import replace
from math import log2, nan
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core.errors import UnknownNameError
from queryveil.core.evidence import LogPair
from queryveil.core.names import resolve
from queryveil.measures import DECLARATIONS
from queryveil.measures.privacy.pairs import (
    SHOWN,
    exposed_by_person,
    jsd_by_person,
    pel_by_person,
    percentile,
    spi_by_person,
)
from tests.measures.pairs import Counts, exposed_twin, measure, pair_of, pel_twin, spi_twin, value

DOCUMENTS = "abcdefg"
counts = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 9), max_size=6)
some = counts.filter(bool)
people = st.lists(st.tuples(some, counts), min_size=1, max_size=8)
sensitivities = st.fixed_dictionaries({d: st.floats(0, 1) for d in DOCUMENTS})
People = Sequence[tuple[Counts, Counts]]
SPI, EXPOSED = resolve("measure", "spi"), resolve("measure", "exposed")

TEN = dict.fromkeys("abcdefghij", 1)
ONE_SENSITIVE = {query: float(query == "a") for query in TEN}


def test_figures_do_not_depend_on_how_queries_are_numbered() -> None:
    rng = np.random.default_rng(1)
    rows = 1 + rng.integers(0, 9, (3, 60))
    pair = LogPair(np.array([0, 20, 60]), np.arange(60, dtype=np.int32), rows[0], rows[1], ("a", "b"), 1 / rows[2])
    for _ in range(50):
        order = np.concatenate((rng.permutation(20), 20 + rng.permutation(40)))
        other = replace(pair, before=rows[0][order], after=rows[1][order], sensitivity=1 / rows[2][order])
        assert spi_by_person(other, SPI).tolist() == spi_by_person(pair, SPI).tolist()


@given(people, sensitivities)
def test_spi_and_exposed_agree_with_their_formulas(given_people: People, sensitivity: dict[str, float]) -> None:
    pair = pair_of(given_people, sensitivity)
    assert spi_by_person(pair, SPI) == pytest.approx(
        [spi_twin(*sides, sensitivity) for sides in given_people], abs=1e-9
    )
    expected = [exposed_twin(*sides, sensitivity) for sides in given_people]
    assert exposed_by_person(pair, EXPOSED) == pytest.approx(expected, abs=1e-9)


@given(people, st.sampled_from(["paper", "joint"]))
def test_pel_agrees_with_its_formula(given_people: People, estimate: str) -> None:
    found = pel_by_person(pair_of(given_people), resolve("measure", f"pel(estimate={estimate})"))
    twins = [pel_twin(*sides, estimate) for sides in given_people]
    assert found == pytest.approx([nan if twin is None else twin for twin in twins], abs=1e-6, nan_ok=True)


@given(people)
def test_spi_is_jsd_where_nothing_is_sensitive(given_people: People) -> None:
    pair = pair_of(given_people, dict.fromkeys(DOCUMENTS, 0.0))
    assert spi_by_person(pair, SPI) == pytest.approx(jsd_by_person(pair, SPI))


@given(people, sensitivities)
def test_spi_lies_between_0_and_jsd_and_jsd_below_1(given_people: People, sensitivity: dict[str, float]) -> None:
    pair = pair_of(given_people, sensitivity)
    spi, jsd = spi_by_person(pair, SPI), jsd_by_person(pair, SPI)
    assert (spi >= 0).all()
    assert (spi <= jsd + 1e-12).all()
    assert (jsd <= 1).all()


@given(st.lists(some, min_size=1, max_size=6), sensitivities)
def test_an_unchanged_release_is_at_distance_0(sides: list[dict[str, int]], sensitivity: dict[str, float]) -> None:
    pair = pair_of([(side, side) for side in sides], sensitivity)
    assert value("spi", pair) == value("jsd", pair) == pytest.approx(0, abs=1e-12)
    assert value("impressions", pair) == 100
    exposed = measure("exposed", pair)[0]
    assert exposed.value == pytest.approx(exposed.original)


@given(some, st.sets(st.sampled_from(DOCUMENTS)))
def test_jsd_of_suppressed_queries_is_a_function_of_the_retained_share(before: dict[str, int], gone: set[str]) -> None:
    after = {query: count for query, count in before.items() if query not in gone}
    r = sum(after.values()) / sum(before.values())
    closed = 1.0
    if r:
        closed = (1 - r + r * log2(2 * r / (1 + r)) + log2(2 / (1 + r))) / 2
    assert value("jsd", pair_of([(before, after)])) == pytest.approx(closed, abs=1e-12)


def test_the_toy_cases_of_what_spi_misses() -> None:
    only = pair_of([(TEN, {"a": 1})], ONE_SENSITIVE)
    rest = pair_of([(TEN, {query: 1 for query in TEN if query != "a"})], ONE_SENSITIVE)
    assert round(value("spi", only), 4) == 0.4500
    assert round(value("spi", rest), 4) == 0.0019
    assert value("exposed", only) == pytest.approx(10.0)
    assert value("exposed", rest) == 0


def test_a_log_of_unknown_words_exposes_nothing_and_says_so() -> None:
    people = [({"qwzx": 1, "xyzzy": 3}, {"qwzx": 1}), ({"qwzx": 1, "a": 1}, {"a": 1})]
    pair = pair_of(people, {"qwzx": 0, "xyzzy": 0, "a": 0.5})
    exposed, unknown = measure("exposed", pair)
    assert [exposed.value, exposed.original, unknown.value] == pytest.approx([12.5, 12.5, 75.0])
    assert (unknown.better, unknown.basis()) == ("", "2 people")
    assert "no word of it is known" in unknown.note


def test_people_with_nothing_released_are_counted_separately() -> None:
    pair = pair_of([(TEN, TEN), (TEN, {})], ONE_SENSITIVE)
    spi, shown = measure("spi", pair)
    assert spi.value == pytest.approx((0 + 0.95) / 2)  # ½ of the nil document and ½ · 0.9 of the insensitive ones
    assert (shown.label, shown.value, shown.units_counted) == (SHOWN, 0.0, 1)
    assert "1 of 2 people have nothing released" in spi.note
    assert "nil document" in spi.note
    assert value("jsd", pair) == pytest.approx(0.5)
    by_label = {score.label: score.value for score in measure("impressions", pair)}
    assert by_label["people with nothing released"] == 50
    assert by_label["queries released"] == 50


def test_every_figure_says_what_it_is_a_share_or_mean_of() -> None:
    pair = pair_of([(TEN, {"a": 1}), (TEN, {})], ONE_SENSITIVE)
    for name in ("spi", "jsd", "pel", "exposed", "worst"):
        assert {score.basis() for score in measure(name, pair)} <= {"2 people", "1 person"}, name
    assert [score.basis() for score in measure("impressions", pair)] == [
        "20 queries",
        "2 people",
        "1 released query",
        "2 people",
    ]


def test_a_release_without_anything() -> None:
    pair = pair_of([(TEN, {}), (TEN, {})], ONE_SENSITIVE)
    mean_of_all, shown = measure("jsd", pair)
    assert (mean_of_all.value, shown.value) == (1, None)
    foreign = measure("impressions", pair)[2]
    assert foreign.value is None


def test_the_interval_of_a_share_ends_at_all_of_it() -> None:
    people = [({"a": 2}, {"a": 1}), ({"a": 1}, {"a": 1}), ({"a": 1}, {})]  # the example of docs/how-to/audit.md
    _, mean_of_people, *_ = measure("impressions", pair_of(people))
    assert (mean_of_people.value, mean_of_people.interval) == (50.0, (0.0, 100.0))
    more = [({"a": 1}, {"a": 4}), ({"a": 1}, {})]  # a release that repeats queries may hold more than all
    _, mean_of_people, *_ = measure("impressions", pair_of(more))
    assert mean_of_people.interval is not None
    assert mean_of_people.interval[1] > 200
    two = {"a": 1, "b": 1}
    (pel,) = measure("pel", pair_of([(two, two), (two, {})]))
    assert (pel.value, pel.interval) == (50.0, (0.0, 100.0))


def test_queries_that_the_person_never_issued() -> None:
    pair = pair_of([({"a": 2}, {"b": 1})], {"a": 0.5, "b": 1.0})
    assert value("jsd", pair) == 1
    assert value("exposed", pair) == 0
    foreign = measure("impressions", pair)[2]
    assert (foreign.value, "--match" in foreign.note) == (100, True)


def test_pel_leaves_out_people_with_one_distinct_query() -> None:
    (score,) = measure("pel", pair_of([({"a": 3}, {"a": 3}), ({"a": 1, "b": 1}, {"a": 1, "b": 1})]))
    assert score.value == pytest.approx(100)
    assert score.units_counted == 1
    assert "1 people with one distinct query are left out" in score.note


def test_means_have_the_interval_of_their_spread() -> None:
    pair = pair_of([({"a": 1, "b": n}, {"b": n}) for n in range(1, 9)])
    jsd = jsd_by_person(pair, SPI).tolist()
    (score, _) = measure("jsd", pair)
    half = 1.959964 * stdev(jsd) / 8**0.5
    assert score.interval == pytest.approx((mean(jsd) - half, mean(jsd) + half), abs=1e-6)
    assert measure("jsd", pair_of([(TEN, TEN)]))[0].interval is None


def test_the_worst_person_by_nearest_rank() -> None:
    values = np.array([0.3, 0.1, 0.2, 0.5, 0.4])
    assert [percentile(values, q)[0] for q in (1, 20, 21, 60, 100)] == [0.1, 0.1, 0.2, 0.3, 0.5]
    low, high = percentile(np.arange(10_000.0), 95)[1]
    assert (low, high) == (9457, 9542)  # 9500 ± 1.96 · √(10000 · 0.95 · 0.05)


def test_worst_is_about_exposed_and_spi() -> None:
    pair = pair_of([(TEN, {"a": 1}), (TEN, {}), (TEN, TEN), ({"a": 1}, {"a": 1})], ONE_SENSITIVE)
    exposed, spi = measure("worst(q=50)", pair)
    assert exposed.value == pytest.approx(10)  # of 0, 10, 10, 100
    assert spi.value == pytest.approx(0.45)  # of 0.95, 0.45, 0, 0
    assert measure("worst(q=100)", pair)[0].value == 100


@pytest.mark.parametrize("name", ["worst(q=0)", "worst(q=101)", "pel(estimate=best)", "spi(k=1)"])
def test_parameters_are_checked(name: str) -> None:
    with pytest.raises(UnknownNameError):
        resolve("measure", name)


def test_declared_functions_exist() -> None:
    for declared in DECLARATIONS:
        if declared.of_pair:
            assert callable(declared.load())
        if declared.by_person:
            assert callable(declared.load_by_person())
