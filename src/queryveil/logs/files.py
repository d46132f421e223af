"""Log files as bytes and lines: decompressing, sampling for the guess of a format, counting and locating lines."""

import gzip
import io
import json
import mmap
import stat
import zlib
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, cast

import numpy as np

from queryveil.core.errors import LogError

Compression = Literal["none", "gzip", "zstd"]

SAMPLE_BYTES = 1 << 16
_CHUNK = 1 << 20
_PARQUET = b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_SKIPPABLE_MAGIC = 0x184D2A50  # the last four bits vary
_RLE_BLOCK = 1


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


def write_as_utf8(path: Path, compression: Compression, encoding: str, target: Path) -> None:
    """Copy a file, decompressed and as UTF-8; refuse one with bytes that the encoding does not have."""
    decoder, line = getincrementaldecoder(encoding)(), 1
    with target.open("wb") as stream:
        for chunk in chain(_chunks(path, compression), (b"",)):
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeError as error:
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].decode(encoding, errors="ignore").count("\n")
                raise _wrong_encoding(path, line, encoding) from None
            line += text.count("\n")
            stream.write(text.encode())


def _wrong_encoding(path: Path, line: int, encoding: str) -> LogError:
    return LogError(f"{path}, line {line:,} has bytes that are not {encoding}; check --encoding, or correct the file.")


def line_at(path: Path, compression: Compression, position: int) -> int:
    """Return the line number of a byte position; the first byte is 1."""
    line, remaining = 1, position - 1  # bytes before the position
    for chunk in _chunks(path, compression):
        line += chunk.count(b"\n", 0, remaining)
        remaining -= len(chunk)
        if remaining <= 0:
            break
    return line


@dataclass(frozen=True)
class Sample:
    """The first bytes of one log file."""

    path: Path
    data: bytes
    compression: Compression = "none"

    @property
    def is_parquet(self) -> bool:
        """Return whether the file is Parquet."""
        return self.data.startswith(_PARQUET)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Return the complete lines that are not empty, with undecodable bytes replaced."""
        lines = self.data.decode("utf-8-sig", errors="replace").split("\n")
        if len(self.data) == SAMPLE_BYTES and len(lines) > 1:
            lines.pop()  # most likely incomplete
        return tuple(line.rstrip("\r") for line in lines if line.strip())

    @cached_property
    def json_objects(self) -> tuple[dict[str, object], ...]:
        """Return the JSON objects among the lines."""
        records = []
        for line in self.lines:
            if line.lstrip().startswith("{"):
                with suppress(ValueError, RecursionError):
                    records.append(json.loads(line))
        return tuple(records)

    @property
    def json_keys(self) -> tuple[str, ...]:
        """Return the keys of all JSON objects in order of first occurrence."""
        return tuple(dict.fromkeys(key for record in self.json_objects for key in record))

    @property
    def n_blank_lines(self) -> int:
        """Count the empty lines before the first line."""
        start = self.data.removeprefix(BOM_UTF8)
        return start[: len(start) - len(start.lstrip(b"\r\n"))].count(b"\n")


def take_sample(path: Path, encoding: str = "") -> Sample:
    """Read the beginning of a log file, or raise an error that says why it cannot be a log; no encoding means UTF-8."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise LogError(f"{path} is a folder, not a log file; name the files in it, for example {path}/*.")
        if not stat.S_ISREG(mode):
            raise LogError(f"{path} is not a regular file, and a log is read more than once; save it to a file first.")
        with path.open("rb") as stream:
            start = stream.read(4)  # decides the compression, since a file's name may be wrong
        compression: Compression = "gzip" if start.startswith(_GZIP) else "zstd" if start == _ZSTD_FRAME else "none"
        if compression == "zstd":
            check_zstd_complete(path)
        with open_decompressed(path, compression) as stream:
            data = stream.read(SAMPLE_BYTES)
    except FileNotFoundError:
        raise LogError(f"there is no file {path}; check the path.") from None
    except (EOFError, zlib.error, ValueError):  # Arrow's errors are ValueErrors
        raise LogError(f"{path} is a truncated or damaged compressed file; fetch it again.") from None
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or 'it is damaged'}; check the file.") from None
    if not data.strip():
        raise LogError(f"{path} is empty; give a log with at least one line.")
    if encoding and not data.startswith(_PARQUET):
        try:
            data = getincrementaldecoder(encoding)(errors="replace").decode(data).encode()
        except UnicodeError:  # UTF-16 without its byte order mark
            raise _wrong_encoding(path, 1, encoding) from None
    if not data.startswith(_PARQUET) and b"\x00" in data:
        utf16 = "it looks like UTF-16: give --encoding utf-16"
        advice = utf16 if data.startswith(_UTF16) else "convert it to UTF-8 text or Parquet"
        raise LogError(f"{path} holds NUL bytes, so it is not UTF-8 text; {advice}.")
    return Sample(path, data, compression)


def check_zstd_complete(path: Path) -> None:
    """Raise an error if a Zstandard file ends in the middle of a frame.

    DuckDB reads a truncated file as far as it goes and reports nothing. A frame states the length of each of its
    blocks (RFC 8878, section 3.1.1), so the block headers suffice and nothing is decompressed.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = 0
        while end < len(data):
            end = _zstd_frame_end(data, end)
        if end > len(data):
            raise LogError(f"{path} is a truncated or damaged compressed file; fetch it again.")


def _zstd_frame_end(data: mmap.mmap, begin: int) -> int:
    """Return the position after the frame that begins at a position; beyond the end of the data if it is truncated."""

    def number(position: int, n_bytes: int) -> int:
        return int.from_bytes(data[position : position + n_bytes], "little")

    magic, beyond = number(begin, 4), len(data) + 1
    if magic & 0xFFFFFFF0 == _SKIPPABLE_MAGIC:
        return begin + 8 + number(begin + 4, 4) if begin + 8 <= len(data) else beyond
    if magic != int.from_bytes(_ZSTD_FRAME, "little"):
        return beyond
    descriptor = number(begin + 4, 1)
    is_single = bool(descriptor & 0x20)
    content_size = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    dictionary, window = (0, 1, 2, 4)[descriptor & 3], 0 if is_single else 1
    end, is_last = begin + 5 + content_size + dictionary + window, False
    while not is_last:
        if end + 3 > len(data):
            return beyond
        header = number(end, 3)
        is_last = bool(header & 1)
        end += 3 + (1 if (header >> 1) & 3 == _RLE_BLOCK else header >> 3)
    return end + (4 if descriptor & 4 else 0)
