"""The options of reading and cleaning: what is allowed, and what a refusal says."""

import re
from typing import Any

import pytest

from queryveil.core.errors import InputError
from queryveil.logs.options import CleaningOptions, ReadingOptions, seconds


@pytest.mark.parametrize(("text", "expected"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("7d", 604800)])
def test_durations(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"session_gap": "30"}, "--session-gap must be a duration such as 90s, 30m, 2h or 1d, not 30"),
        ({"session_gap": "0m"}, "must be a duration"),
        ({"session_gap": "9999999d"}, "must be a duration"),
        ({"history": "week"}, "must be user, session, day or window:DURATION such as window:7d, not week"),
        ({"history": "window:0d"}, "must be user, session, day or window:DURATION"),
        ({"bots": -1}, "must be a whole number of at least 0, not -1"),
        ({"charset": "letter"}, "did you mean letters"),
        ({"stop_words": "german"}, "must be one of none, english"),
        ({"duplicates": "drop"}, "must be one of merge, keep"),
        ({"bot_session": "hour"}, "must be one of day, gap"),
    ],
)
def test_cleaning_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        CleaningOptions(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_limit": "2"}, "must be a size such as 500MB or 2GB, not 2"),
        ({"memory_limit": "lots"}, "must be a size such as 500MB or 2GB"),
        ({"max_bad_lines": "few"}, "must be a number of lines, or a share such as 0.1%, not few"),
        ({"max_bad_lines": "-1"}, "must be a number of lines"),
        ({"columns": "user"}, "must be role=column pairs such as user=uid,query=q,time=ts, not user"),
        ({"columns": "user=a,,query=b"}, "must be role=column pairs"),
    ],
)
def test_reading_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        ReadingOptions(**options)


def test_roles_of_columns() -> None:
    assert ReadingOptions(columns="user=a, query=b c ,time=d").column_roles() == {
        "user": "a",
        "query": "b c",
        "time": "d",
    }
    assert ReadingOptions().column_roles() == {}
    with pytest.raises(InputError, match=r"--columns: there is no role 'usr'; did you mean user"):
        ReadingOptions(columns="usr=a").column_roles()
    with pytest.raises(InputError, match="--columns: a role is given twice"):
        ReadingOptions(columns="user=a,user=b").column_roles()


@pytest.mark.parametrize(
    ("text", "n_lines", "allowed"),
    [("0.1%", 10, 1), ("0.1%", 5_000, 5), ("0%", 10, 1), ("0", 10, 0), ("7", 10, 7), ("50%", 10, 5)],
)
def test_allowed_number_of_bad_lines(text: str, n_lines: int, allowed: int) -> None:
    assert ReadingOptions(max_bad_lines=text).allowed_bad_lines(n_lines) == allowed


@pytest.mark.parametrize(("text", "size"), [("500MB", 500_000_000), ("1.5 GB", 1_500_000_000)])
def test_memory_limits(text: str, size: int) -> None:
    assert ReadingOptions(memory_limit=text).memory_bytes() == size


def test_cleaning_options_round_trip_through_a_manifest_and_unknown_ones_are_ignored() -> None:
    options = CleaningOptions(scrub=False, bots=7, history="window:7d", charset="paper")
    assert CleaningOptions.from_record({**options.as_record(), "invented": 1}) == options
