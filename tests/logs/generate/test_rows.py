from dataclasses import replace

import numpy as np
import pytest

from queryveil.core.rows import indptr_of, row_numbers
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon, build_lexicon
from queryveil.logs.generate.patterns import LONGEST, Slot
from queryveil.logs.generate.people import make_people
from queryveil.logs.generate.presets import ALTAVISTA, AOL, DEMO
from queryveil.logs.generate.rows import draw_results, draw_times, make_rows
from queryveil.logs.generate.shape import LogShape


@pytest.fixture(scope="module")
def lexicon() -> QueryLexicon:
    return build_lexicon(DEMO, np.random.default_rng(1))


@pytest.mark.parametrize("shape", [DEMO, ALTAVISTA, AOL], ids=lambda shape: shape.name)
def test_times_are_strictly_increasing_within_the_days(shape: LogShape, lexicon: QueryLexicon) -> None:
    rng = np.random.default_rng(4)
    busy = replace(shape, activity=replace(shape.activity, queries=200.0, sigma=2.0))  # many are sped up
    people = make_people(300, replace(busy, sizes=DEMO.sizes), lexicon, rng)
    owners = row_numbers(indptr_of(people.n_queries))
    times = draw_times(people, owners, busy, rng)
    steps = np.diff(times).astype(np.int64)[owners[1:] == owners[:-1]]
    assert steps.min() >= 1
    assert times.min() >= np.datetime64(shape.first_day)
    assert times.max() < np.datetime64(shape.first_day) + np.timedelta64(shape.days, "D")


def test_hours_are_as_busy_as_given(lexicon: QueryLexicon) -> None:
    rng = np.random.default_rng(4)
    people = make_people(20_000, DEMO, lexicon, rng)
    times = draw_times(people, row_numbers(indptr_of(people.n_queries)), DEMO, rng)
    hours = (times.astype(np.int64) // 3600) % 24
    expected = np.array(DEMO.activity.hours) / sum(DEMO.activity.hours)
    np.testing.assert_allclose(np.bincount(hours, minlength=24) / len(hours), expected, atol=0.006)


def test_bots_search_in_one_session(lexicon: QueryLexicon) -> None:
    rng = np.random.default_rng(4)
    people = make_people(4_000, DEMO, lexicon, rng)
    owners = row_numbers(indptr_of(people.n_queries))
    times = draw_times(people, owners, DEMO, rng).astype(np.int64)
    assert 2 <= np.count_nonzero(people.is_bot) <= 3
    for bot in np.flatnonzero(people.is_bot):
        assert np.diff(times[owners == bot]).max() < 30 * 60


def test_a_site_that_is_named_is_the_first_result(lexicon: QueryLexicon) -> None:
    site = lexicon.samplers[Slot.SITE].ids[7]
    terms = np.full((2_000, LONGEST), NOTHING, np.int32)
    terms[:, 1] = site
    terms[:, 0] = lexicon.samplers[Slot.COM].ids[0]
    results = draw_results(terms, lexicon, DEMO.queries, np.random.default_rng(3))
    first = results.ranks == 1
    assert (results.sites[first] == site).all()
    assert len({*zip(results.ranks.tolist(), results.sites.tolist(), strict=True)}) == len(set(results.ranks.tolist()))
    assert (results.sites[~first] != site).all()


def test_each_row_is_a_click_or_a_query_without_one(lexicon: QueryLexicon) -> None:
    terms = np.full((20_000, LONGEST), NOTHING, np.int32)
    results = draw_results(terms, lexicon, DEMO.queries, np.random.default_rng(3))
    per_query = np.bincount(results.queries)
    assert len(per_query) == 20_000
    assert (per_query[results.queries[~results.is_clicked]] == 1).all()
    assert per_query.max() == 5
    assert results.is_clicked[np.diff(results.queries, prepend=-1) > 0].mean() == pytest.approx(0.52, abs=0.02)
    within = np.diff(results.queries) == 0
    assert (np.diff(results.ranks)[within] >= 1).all()


def test_addresses_are_written_with_dots_and_fields_separated_by_tabs(lexicon: QueryLexicon) -> None:
    www, com, site = (int(lexicon.samplers[slot].ids[0]) for slot in (Slot.WWW, Slot.COM, Slot.SITE))
    queries = np.full((3, LONGEST), NOTHING, np.int32)
    queries[0, :3], queries[1, :2], queries[2, :2] = (www, site, com), (site, com), (com, site)
    times = np.array(["2006-03-01 10:00:00"] * 3, "datetime64[s]")
    mix = replace(DEMO.queries, clicked=0.0)
    results = draw_results(lexicon.terms_of(queries), lexicon, mix, np.random.default_rng(3))
    name = lexicon.texts[site].as_py()
    rows = make_rows(np.array([5, 5, 9]), queries, times, results, lexicon).to_pybytes().decode()
    assert rows.splitlines() == [
        f"5\twww.{name}.com\t2006-03-01 10:00:00\t\t",
        f"5\t{name}.com\t2006-03-01 10:00:00\t\t",
        f"9\tcom {name}\t2006-03-01 10:00:00\t\t",
    ]
