"""Finding a truncated .zst file without decompressing it.

DuckDB reads a truncated Zstandard file to where it breaks off and says nothing. A frame says how long each of its
blocks is (RFC 8878, section 3.1.1), so walking the block headers to the last one is enough, and costs next to nothing.
"""

from pathlib import Path
from typing import BinaryIO

from queryveil.core.errors import LogError

_FRAME = b"\x28\xb5\x2f\xfd"
_RLE_BLOCK = 1


class _TruncatedError(Exception):
    """The file ends inside a frame."""


def check_complete(path: Path) -> None:
    """Raise if a Zstandard file ends in the middle of a frame."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        try:
            while stream.tell() < size:
                _skip_frame(stream, size)
        except _TruncatedError:
            raise LogError(f"{path} is a truncated or damaged compressed file; fetch it again.") from None


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
    if magic != _FRAME:
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
