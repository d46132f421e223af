"""The physical lines of a file, decompressed: counted, and found by byte position."""

import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, cast

import numpy as np

Compression = Literal["none", "gzip", "zstd"]

_CHUNK = 1 << 20


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
            # a line begins where a byte that ends no line follows one that does
            n_lines += int(np.count_nonzero(is_end[:-1] & ~is_end[1:])) + int(after_end and not is_end[0])
            after_end = bool(is_end[-1])
    return n_lines


def write_with_even_ends(path: Path, compression: Compression, target: Path) -> None:
    """Copy a file, decompressed and with the same end on every line; a carriage return inside one becomes a space."""
    held = b""  # a carriage return at the end of a chunk, until the next byte is known
    with target.open("wb") as stream:
        for chunk in _chunks(path, compression):
            data = held + chunk
            held = b"\r" if data.endswith(b"\r") else b""
            stream.write(data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b" "))


def lines_at(path: Path, compression: Compression, positions: Sequence[int]) -> list[int]:
    """Return the number of the line in which each byte position (the first byte is 1) stands; positions ascend."""
    found: list[int] = []
    line, start = 1, 0
    chunks = _chunks(path, compression)
    chunk, done = next(chunks, b""), 0  # of `chunk`, `done` bytes are counted
    for position in positions:
        while chunk and position - 1 > start + len(chunk):
            line += chunk.count(b"\n", done)
            start, done = start + len(chunk), 0
            chunk = next(chunks, b"")
        line += chunk.count(b"\n", done, max(done, position - 1 - start))
        done = max(done, position - 1 - start)
        found.append(line)
    return found
