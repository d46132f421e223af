from dataclasses import replace

import numpy as np
import pytest

from queryveil.core.rows import indptr_of, row_numbers
from queryveil.logs.generate import ALTAVISTA, AOL, DEMO
from queryveil.logs.generate.lexicon import QueryLexicon
from queryveil.logs.generate.people import draw_times, make_people
from queryveil.logs.generate.shape import LogShape
from queryveil.logs.generate.word_sources import build_lexicon


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
