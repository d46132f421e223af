"""Bad lines: how many may be, which is the first, what is wrong with it, and never what it says."""

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import queryveil
from queryveil.core.errors import LogError

SECRET = "xylophonist"
TIME = "2006-03-01 07:17:12"
HEADERS = {
    "aol": "AnonID\tQuery\tQueryTime\tItemRank\tClickURL",
    "csv": "user,query,time",
    "seconds": "user,query,time",
    "excite": "",
    "jsonl": "",
    "ubi": "",
}
GOOD: dict[str, Callable[[int], str]] = {
    "aol": lambda i: f"u{i}\tq{i}\t{TIME}\t\t",
    "csv": lambda i: f'u{i},"q{i}",{TIME}',
    "seconds": lambda i: f"u{i},q{i},1141197432",
    "excite": lambda i: f"u{i}\t970916105432\tq{i}",
    "jsonl": lambda i: json.dumps({"user": f"u{i}", "query": f"q{i}", "time": TIME}),
    "ubi": lambda i: json.dumps({"client_id": f"u{i}", "user_query": f"q{i}", "timestamp": 1141197432250}),
}
NOT_UTF8, FEW, MANY = "bytes that are not UTF-8, see encoding", "too few columns", "too many columns"
NO_USER, ODD_TIME, JSON = "no user", "a time that is neither ISO 8601 nor seconds", "a record that is not JSON"
BAD: dict[str, tuple[str, bytes, str]] = {
    "aol: encoding": ("aol", f"u\t{SECRET} ".encode() + b"\xff\xfe\t" + TIME.encode() + b"\t\t", NOT_UTF8),
    "aol: few": ("aol", f"u\t{SECRET}".encode(), FEW),
    "aol: many": ("aol", f"u\t{SECRET}\t{TIME}\t\t\tx".encode(), MANY),
    "aol: user": ("aol", f"  \t{SECRET}\t{TIME}\t\t".encode(), NO_USER),
    "aol: time": ("aol", f"u\t{SECRET}\t{SECRET}\t\t".encode(), ODD_TIME),
    "excite: time": ("excite", f"u\t97091610{SECRET}\t{SECRET}".encode(), ODD_TIME),
    "csv: few": ("csv", f"u,{SECRET}".encode(), FEW),
    "csv: encoding": ("csv", f"u,{SECRET}".encode() + b"\xe9," + TIME.encode(), NOT_UTF8),
    "csv: user": ("csv", f",{SECRET},{TIME}".encode(), NO_USER),
    "seconds: time": ("seconds", f"u,{SECRET},12{SECRET}".encode(), ODD_TIME),
    "seconds: user": ("seconds", f",{SECRET},1141197432".encode(), NO_USER),
    "jsonl: broken": ("jsonl", f'{{"user": "u", "query": "{SECRET}'.encode(), JSON),
    "jsonl: user": ("jsonl", json.dumps({"query": SECRET, "time": TIME}).encode(), NO_USER),
    "jsonl: null": ("jsonl", json.dumps({"user": None, "query": SECRET, "time": TIME}).encode(), NO_USER),
    "jsonl: encoding": ("jsonl", f'{{"user": "u", "query": "{SECRET}'.encode() + b'\xff"}', NOT_UTF8),
    "ubi: time": ("ubi", json.dumps({"client_id": "u", "user_query": SECRET, "timestamp": SECRET}).encode(), ODD_TIME),
}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a temporary folder that must be empty again after the test's work."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def write(path: Path, shape: str, n_good: int, bad: dict[int, bytes], *, end: bytes = b"\n", bom: bytes = b"") -> None:
    """Write a log whose lines of the given numbers are bad, line 1 being the header where there is one."""
    lines = [HEADERS[shape].encode()] if HEADERS[shape] else []
    for number in range(n_good + len(bad)):
        lines.append(bad.get(len(lines) + 1, GOOD[shape](number).encode()))
    path.write_bytes(bom + b"".join(line + end for line in lines))


def refusal(path: Path | list[Path], **options: str) -> str:
    with pytest.raises(LogError) as caught:
        queryveil.read(path, **options)  # type: ignore[arg-type]
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("case", BAD)
def test_the_first_bad_line_is_named_with_its_fault_and_without_its_content(
    tmp_path: Path, temporary: Path, case: str
) -> None:
    shape, line, fault = BAD[case]
    path = tmp_path / "log"
    write(path, shape, 20, {9: line, 15: line})
    message = refusal(path)
    header = int(bool(HEADERS[shape]))
    assert f"{path}: 2 of 22 lines are bad and 1 may be; the first is line 9 ({fault}" in message
    assert message.endswith("correct the file, check format and columns, or raise max_bad_lines.")
    assert SECRET not in message
    assert list(temporary.iterdir()) == []
    with queryveil.read(path, max_bad_lines="2") as log:
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (22, 2)
        assert sorted(log.persons()) == sorted({f"u{i}" for i in range(22)} - {f"u{8 - header}", f"u{14 - header}"})
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("case", ["aol: few", "aol: user", "aol: encoding", "csv: few", "csv: user", "jsonl: broken"])
@pytest.mark.parametrize("variant", ["windows", "mark", "gzip", "zstd", "blank lines"])
def test_line_numbers_are_right_in_every_variant_of_a_file(tmp_path: Path, case: str, variant: str) -> None:
    shape, line, fault = BAD[case]
    path, plain = tmp_path / "log", tmp_path / "plain"
    end = {"windows": b"\r\n", "blank lines": b"\n\n"}.get(variant, b"\n")
    write(plain, shape, 20, {9: line, 15: line}, end=end, bom=b"\xef\xbb\xbf" if variant == "mark" else b"")
    data = plain.read_bytes()
    packed = {"gzip": gzip.compress, "zstd": lambda d: pa.compress(d, codec="zstd", asbytes=True)}
    path.write_bytes(packed[variant](data) if variant in packed else data)
    assert f"line {17 if variant == 'blank lines' else 9} ({fault}" in refusal(path)


def test_a_bad_line_after_rejected_ones_has_its_own_number(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, "aol", 20, {5: b"\tq\t" + TIME.encode() + b"\t\t", 9: b"u\tq", 12: b"u\tq"})
    assert "3 of 23 lines are bad and 1 may be; the first is line 5 (no user)" in refusal(path)
    write(path, "aol", 20, {5: b"u\tq", 9: b"\tq\t" + TIME.encode() + b"\t\t"})
    assert "2 of 22 lines are bad and 1 may be; the first is line 5 (too few columns)" in refusal(path)


def test_bad_lines_are_counted_and_numbered_for_each_file(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    no_user = b"\tq\t" + TIME.encode() + b"\t\t"
    write(first, "aol", 20, {21: no_user})
    write(second, "aol", 20, {4: no_user, 7: b"u\tq"})
    message = refusal([first, second])
    assert f"{second}: 2 of 22 lines are bad and 1 may be; the first is line 4 (no user)" in message
    write(second, "aol", 20, {4: no_user})
    with queryveil.read([first, second]) as log:
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (42, 2)


def test_lines_inside_quoted_fields_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    good = "".join(f'u{i},"two\nlines\n\n{i}",{TIME}\n' for i in range(5))
    path.write_text(f"user,query,time\n{good}{good}u,few\nu,few\n{good}")
    assert "2 of 17 lines are bad and 1 may be; the first is line 42 (too few columns)" in refusal(path)
    path.write_text(f"user,query,time\n{good}{good}\n,none,{TIME}\nu,few\n{good}")
    assert "the first is line 43 (no user)" in refusal(path)
    path.write_text(f"user,query,time\n{good}")
    with queryveil.read(path) as log:
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (5, 0)


@pytest.mark.parametrize("closed_later", [False, True])
def test_every_line_inside_an_unclosed_quote_counts(tmp_path: Path, temporary: Path, closed_later: bool) -> None:
    path = tmp_path / "log.csv"
    lines = [f"u{i},q{i},{TIME}" for i in range(3_000)]
    lines[1_000] = f'u,"{SECRET},{TIME}'
    if closed_later:
        lines[2_500] = f'u,"{SECRET},{TIME}'
    path.write_text("user,query,time\n" + "\n".join(lines) + "\n")
    message = refusal(path)
    assert "the first is line 1,002 (a quote that is not closed)" in message
    assert SECRET not in message
    n_bad = int(message.split(": ")[1].split(" of ")[0].replace(",", ""))
    assert n_bad >= (1_500 if closed_later else 1_990)
    assert list(temporary.iterdir()) == []


def test_lines_that_the_reader_drops_silently_are_counted(tmp_path: Path) -> None:
    """DuckDB drops what an unclosed quote swallows across its buffers and reports one line, or none."""
    path = tmp_path / "log.csv"
    lines = [f"u{i},query number {i} with some words to fill it up,{TIME}\n" for i in range(150_000)]
    lines[10] = f'u,"stray,{TIME}\n'
    path.write_text("user,query,time\n" + "".join(lines))
    message = refusal(path, memory_limit="64MB")
    assert "the first is line 12 (a quote that is not closed)" in message
    assert int(message.split(": ")[1].split(" of ")[0].replace(",", "")) > 150


def test_a_carriage_return_inside_a_line_is_white_space(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    write(first, "aol", 20, {})
    write(second, "aol", 20, {9: f"u\tone\rtwo\t{TIME}\t\t".encode()})
    with queryveil.read([first, second]) as log:
        assert (log.steps["rows"].count, log.steps["bad lines"].count) == (41, 0)
        assert "one two" in log.to_arrow()["query"].to_pylist()


def test_faults_are_found_in_files_of_mixed_line_ends(tmp_path: Path, temporary: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    write(first, "aol", 20, {})
    write(second, "aol", 20, {9: f"u\t{SECRET}\t{TIME}\t\t\r".encode(), 12: b"u\tq", 15: b"u\tq\tx\t\t\r\r"})
    message = refusal([first, second])
    assert f"{second}: 2 of 23 lines are bad and 1 may be; the first is line 12 (too few columns)" in message
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("place", ["beginning", "far behind"])
@pytest.mark.parametrize("column", [0, 1])
def test_a_file_with_nul_bytes_is_refused(tmp_path: Path, place: str, column: int) -> None:
    path = tmp_path / "log"
    line = (b"u\0\tq\t" if column == 0 else b"u\tq\0\t") + TIME.encode() + b"\t\t"
    write(path, "aol", 4_000, {5 if place == "beginning" else 3_900: line})
    assert f"{path} holds NUL bytes, so it is not" in refusal(path, max_bad_lines="50%")


@pytest.mark.parametrize(
    ("allowed", "n_bad", "is_read"),
    [("0.1%", 1, True), ("0.1%", 2, False), ("0", 1, False), ("3", 3, True), ("3", 4, False), ("20%", 5, True)],
)
def test_allowed_bad_lines_are_left_out(tmp_path: Path, allowed: str, n_bad: int, is_read: bool) -> None:
    path = tmp_path / "log"
    write(path, "aol", 20, dict.fromkeys(range(3, 3 + n_bad), b"u"))
    if is_read:
        with queryveil.read(path, max_bad_lines=allowed) as log:
            assert log.steps["bad lines"].count == n_bad
    else:
        assert f"{n_bad} of {20 + n_bad} lines are bad" in refusal(path, max_bad_lines=allowed)


def test_a_share_is_a_share_of_all_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, "aol", 2_997, {5: b"u", 6: b"u", 7: b"u"})
    with queryveil.read(path) as log:
        assert log.steps["bad lines"].count == 3
    write(path, "aol", 2_995, {5: b"u", 6: b"u", 7: b"u", 8: b"u"})
    assert "4 of 2,999 lines are bad and 2 may be; the first is line 5 (too few columns)" in refusal(path)


def test_a_file_with_only_bad_lines_is_always_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("user,query,time\nu,q,yesterday\n")
    assert "1 of 1 lines are bad and 1 may be; the first is line 2 (a time that" in refusal(path)


def test_a_file_without_a_header_shows_nothing_of_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"alice,{SECRET}\nbob,{SECRET}\n")
    for options in ({"format": "table"}, {"columns": "user=alyce,query=q"}, {"columns": f"user={SECRET}s"}):
        assert SECRET not in refusal(path, **options).replace(f"'{SECRET}s'", "")
    path.write_text(f"user,query,{SECRET}\nbob,{SECRET},x\n")
    assert SECRET not in refusal(path, partition_by="country")
    path.write_text(json.dumps({"alice": SECRET}) + "\n" + json.dumps({SECRET: "q"}) + "\n")
    assert SECRET not in refusal(path)


def test_long_lines_are_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, "aol", 20, {9: f"u\t{SECRET * 100_000}\t{TIME}\t\t".encode(), 12: b"u"})
    message = refusal(path)
    assert "2 of 22 lines are bad and 1 may be; the first is line 9 (a line that is too long)" in message
    assert SECRET not in message
