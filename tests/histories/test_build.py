"""From raw rows to profiles, against the twin in plain Python."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

import queryveil
from queryveil.core.errors import LogError
from queryveil.histories.pieces import find_occurrences
from queryveil.histories.profiles import Profiles
from queryveil.logs.options import CleaningOptions
from tests.histories.twin import Row, as_twin, run

COUNTED = ("scrub", "duplicates", "bots", "histories", "terms", "stop words")
START = datetime(2006, 3, 1, 22, 0)
WORDS = [
    "the",
    "Cheap",
    "cars",
    "CAFÉ",
    "cafe\u0301",
    "İzmir",
    "où",
    "Москва",
    "東京",
    "a",
    "x-1",
    "joe@aol.com",
    "5551234567",
]


def table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "user": [row.user for row in rows],
            "query": [row.query for row in rows],
            "time": pa.array([row.time for row in rows], pa.timestamp("us")),
            "country": [row.part for row in rows],
        }
    )


Built = tuple[list[tuple[str, str, dict[str, int]]], dict[str, int]]  # histories, and what the steps counted


def built(rows: list[Row], **options: Any) -> Built | None:
    """Read and build profiles, whose order is checked; nothing where the log is refused because it holds nothing."""
    try:
        with queryveil.read(table(rows), **options) as log:
            profiles = queryveil.profiles(log)
            counts = {step.name: step.count for step in log.steps.values() if step.name in COUNTED}
    except LogError as error:
        assert re.search(r"no query of the log holds a term|all users of the log are bots", str(error))
        return None
    check_order(profiles)
    return as_twin(profiles), counts


def built_by_the_twin(rows: list[Row], **options: Any) -> Built | None:
    """Build the same in plain Python."""
    cleaning = CleaningOptions(**options)
    twin = run(rows, cleaning, cut=bool(cleaning.partition_by))
    histories = [(person, part, dict(found)) for person, part, found in twin.histories]
    return (histories, dict.fromkeys(COUNTED, 0) | twin.counts) if histories else None


def check_order(profiles: Profiles) -> None:
    """Entries fall with the number of people, ties by text; rows ascend and are unique; owners ascend."""
    holders: dict[int, set[int]] = {}
    for h in range(profiles.n_histories):
        row = profiles.ids[profiles.indptr[h] : profiles.indptr[h + 1]].tolist()
        assert row == sorted(set(row))
        for entry in row:
            holders.setdefault(entry, set()).add(int(profiles.owner[h]))
    assert sorted(holders) == list(range(len(profiles.vocabulary)))
    ranks = [(-len(holders[i]), profiles.vocabulary[i].encode()) for i in range(len(profiles.vocabulary))]
    assert ranks == sorted(ranks)
    assert profiles.owner.tolist() == sorted(profiles.owner.tolist())
    assert profiles.n_people == len(profiles.persons)


row_of_log = st.builds(
    Row,
    st.sampled_from(["b", "a", "10", "2"]),
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    st.one_of(
        st.none(),
        st.integers(0, 400).map(lambda quarters: START + timedelta(minutes=15 * quarters)),
        st.integers(-3, 3).map(lambda hours: datetime(1970, 1, 1) + timedelta(hours=hours)),
    ),
    st.sampled_from(["", "de", "us"]),
)
rows_of_log = st.lists(row_of_log, min_size=1, max_size=40)
options_of_cleaning = st.fixed_dictionaries(
    {
        "history": st.sampled_from(["user", "session", "day", "window:7d", "window:10h"]),
        "session_gap": st.sampled_from(["15m", "30m", "899s", "2h"]),
        "charset": st.sampled_from(["letters", "paper"]),
        "stop_words": st.sampled_from(["none", "english"]),
        "duplicates": st.sampled_from(["merge", "keep"]),
        "bots": st.sampled_from([0, 2, 5, 100]),
        "bot_session": st.sampled_from(["day", "gap"]),
        "scrub": st.booleans(),
        "partition_by": st.sampled_from(["", "country"]),
    }
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(rows_of_log, options_of_cleaning)
def test_profiles_equal_those_of_the_slow_twin(rows: list[Row], options: dict[str, Any]) -> None:
    if options["history"] != "user" and all(row.time is None for row in rows):
        with pytest.raises(LogError, match=r"needs times, and the log has none; use history user"):
            queryveil.profiles(table(rows), **options)
        return
    assert built(rows, **options) == built_by_the_twin(rows, **options)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(row_of_log, st.booleans()), min_size=1, max_size=30), options_of_cleaning)
def test_every_row_and_person_is_in_one_step_or_left(messy: list[tuple[Row, bool]], options: dict[str, Any]) -> None:
    """A row without a user is a bad line; the account is that of the slow twin, step by step."""
    rows = [replace(row, user="") if is_bad else row for row, is_bad in messy]
    assume(any(row.user for row in rows))
    if all(row.time is None for row in rows if row.user):
        options |= {"history": "user"}
    twin = run(rows, CleaningOptions(**options), cut=bool(options["partition_by"]))
    if not twin.histories:
        return
    with queryveil.read(table(rows), max_bad_lines="100%", **options) as log:
        profiles = queryveil.profiles(log)
        steps = log.steps
    people = {row.user for row in rows if row.user}
    assert (steps["rows"].count, steps["rows"].rows, steps["rows"].people) == (len(rows), len(rows), len(people))
    taken = {name: (-step.rows, -step.people) for name, step in steps.items() if name != "rows"}
    assert taken == dict.fromkeys(taken, (0, 0)) | twin.taken
    left = sum(step.rows for step in steps.values()), sum(step.people for step in steps.values())
    assert left == (steps["left"].count, profiles.n_people)
    assert steps["left"].note == f"{profiles.n_people} people"
    assert steps["histories"].count == profiles.n_histories


def test_a_larger_random_log_equals_the_slow_twin() -> None:
    generator = np.random.default_rng(7)
    words = [f"w{i}" for i in range(300)] + WORDS
    rows = [
        Row(
            f"user {generator.integers(60)}",
            " ".join(generator.choice(words, generator.integers(0, 6))),
            START + timedelta(seconds=int(generator.integers(20 * 86_400))),
            str(generator.integers(3)),
        )
        for _ in range(4_000)
    ]
    for options in (
        {},
        {"history": "session", "session_gap": "6h"},
        {"history": "window:3d", "partition_by": "country"},
        {"bots": 8, "bot_session": "gap", "session_gap": "5h", "stop_words": "english", "charset": "paper"},
    ):
        assert built(rows, **options) == built_by_the_twin(rows, **options)


def test_a_term_counts_once_per_query() -> None:
    rows = [Row("u", "spam spam SPAM eggs"), Row("u", "spam")]
    profiles = queryveil.profiles(table(rows))
    assert as_twin(profiles) == [("u", "", {"spam": 2, "eggs": 1})]


def test_whole_queries_can_be_the_unit() -> None:
    rows = [Row("a", "New  York!"), Row("a", "new york"), Row("b", "york, new"), Row("b", "…")]
    profiles = queryveil.profiles(table(rows), unit="query")
    assert as_twin(profiles) == [("a", "", {"new york": 2}), ("b", "", {"york new": 1})]


def test_a_log_without_terms_is_refused() -> None:
    with pytest.raises(LogError, match="no query of the log holds a term; check columns, charset"):
        queryveil.profiles(table([Row("u", "… !"), Row("v", "")]))


def test_occurrences_are_the_terms_of_single_queries() -> None:
    rows = [
        Row("a", "the cheap cheap cars", START),
        Row("b", "…", START),
        Row("a", "cars", START + timedelta(days=1)),
        Row("b", "cheap", START + timedelta(days=2)),
    ]
    with queryveil.read(table(rows), history="day", stop_words="english", keep=("time",)) as log:
        profiles = queryveil.profiles(log)
        found = find_occurrences(log, profiles, log.source.keep)
        texts = log.to_arrow()
    assert texts.num_rows == 4
    pairs = sorted(
        (
            profiles.persons[profiles.owner[found.history[query]]],
            found.extra["time"][int(query)].as_py(),
            profiles.vocabulary[profiles.ids[pair]],
        )
        for query, pair in zip(found.query, found.pair, strict=True)
    )
    assert pairs == [
        ("a", rows[0].time, "cars"),
        ("a", rows[0].time, "cheap"),
        ("a", rows[2].time, "cars"),
        ("b", rows[3].time, "cheap"),
    ]
    own = np.searchsorted(profiles.indptr, found.pair, side="right") - 1
    assert own.tolist() == found.history[found.query].tolist()
