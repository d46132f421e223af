from pathlib import Path

import pytest

from queryveil.logs.faults import (
    BROKEN_JSON,
    NO_USER,
    OPEN_QUOTE,
    TOO_FEW,
    TOO_MANY,
    UNREADABLE_TIME,
    first_fault,
)
from queryveil.logs.layout import Layout

ROLES = {"person": "user", "query": "query", "time": "time"}
CSV = Layout("delimited", ROLES, ("user", "query", "time"), delimiter=",", quote='"', header=True, time="seconds")
TSV = Layout("delimited", ROLES, ("user", "query", "time"), delimiter="\t", header=True, time="iso")
JSON = Layout("json", ROLES, ("user", "query", "time"), time="seconds")
GOOD_CSV = "user,query,time\n1,cats,1141200000\n"
GOOD_TSV = "user\tquery\ttime\n1\tcats\t2006-03-01\n"
GOOD_JSON = '{"user": 1, "query": "cats", "time": 1141200000}\n'


def fault(tmp_path: Path, text: str, layout: Layout) -> tuple[int, str] | None:
    path = tmp_path / "log"
    path.write_text(text)
    return first_fault(path, "none", layout)


@pytest.mark.parametrize(
    ("text", "layout"), [(GOOD_CSV, CSV), (GOOD_TSV, TSV), (GOOD_JSON, JSON), (GOOD_CSV + "\n\n2,dogs,\n", CSV)]
)
def test_a_good_file_has_no_fault(tmp_path: Path, text: str, layout: Layout) -> None:
    assert fault(tmp_path, text, layout) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" ,dogs,5", NO_USER),
        ("2,dogs,soon", UNREADABLE_TIME),
        ("2,dogs,nan", UNREADABLE_TIME),
        ("2,dogs", TOO_FEW),
        ("2,dogs,5,6", TOO_MANY),
        ('2,"dogs,5\n3,birds,6', OPEN_QUOTE),
        ('2,"' + "x" * 200_000 + "\n" * 3, OPEN_QUOTE),  # longer than the csv module reads
    ],
)
def test_the_first_fault_of_a_delimited_file_is_located(tmp_path: Path, line: str, expected: str) -> None:
    assert fault(tmp_path, f"{GOOD_CSV}{line}\n ,birds,6\n", CSV) == (3, expected)


def test_lines_are_counted_through_quoted_line_breaks(tmp_path: Path) -> None:
    assert fault(tmp_path, GOOD_CSV + '2,"dogs\nand cats",5\n,birds,6\n', CSV) == (5, NO_USER)


def test_quotes_are_text_where_the_layout_has_none(tmp_path: Path) -> None:
    assert fault(tmp_path, GOOD_TSV + '2\t"dogs\t2006-03-02\n\tbirds\t2006-03-02\n', TSV) == (4, NO_USER)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"user": 2, "query": "dogs"', BROKEN_JSON),
        ('{"query": "dogs"}', NO_USER),
        ("[1, 2]", NO_USER),
        ('{"user": 2, "query": "dogs", "time": "soon"}', UNREADABLE_TIME),
    ],
)
def test_the_first_fault_of_json_lines_is_located(tmp_path: Path, line: str, expected: str) -> None:
    assert fault(tmp_path, f"{GOOD_JSON}\n{line}\n", JSON) == (3, expected)
