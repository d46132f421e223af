"""Log files as bytes and lines: decompressing them, counting and locating lines, detecting truncated .zst files."""

import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, cast

import numpy as np

from queryveil.core.errors import LogError

Compression = Literal["none", "gzip", "zstd"]

_CHUNK = 1 << 20
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_RLE_BLOCK = 1


def detect_compression(path: Path) -> Compression:
    """Return the compression of a file by its first bytes; a file's name may be wrong."""
    with path.open("rb") as stream:
        start = stream.read(4)
    if start.startswith(_GZIP):
        return "gzip"
    return "zstd" if start == _ZSTD_FRAME else "none"


def open_decompressed(path: Path, compression: Compression) -> BinaryIO:
    """Open a file for reading its decompressed bytes."""
    if compression == "gzip":
        return cast(BinaryIO, gzip.open(path))
    if compression == "zstd":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))
    return path.open("rb")


def _chunks(path: Path, compression: Compression) -> Iterator[bytes]:
    with open_decompressed(path, compression) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def count_lines(path: Path, compression: Compression) -> int:
    """Count the lines that are not empty."""
    n_lines, after_end = 0, True
    for chunk in _chunks(path, compression):
        is_end = np.frombuffer(chunk.translate(None, b"\r"), np.uint8) == ord("\n")
        if len(is_end):
            # A line begins where a byte other than a line end follows a line end
            n_lines += int(np.count_nonzero(is_end[:-1] & ~is_end[1:])) + int(after_end and not is_end[0])
            after_end = bool(is_end[-1])
    return n_lines


def write_with_unix_line_ends(path: Path, compression: Compression, target: Path) -> None:
    """Copy a file, decompressed and with Unix line ends; a carriage return inside a line becomes a space."""
    held = b""  # a carriage return at the end of a chunk, until the next byte is known
    with target.open("wb") as stream:
        for chunk in _chunks(path, compression):
            data = held + chunk
            held = b"\r" if data.endswith(b"\r") else b""
            stream.write(data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b" "))


def lines_at(path: Path, compression: Compression, positions: Sequence[int]) -> list[int]:
    """Return the line number of each byte position; the first byte is 1, and positions must ascend."""
    found: list[int] = []
    line, start = 1, 0
    chunks = _chunks(path, compression)
    chunk, done = next(chunks, b""), 0  # line ends in the first `done` bytes of the chunk are counted
    for position in positions:
        while chunk and position - 1 > start + len(chunk):
            line += chunk.count(b"\n", done)
            start, done = start + len(chunk), 0
            chunk = next(chunks, b"")
        line += chunk.count(b"\n", done, max(done, position - 1 - start))
        done = max(done, position - 1 - start)
        found.append(line)
    return found


def check_zstd_complete(path: Path) -> None:
    """Raise an error if a Zstandard file ends in the middle of a frame.

    DuckDB reads a truncated file as far as it goes and reports nothing. A frame states the length of each of its
    blocks (RFC 8878, section 3.1.1), so the block headers suffice and nothing is decompressed.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        try:
            while stream.tell() < size:
                _skip_frame(stream, size)
        except _TruncatedError:
            raise LogError(f"{path} is a truncated or damaged compressed file; fetch it again.") from None


class _TruncatedError(Exception):
    """The file ends inside a frame."""


def _read(stream: BinaryIO, n_bytes: int) -> bytes:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise _TruncatedError
    return data


def _skip(stream: BinaryIO, n_bytes: int, size: int) -> None:
    if stream.tell() + n_bytes > size:
        raise _TruncatedError
    stream.seek(n_bytes, 1)


def _skip_frame(stream: BinaryIO, size: int) -> None:
    magic = _read(stream, 4)
    if magic[1:] == b"\x2a\x4d\x18" and magic[0] & 0xF0 == 0x50:  # a skippable frame
        _skip(stream, int.from_bytes(_read(stream, 4), "little"), size)
        return
    if magic != _ZSTD_FRAME:
        raise _TruncatedError
    descriptor = _read(stream, 1)[0]
    single_segment = bool(descriptor & 0x20)
    content_size = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    _skip(stream, content_size + dictionary + (0 if single_segment else 1), size)
    last = False
    while not last:
        header = int.from_bytes(_read(stream, 3), "little")
        last = bool(header & 1)
        _skip(stream, 1 if (header >> 1) & 3 == _RLE_BLOCK else header >> 3, size)
    if descriptor & 4:
        _skip(stream, 4, size)
