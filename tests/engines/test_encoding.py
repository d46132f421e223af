"""Text files in other encodings than UTF-8."""

import gzip
from pathlib import Path

import pytest

from queryveil.api import read
from queryveil.core.errors import LogError
from queryveil.logs import files
from queryveil.logs.files import take_sample, write_as_utf8

QUERIES = ("café straße", "naïve €uro", "plain words", "größe ändern")


def log_text(n_rows: int = 60) -> str:
    rows = (f"{i % 5}\t{QUERIES[i % 4]}\t2006-03-01 10:{i % 60:02d}:00\t\t" for i in range(n_rows))
    return "\n".join(("AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *rows, ""))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "iso8859-15"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_log_is_the_same_in_every_encoding(tmp_path: Path, encoding: str, is_packed: bool) -> None:
    plain, other = tmp_path / "plain.tsv", tmp_path / "other"
    plain.write_text(log_text(), "utf-8")
    data = log_text().encode(encoding)
    other.write_bytes(gzip.compress(data) if is_packed else data)
    with read(plain) as expected, read(other, encoding=encoding) as found:
        assert found.to_arrow().equals(expected.to_arrow())
        assert {*QUERIES} == set(found.to_arrow()["query"].to_pylist())


def test_several_files_are_converted_one_after_another(tmp_path: Path) -> None:
    paths = [tmp_path / "1", tmp_path / "2"]
    for path in paths:
        path.write_text(log_text(), "cp1252")
    with read(paths, encoding="cp1252", duplicates="keep") as found:
        assert found.n_queries == 120


def test_characters_may_straddle_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(log_text().encode("utf-16"))
    monkeypatch.setattr(files, "_CHUNK", 3)
    write_as_utf8(source, "none", "utf-16", target)
    assert target.read_bytes() == log_text().encode()


@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_bytes_of_another_encoding_are_refused_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    source = tmp_path / "log"
    source.write_bytes(b"first\nsecond\nthird \xff\xff\nfourth\n")
    monkeypatch.setattr(files, "_CHUNK", chunk)
    with pytest.raises(LogError, match="line 3 has bytes that are not shift-jis; check --encoding"):
        write_as_utf8(source, "none", "shift-jis", tmp_path / "out")


def test_a_sample_may_end_within_a_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "log"
    source.write_bytes("abcé".encode("utf-16-le"))
    monkeypatch.setattr(files, "SAMPLE_BYTES", 7)
    assert take_sample(source, "utf-16-le").data == b"abc"
