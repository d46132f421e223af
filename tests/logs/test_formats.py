"""Every format: guessed and named, plain and compressed, with the first, a middle and the last record."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil
from queryveil.core.errors import LogError, UnknownNameError

START = datetime(2006, 3, 1, 7, 17, 12)
N = 30
TEXTS = ['it"s a quote', "naïve café", "plain words", '"whole"', "tab-free; and, delimiters | too"]
# Thirty queries of ten people, each a minute after the one before.
ROWS = [(f"u{i % 10}", f"{TEXTS[i % 5]} {i}", START + timedelta(minutes=i)) for i in range(N)]


def iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def aol() -> str:
    lines = [f"{u}\t{q}\t{iso(t)}\t{i}\thttp://x{i}.example" for i, (u, q, t) in enumerate(ROWS)]
    return "\n".join(["AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *lines]) + "\n"


def excite() -> str:
    return "".join(f"{u}\t{t.strftime('%y%m%d%H%M%S')}\t{q}\n" for u, q, t in ROWS)


def ubi() -> str:
    records = (
        {"query_id": str(i), "client_id": u, "user_query": q, "timestamp": t.isoformat() + "Z"}
        for i, (u, q, t) in enumerate(ROWS)
    )
    return "".join(json.dumps(record) + "\n" for record in records)


def table(delimiter: str, rows: Sequence[Sequence[str]], header: Sequence[str] = ("user", "query", "time")) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def plain_rows() -> list[tuple[str, str, str]]:
    return [(u, q, iso(t)) for u, q, t in ROWS]


def jsonl() -> str:
    return "".join(json.dumps({"user": u, "query": q, "time": iso(t)}) + "\n" for u, q, t in ROWS)


CONTENTS: dict[str, tuple[str, Callable[[], str]]] = {
    "aol": ("aol", aol),
    "excite": ("excite", excite),
    "ubi": ("ubi", ubi),
    "csv": ("table", lambda: table(",", plain_rows())),
    "tsv": ("table", lambda: table("\t", plain_rows())),
    "semicolons": ("table", lambda: table(";", plain_rows())),
    "bars": ("table", lambda: table("|", plain_rows())),
    "jsonl": ("table", jsonl),
}


def read_rows(log: Any, **options: Any) -> list[tuple[str, str, datetime | None]]:
    """Return (person, query, time) in the order of time."""
    with queryveil.read(log, scrub=False, **options) as opened:
        rows = opened.to_arrow().to_pylist()
    return sorted(((r["person"], r["query"], r.get("time")) for r in rows), key=lambda row: (str(row[2]), row))


def check_rows(found: list[tuple[str, str, datetime | None]]) -> None:
    assert len(found) == N
    assert (found[0], found[N // 2], found[-1]) == (ROWS[0], ROWS[N // 2], ROWS[-1])
    assert found == ROWS


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("named", [False, True])
def test_each_format_is_guessed_and_can_be_named(tmp_path: Path, content: str, named: bool) -> None:
    name, make = CONTENTS[content]
    path = tmp_path / "log"
    path.write_text(make(), encoding="utf-8")
    options: dict[str, Any] = {"format": name} if named else {}
    with queryveil.read(path, **options) as log:
        assert log.format == name
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (N, 0)
    check_rows(read_rows(path, **options))


@pytest.mark.parametrize("content", CONTENTS)
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + CONTENTS[content][1]().replace("\n", "\r\n").encode())
    check_rows(read_rows(path))


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compression_is_recognised_by_content(tmp_path: Path, content: str, compression: str) -> None:
    data = CONTENTS[content][1]().encode()
    packed = gzip.compress(data) if compression == "gzip" else pa.compress(data, codec="zstd", asbytes=True)
    for name in ("log.gz" if compression == "gzip" else "log.zst", "without_suffix", "wrong.tsv"):
        (tmp_path / name).write_bytes(packed)
        check_rows(read_rows(tmp_path / name))


def test_a_plain_file_may_be_called_gz(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_text(aol())
    check_rows(read_rows(tmp_path / "log.gz"))


@pytest.mark.parametrize("content", ["aol", "excite", "jsonl", "csv"])
def test_mixed_line_ends_empty_lines_and_a_missing_last_line_end_are_read(tmp_path: Path, content: str) -> None:
    lines = CONTENTS[content][1]().splitlines()
    text = "\n\n" + "".join(f"{line}\n\r\n" if i % 3 else f"{line}\r\n" for i, line in enumerate(lines))
    (tmp_path / "log").write_bytes(text.rstrip("\r\n").encode())
    check_rows(read_rows(tmp_path / "log"))


def test_baskets_of_numbers_are_guessed_and_baskets_of_words_must_be_named(tmp_path: Path) -> None:
    numbers, words = tmp_path / "numbers", tmp_path / "words"
    numbers.write_text("1 2 3\n\n10 20\n 7\n")
    words.write_text('milk "bread"\nwine\n')
    with queryveil.read(numbers) as log:
        rows = log.to_arrow().to_pylist()
        assert log.format == "transactions"
    assert [(row["person"], row["query"].split()) for row in rows] == [
        ("1", ["1", "2", "3"]),
        ("2", ["10", "20"]),
        ("3", ["7"]),
    ]
    with queryveil.read(words, format="transactions") as log:
        assert [row["query"] for row in log.to_arrow().to_pylist()] == ['milk "bread"', "wine"]
    with pytest.raises(LogError, match="could not be guessed; name it with format"):
        queryveil.read(words)


def test_baskets_of_several_files_are_different_people(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1 2\n3 4\n")
    profiles = queryveil.profiles([tmp_path / "a", tmp_path / "b"])
    assert profiles.persons == ("1", "2", "3", "4")


def test_basket_items_are_scrubbed_separately(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("212 555 1234\n4111 1111 1111 1111\n12345678 9\n")
    with queryveil.read(tmp_path / "log") as log:
        assert [row["query"].split() for row in log.to_arrow().to_pylist()] == [
            ["212", "555", "1234"],
            ["4111", "1111", "1111", "1111"],
            ["9"],
        ]
        assert {step.name: step.count for step in log.steps.values()}["scrub"] == 1


def test_csv_fields_may_hold_quotes_delimiters_and_line_breaks(tmp_path: Path) -> None:
    queries = ['say "hi"', "a,b", "two\nlines", 'three\r\n\r\nlines, "quoted"', "last"]
    rows = [("u", query, iso(START + timedelta(hours=i))) for i, query in enumerate(queries)]
    (tmp_path / "log.csv").write_bytes(table(",", rows).encode())
    assert [query for _, query, _ in read_rows(tmp_path / "log.csv")] == queries


def test_quotes_in_a_table_between_tabs_are_text_if_they_do_not_come_in_pairs(tmp_path: Path) -> None:
    rows = [("a", '"open'), ("b", 'inch 6"'), ("c", '"both"')]
    text = "".join("\t".join(row) + "\n" for row in [("user", "query"), *rows])
    (tmp_path / "log.tsv").write_text(text)
    assert [row[:2] for row in sorted(read_rows(tmp_path / "log.tsv"))] == rows


def test_columns_are_found_by_usual_names_and_by_names_given(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table(",", [(t, "x", q, u) for u, q, t in plain_rows()], ("When", "", "what", "who")))
    check_rows(read_rows(path, columns="user=who, query=what,time=When"))
    path.write_text(table(",", [(t, "x", q, u) for u, q, t in plain_rows()], ("Timestamp", "", "Q", "User_ID")))
    check_rows(read_rows(path))


def test_repeated_column_names_are_refused_only_where_they_matter(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table(",", [(u, "x", "y", q, t) for u, q, t in plain_rows()], ("user", "x", "x", "query", "time")))
    check_rows(read_rows(path))
    path.write_text("user,query,query\na,b,c\n")
    with pytest.raises(LogError, match="two columns have the name of the query; rename one of them"):
        queryveil.read(path)


def test_the_fixed_formats_take_other_columns_too(tmp_path: Path) -> None:
    (tmp_path / "aol").write_text(aol())
    (tmp_path / "ubi").write_text(ubi())
    with queryveil.read(tmp_path / "aol", columns="query=ClickURL") as log:
        assert log.to_arrow()["query"][0].as_py() == "http://x0.example"
    with queryveil.read(tmp_path / "ubi", columns="user=query_id") as log:
        assert len(log.persons()) == N
    (tmp_path / "baskets").write_text("1 2\n")
    with pytest.raises(LogError, match="baskets have no columns; leave columns out"):
        queryveil.read(tmp_path / "baskets", columns="user=a")


def test_several_files_and_patterns_make_one_log(tmp_path: Path) -> None:
    lines = aol().splitlines(keepends=True)
    header, rows = lines[0], lines[1:]
    (tmp_path / "part-2.tsv").write_text(header + "".join(rows[10:20]))
    (tmp_path / "part-1.tsv").write_text(header + "".join(rows[:10]))
    (tmp_path / "rest.tsv.gz").write_bytes(gzip.compress((header + "".join(rows[20:])).encode()))
    check_rows(read_rows([tmp_path / "part-*.tsv", tmp_path / "rest.tsv.gz"]))
    with queryveil.read([tmp_path / "part-*.tsv", tmp_path / "rest.tsv.gz"]) as log:
        assert log.persons()[0] == "u0"
    with pytest.raises(LogError, match=r"no file matches .*/other-\*; check the pattern"):
        queryveil.read(str(tmp_path / "other-*"))


@pytest.mark.parametrize("name", ["a[1].tsv", "a*.tsv", "a?.tsv", "it's.tsv", "a{1,2}.tsv"])
def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab.tsv").write_text("user\tquery\nother\tother\n")
    (tmp_path / "a1.tsv").write_text("user\tquery\nother\tother\n")
    (tmp_path / name).write_text(aol())
    check_rows(read_rows(tmp_path / name))


def test_files_with_and_without_times_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,query,time\nu,q,2006-01-01\n")
    (tmp_path / "b.csv").write_text("user,query\nu,q\n")
    with pytest.raises(LogError, match=r"b.csv has no time column and .*a.csv has one; name it"):
        queryveil.read([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_log_whose_times_are_all_missing_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,query,time\nu,q,\nu,q,\n")
    with queryveil.read(tmp_path / "a.csv") as log:
        assert (log.has_times, log.columns) == (False, ("person", "query"))
        assert log.to_arrow().to_pylist() == [
            {"person": "u", "query_id": 0, "query": "q"},
            {"person": "u", "query_id": 1, "query": "q"},
        ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2006-03-01T07:17:12Z", "2006-03-01 07:17:12"),
        ("2006-03-01T07:17:12.250Z", "2006-03-01 07:17:12.250000"),
        ("2006-03-01T07:17:12+02:00", "2006-03-01 05:17:12"),
        ("2006-03-01 07:17:12-0530", "2006-03-01 12:47:12"),
        ("2006-03-01", "2006-03-01 00:00:00"),
        ("1141197432", "2006-03-01 07:17:12"),
        ("1141197432.5", "2006-03-01 07:17:12.500000"),
        ("1141197432250", "2006-03-01 07:17:12.250000"),
        ("1141197432250000", "2006-03-01 07:17:12.250000"),
    ],
)
@pytest.mark.parametrize("shape", ["csv", "jsonl"])
def test_times_may_be_written_in_many_ways(tmp_path: Path, shape: str, written: str, expected: str) -> None:
    path = tmp_path / "log"
    record = {"user": "u", "query": "q", "time": json.loads(written) if written.replace(".", "").isdigit() else written}
    path.write_text(f"user,query,time\nu,q,{written}\n" if shape == "csv" else json.dumps(record))
    assert str(read_rows(path)[0][2]) == expected


def test_numbers_that_are_no_unix_time_are_refused_as_times(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,time\nu,q,20060301071712\n")
    with pytest.raises(LogError, match=r"line 2 \(a time that is neither ISO 8601"):
        queryveil.read(path)


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(aol())
    with pytest.raises(UnknownNameError, match="there is no format 'exite'; did you mean excite"):
        queryveil.read(tmp_path / "log", format="exite")
