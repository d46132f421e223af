"""Parquet files, and pandas, Polars and Arrow tables, in and out; how their times are stored."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.core.errors import LogError

START = datetime(2006, 3, 1, 7, 17, 12)
ROWS = [(i % 10, f"query {i}", START + timedelta(minutes=i)) for i in range(30)]
SECONDS = [int(time.replace(tzinfo=UTC).timestamp()) for _, _, time in ROWS]


def arrow(times: Any = None) -> pa.Table:
    times = pa.array([time for _, _, time in ROWS], pa.timestamp("us")) if times is None else times
    return pa.table({"user": [u for u, _, _ in ROWS], "query": [q for _, q, _ in ROWS], "time": times})


def rows_of(log: Any, **options: Any) -> list[tuple[str, str, datetime]]:
    with queryveil.read(log, **options) as opened:
        rows = opened.to_arrow().to_pylist()
    return sorted(((r["person"], r["query"], r["time"]) for r in rows), key=lambda row: row[2])


EXPECTED = [(str(u), q, t) for u, q, t in ROWS]

TIMES = {
    "timestamp[s]": pa.array([t for _, _, t in ROWS], pa.timestamp("s")),
    "timestamp[ms]": pa.array([t for _, _, t in ROWS], pa.timestamp("ms")),
    "timestamp[us]": pa.array([t for _, _, t in ROWS], pa.timestamp("us")),
    "timestamp[ns]": pa.array([t for _, _, t in ROWS], pa.timestamp("ns")),
    "timestamp[us, UTC]": pa.array(SECONDS, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC")),
    "timestamp[us, elsewhere]": pa.array(SECONDS, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "Asia/Tokyo")),
    "int64 seconds": pa.array(SECONDS, pa.int64()),
    "int64 milliseconds": pa.array([s * 1_000 for s in SECONDS], pa.int64()),
    "int64 microseconds": pa.array([s * 1_000_000 for s in SECONDS], pa.int64()),
    "int64 nanoseconds": pa.array([s * 1_000_000_000 for s in SECONDS], pa.int64()),
    "float seconds": pa.array([float(s) for s in SECONDS]),
    "text": pa.array([str(t) for _, _, t in ROWS]),
    "text with T and Z": pa.array([t.isoformat() + "Z" for _, _, t in ROWS]),
    "text with offset": pa.array([(t + timedelta(hours=2)).isoformat() + "+02:00" for _, _, t in ROWS]),
    "text of seconds": pa.array([str(s) for s in SECONDS]),
    "dictionary": pa.array([str(t) for _, _, t in ROWS]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("place", ["memory", "parquet"])
def test_times_of_typed_columns_are_read_in_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    table = arrow(TIMES[kind])
    if place == "parquet":
        pq.write_table(table, tmp_path / "log.parquet")
    assert rows_of(table if place == "memory" else tmp_path / "log.parquet") == EXPECTED


@pytest.mark.parametrize("place", ["memory", "parquet"])
def test_the_first_times_may_be_missing(tmp_path: Path, place: str) -> None:
    table = pa.table(
        {"user": ["a"] * 400, "query": [str(i) for i in range(400)], "time": [None] * 350 + SECONDS[:1] * 50}
    )
    pq.write_table(table, tmp_path / "log.parquet")
    with queryveil.read(table if place == "memory" else tmp_path / "log.parquet", bots=0) as log:
        times = log.to_arrow()["time"].to_pylist()
    assert (times.count(START), times.count(None)) == (50, 350)


def test_dates_are_the_beginning_of_their_day() -> None:
    table = pa.table({"user": ["u"], "query": ["q"], "time": [date(2006, 3, 1)]})
    assert rows_of(table) == [("u", "q", datetime(2006, 3, 1))]


def test_parquet_is_recognised_named_and_taken_by_columns(tmp_path: Path) -> None:
    pq.write_table(arrow().rename_columns(["who", "what", "when"]), tmp_path / "log")
    assert rows_of(tmp_path / "log", columns="user=who,query=what,time=when") == EXPECTED
    assert rows_of(tmp_path / "log", columns="user=who,query=what,time=when", format="table") == EXPECTED
    with pytest.raises(LogError, match=r"none of the 3 column names \(who, what, when\) is that of a user"):
        queryveil.read(tmp_path / "log")
    with pytest.raises(LogError, match="there is no column 'whoo' for user; did you mean who"):
        queryveil.read(tmp_path / "log", columns="user=whoo")


def test_text_stored_as_bytes_is_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [b"u"], "query": ["café".encode()]}), tmp_path / "log.parquet")
    with queryveil.read(tmp_path / "log.parquet") as log:
        assert log.to_arrow().to_pylist() == [{"person": "u", "query_id": 0, "query": "café"}]


def test_a_pandas_frame_goes_in_and_out() -> None:
    frame = arrow().to_pandas()
    assert rows_of(frame) == EXPECTED
    with queryveil.read(frame) as log:
        out = log.to_pandas()
    assert list(out.columns) == ["person", "query_id", "query", "time"]
    assert (len(out), out["query"].iloc[0], out["time"].iloc[-1]) == (30, "query 0", ROWS[29][2])


def test_a_polars_frame_goes_in_and_out() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(arrow())
    assert rows_of(frame) == EXPECTED
    with queryveil.read(frame) as log:
        out = log.to_polars()
    assert out.shape == (30, 4)
    assert out.row(0) == ("0", 0, "query 0", START)


def test_bad_rows_of_a_table_are_counted_and_named() -> None:
    users: list[str | None] = ["a"] * 20
    users[7] = users[12] = None
    table = pa.table({"user": users, "query": ["q"] * 20})
    with pytest.raises(LogError, match=r"the table: 2 of 20 rows are bad and 1 may be; the first is row 8 \(no user\)"):
        queryveil.read(table)
    with queryveil.read(table, max_bad_lines="2") as log:
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (20, 2)
    times = ["2006-01-01"] * 20
    times[3] = times[4] = "tomorrow"
    with pytest.raises(LogError, match=r"the first is row 4 \(a time that is neither ISO 8601"):
        queryveil.read(pa.table({"user": ["a"] * 20, "query": ["q"] * 20, "time": times}))


def test_bad_rows_of_parquet_are_counted_and_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["a", None, None, "b"], "query": ["q"] * 4}), tmp_path / "log.parquet")
    with pytest.raises(
        LogError, match=r"log.parquet: 2 of 4 rows are bad and 1 may be; the first is row 2 \(no user\)"
    ):
        queryveil.read(tmp_path / "log.parquet")


@pytest.mark.parametrize("table", [pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())})])
def test_an_empty_table_is_refused(table: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="the table has no rows; give a log with at least one query"):
        queryveil.read(table)
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(LogError, match=r"log.parquet has no rows"):
        queryveil.read(tmp_path / "log.parquet")


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(arrow(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LogError, match=r"log.parquet is a truncated or damaged Parquet file; write it again"):
        queryveil.read(path)


def test_a_closed_log_says_so() -> None:
    with queryveil.read(arrow()) as log:
        pass
    with pytest.raises(queryveil.core.errors.QueryveilError, match="the log is closed already"):
        log.to_arrow()
