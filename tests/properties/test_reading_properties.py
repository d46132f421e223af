"""Properties of reading: nothing that scrub changes is overlooked, and any text survives the way through a file."""

import csv
import io
import json
import string
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

import queryveil
from queryveil.logs.scrub import ASCII_CANDIDATE, OTHER_CANDIDATE, scrub

DATABASE = duckdb.connect()

# Texts near direct identifiers: digits in groups, their separators, addresses, in ASCII and beyond.
pieces = st.one_of(
    st.from_regex(r"[0-9]{1,8}", fullmatch=True),
    st.sampled_from([" ", "-", ".", "(", ")", "/", "+", "@", "?", "=", "www.", "http://", "a.b", "joe", "0", "é", "٣"]),
    st.sampled_from(["~", ":", "::", "fe", "1a", " at ", " dot ", "[dot]", "com", " main ", "street", " rd", "\n"]),
    st.sampled_from(["10.0.0.1", "00-1a-2b-3c-4d-5e", "joe at x dot com", "1 a\nb c street", "12 elm ave", "::1"]),
    st.text("0123456789 -.()+", max_size=12),
    st.text(max_size=3),
)
near_identifiers = st.lists(pieces, max_size=10).map("".join)


@settings(max_examples=200)
@given(st.lists(near_identifiers, min_size=1, max_size=20))
def test_every_text_that_scrub_changes_is_a_candidate(texts: list[str]) -> None:
    changed = [text for text in texts if scrub(text)[1]]
    if not changed:
        return
    missed = DATABASE.execute(
        "SELECT count(*) FROM (SELECT unnest($1) AS query) WHERE NOT CASE WHEN strlen(query) = length(query)"
        " THEN regexp_matches(query, $2) ELSE regexp_matches(query, $3) END",
        [changed, ASCII_CANDIDATE, OTHER_CANDIDATE],
    ).fetchall()
    assert missed == [(0,)]


@settings(max_examples=300)
@given(near_identifiers)
def test_scrubbing_changes_a_text_only_where_it_found_something(text: str) -> None:
    without, found = scrub(text)
    assert (without == text) == (not found)
    assert len(without) <= len(text)


# No NUL, no lone surrogates, no line ends: those are bad files or records of their own.
texts = st.text(
    st.one_of(
        st.sampled_from(string.printable.translate(str.maketrans("", "", "\r\n\x0b\x0c\x1c\x1d\x1e\x85"))),
        st.characters(exclude_categories=("Cs", "Cc")),
    ),
    max_size=12,
)
names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8)


def through(path: Path, **options: Any) -> list[tuple[str, str]]:
    with queryveil.read(path, scrub=False, **options) as log:
        return [(row["person"], row["query"]) for row in log.to_arrow().to_pylist()]


def as_read(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows as the log gives them: people in order of their first row, queries by their bytes."""
    first = {user: number for number, (user, _) in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: (first[row[0]], row[1].encode()))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(names, texts), min_size=1, max_size=8))
def test_any_text_survives_csv_and_json_lines(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("user", "query"), *rows])
    (tmp_path / "log.csv").write_bytes(out.getvalue().encode())
    assert through(tmp_path / "log.csv") == as_read(rows)
    records = (json.dumps({"user": u, "query": q}, ensure_ascii=bool(len(q) % 2)) for u, q in rows)
    (tmp_path / "log.jsonl").write_bytes("".join(f"{record}\n" for record in records).encode())
    assert through(tmp_path / "log.jsonl") == as_read(rows)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(names, texts.map(lambda text: text.replace("\t", " "))), min_size=1, max_size=8))
def test_any_text_survives_between_tabs(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    lines = [f"{user}\t{query}\t2006-01-01 00:00:00\t\t\n" for user, query in rows]
    header = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
    (tmp_path / "log").write_bytes((header + "".join(lines)).encode())
    assert through(tmp_path / "log", duplicates="keep") == as_read(rows)
