"""CleaningOptions, step by step, with what each step counts."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.core.errors import LogError

DAY = datetime(2006, 3, 1)
Rows = list[tuple[str, str, datetime | None]]


def table(rows: Rows) -> pa.Table:
    users, queries, times = zip(*rows, strict=True)
    return pa.table({"user": users, "query": queries, "time": pa.array(times, pa.timestamp("us"))})


def cleaned(rows: Rows, **options: Any) -> tuple[list[tuple[str, str]], dict[str, tuple[int, str]]]:
    """Return (person, query) of the cleaned log, and count and note of every step."""
    with queryveil.read(table(rows), **options) as log:
        found = [(row["person"], row["query"]) for row in log.to_arrow().to_pylist()]
        return found, {step.name: (step.count, step.note) for step in log.steps.values()}


def histories(rows: Rows, **options: Any) -> list[list[str]]:
    """Return the terms of every history."""
    profiles = queryveil.profiles(table(rows), **options)
    words = profiles.vocabulary
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [sorted(words[i] for i in profiles.ids[a:b]) for a, b in bounds]


def test_rows_of_equal_user_query_and_time_are_one_query() -> None:
    later = DAY + timedelta(seconds=1)
    rows: Rows = [
        ("u", "q", DAY),
        ("u", "q", DAY),
        ("u", "q", later),
        ("v", "q", DAY),
        ("u", "Q", DAY),
        ("u", "q", DAY),
    ]
    found, steps = cleaned(rows)
    assert found == [("u", "Q"), ("u", "q"), ("u", "q"), ("v", "q")]
    assert (steps["rows"], steps["duplicates"]) == ((6, "2 people"), (2, ""))
    found, steps = cleaned(rows, duplicates="keep")
    assert (len(found), steps["duplicates"]) == (6, (0, "off"))


def test_the_first_click_of_a_merged_query_stays(tmp_path: Path) -> None:
    lines = [f"u\tq\t{DAY}\t{rank}\thttp://{rank}.example" for rank in (3, 1, 2)]
    path = tmp_path / "log"
    path.write_text("\n".join(["AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *lines]))
    with queryveil.read(path, keep=("rank", "url")) as log:
        assert log.to_arrow().to_pylist() == [
            {"person": "u", "query_id": 0, "query": "q", "time": DAY, "rank": "3", "url": "http://3.example"}
        ]
    with queryveil.read(path) as log:
        assert log.columns == ("person", "query", "time")


def test_without_times_merging_and_bots_are_reported_as_skipped() -> None:
    found, steps = cleaned([("u", f"q{i % 2}", None) for i in range(300)])
    assert len(found) == 300
    assert steps["duplicates"] == (0, "skipped: the log has no times")
    assert steps["bots"] == (0, "skipped: the log has no times")


def test_scrubbing_comes_before_merging_and_counts_rows() -> None:
    rows: Rows = [("u", "mail joe@a.com", DAY), ("u", "mail ann@b.com", DAY), ("v", "mail joe@a.com 212-555-1234", DAY)]
    found, steps = cleaned(rows)
    assert [(person, query.split()) for person, query in found] == [("u", ["mail"]), ("v", ["mail"])]
    assert steps["scrub"] == (4, "3 email, 1 phone")
    assert steps["duplicates"] == (1, "")
    found, steps = cleaned(rows, scrub=False)
    assert (len(found), steps["scrub"]) == (3, (0, "off"))


@pytest.mark.parametrize("bot_session", ["day", "gap"])
def test_a_bot_has_a_session_with_more_queries_than_the_limit(bot_session: str) -> None:
    rows: Rows = [("stays", f"q{i}", DAY + timedelta(minutes=i)) for i in range(100)]
    rows += [("bot", f"q{i}", DAY + timedelta(minutes=i)) for i in range(101)]
    found, steps = cleaned(rows, bot_session=bot_session)
    assert {person for person, _ in found} == {"stays"}
    assert steps["bots"] == (1, "101 queries")
    found, steps = cleaned(rows, bot_session=bot_session, bots=0)
    assert ({person for person, _ in found}, steps["bots"]) == ({"stays", "bot"}, (0, "off"))


def test_days_and_gaps_give_different_bots() -> None:
    night = DAY + timedelta(hours=23)
    rows: Rows = [("busy night", f"q{i}", night + timedelta(minutes=i)) for i in range(120)]  # two days, one session
    rows += [("busy day", f"q{i}", DAY + timedelta(minutes=9 * i)) for i in range(120)]  # one day, pauses of 9 minutes
    assert {p for p, _ in cleaned(rows, bot_session="day")[0]} == {"busy night"}
    with pytest.raises(LogError, match="all users of the log are bots by bots; raise it, or give 0"):
        queryveil.read(table(rows), bot_session="gap")
    assert {p for p, _ in cleaned(rows, bot_session="gap", session_gap="5m")[0]} == {"busy day"}


def test_duplicates_are_merged_before_bots_are_counted() -> None:
    rows: Rows = [("u", f"q{i // 2}", DAY + timedelta(minutes=i // 2)) for i in range(200)]
    assert cleaned(rows)[1]["bots"] == (0, "")


def test_a_session_ends_where_the_pause_is_strictly_longer_than_the_gap() -> None:
    minutes = (0, 30, 60, 91, 92)
    rows: Rows = [("u", f"at{minute}", DAY + timedelta(minutes=minute)) for minute in minutes]
    expected = [["at0", "at30", "at60"], ["at91", "at92"]]
    assert histories(rows, history="session") == expected
    assert histories(rows[::-1], history="session") == expected  # the order of the file does not matter
    assert histories(rows, history="session", session_gap="31m") == [[f"at{minute}" for minute in minutes]]


def test_histories_by_day_and_window_are_counted_in_utc_from_1970() -> None:
    times = (datetime(1969, 12, 31, 23), datetime(1970, 1, 1), datetime(1970, 1, 7, 23), datetime(1970, 1, 8))
    rows: Rows = [("u", f"t{i}", time) for i, time in enumerate(times)]
    assert histories(rows, history="day") == [["t0"], ["t1"], ["t2"], ["t3"]]
    assert histories(rows, history="window:7d") == [["t0"], ["t1", "t2"], ["t3"]]
    assert cleaned(rows, history="window:7d")[1]["histories"] == (3, "window:7d")
    assert cleaned(rows, history="session")[1]["histories"] == (4, "session, gap 30m")
    assert cleaned(rows)[1]["histories"] == (1, "user")


@pytest.mark.parametrize("history", ["session", "day", "window:1h"])
def test_queries_without_a_time_are_a_separate_history(history: str) -> None:
    rows: Rows = [("u", "dated", DAY), ("u", "undated", None), ("u", "lost", None)]
    assert histories(rows, history=history) == [["dated"], ["lost", "undated"]]


def test_histories_need_times() -> None:
    with pytest.raises(LogError, match="history day needs times, and the log has none; use history user"):
        queryveil.read(table([("u", "q", None)]), history="day")


def test_a_log_is_partitioned_by_a_column(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,country\na,x,us\nb,y,de\na,z,de\nb,w,\n")
    with queryveil.read(path, partition_by="country") as log:
        assert log.partition_values == ("", "de", "us")
        assert log.steps["histories"].note == "user, 3 parts by country"
        owner, part = log.owners_and_partitions()
        profiles = queryveil.profiles(log)
    assert part is not None
    assert (owner.tolist(), part.tolist()) == ([0, 0, 1, 1], [1, 2, 0, 1])
    assert [profiles.persons[person] for person in profiles.owner] == ["a", "a", "b", "b"]
    with pytest.raises(LogError, match=r"log.csv: there is no single column 'land' to partition by; compare it"):
        queryveil.read(path, partition_by="land")
    path.write_text('{"user": "a", "query": "x"}\n')
    with pytest.raises(LogError, match="there is no single column 'country' to partition by"):
        queryveil.read(path, partition_by="country")


def test_stop_words_are_left_out_and_counted() -> None:
    rows: Rows = [("u", "the house of THE rising sun", None), ("v", "to be or not to be", None)]
    assert histories(rows, stop_words="english") == [["house", "rising", "sun"]]
    with queryveil.read(table(rows), stop_words="english") as log:
        queryveil.profiles(log)
        counts = {step.name: step.count for step in log.steps.values()}
        assert (counts["terms"], counts["stop words"]) == (9, 6)
        assert str(log.steps["stop words"]) == "6 stop words left out: −1 row, −1 person"
    with queryveil.read(table(rows)) as log:
        queryveil.profiles(log)
        assert (log.steps["stop words"].count, log.steps["stop words"].note) == (0, "off")


def test_people_are_numbered_by_first_row_and_user_ids_are_trimmed() -> None:
    rows: Rows = [(" z ", "q", None), ("a", "q", None), ("z", "r", None), ("Z", "q", None)]
    with queryveil.read(table(rows)) as log:
        assert log.persons() == ("z", "a", "Z")


def test_the_account_says_where_rows_and_people_went() -> None:
    rows: Rows = [("u", "wine", DAY), ("u", "", DAY), ("v", "  ", DAY), ("v", "?!", DAY), ("w", "joe@a.com", DAY)]
    with queryveil.read(table(rows)) as log:
        queryveil.profiles(log)
        queryveil.profiles(log, unit="query")
        printed = [str(step) for step in log.steps.values()]
    assert printed[0] == "5 rows read (3 people)"
    assert printed[-3:] == [
        "4 queries without a term left out (empty, or without letters and digits): −4 rows, −2 people",
        "1 history (user)",
        "1 query left (1 people)",
    ]
