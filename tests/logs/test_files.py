"""Counting and locating lines across chunks and compressions, and detecting truncated files."""

import gzip
import random
from pathlib import Path

import pyarrow as pa
import pytest

from queryveil.core.errors import LogError
from queryveil.logs import files
from queryveil.logs.files import (
    Compression,
    check_zstd_complete,
    count_lines,
    line_at,
    take_sample,
    write_with_unix_line_ends,
)


def write(path: Path, data: bytes, compression: Compression) -> Path:
    packed = {"none": data, "gzip": gzip.compress(data), "zstd": pa.compress(data, codec="zstd", asbytes=True)}
    path.write_bytes(packed[compression])
    return path


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_lines_are_counted_and_located_for_every_chunk_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: Compression, chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    generator = random.Random(chunk)
    for _ in range(5):
        data = b"".join(generator.choices([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\n\n"], k=60))
        path = write(tmp_path / "file", data, compression)
        stripped = data.replace(b"\r", b"")
        assert count_lines(path, compression) == sum(map(bool, stripped.split(b"\n")))
        write_with_unix_line_ends(path, compression, tmp_path / "even")
        even = data.replace(b"\r\n", b"\n").removesuffix(b"\r").replace(b"\r", b" ")
        assert (tmp_path / "even").read_bytes() == even
        for position in generator.choices(range(1, len(data) + 1), k=9):
            assert line_at(path, compression, position) == 1 + data[: position - 1].count(b"\n")


@pytest.mark.parametrize(
    ("data", "n_lines"), [(b"", 0), (b"\n\n", 0), (b"a", 1), (b"a\n", 1), (b"\r\na\r\n\r\nb", 2), (b"a\r", 1)]
)
def test_empty_lines_do_not_count(tmp_path: Path, data: bytes, n_lines: int) -> None:
    assert count_lines(write(tmp_path / "file", data, "none"), "none") == n_lines


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_compression_is_detected_by_the_first_bytes(tmp_path: Path, compression: Compression) -> None:
    assert take_sample(write(tmp_path / "file.gz", b"a\tb\n", compression)).compression == compression


def test_a_truncated_zstd_file_is_detected_at_every_byte(tmp_path: Path) -> None:
    data = pa.compress(random.Random(1).randbytes(300_000), codec="zstd", asbytes=True)  # several blocks
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    path = tmp_path / "file.zst"
    for complete in (data, data + data, skippable + data):
        path.write_bytes(complete)
        check_zstd_complete(path)
    for length in [*range(1, 30), *range(30, len(data), 9_973), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(LogError, match="truncated or damaged"):
            check_zstd_complete(path)
