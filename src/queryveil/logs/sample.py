"""The beginning of a file, decompressed: what guessing a format looks at."""

import gzip
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from queryveil.errors import LogError
from queryveil.logs.zstd import check_complete

SAMPLE_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Sample:
    """The first bytes of one file of a log."""

    path: Path
    data: bytes

    @property
    def is_parquet(self) -> bool:
        """Say whether the file is Parquet."""
        return self.data.startswith(_PARQUET)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Return the whole lines of the sample, undecodable bytes replaced; empty lines are left out."""
        text = self.data.decode("utf-8-sig", errors="replace")
        lines = text.split("\n")
        if len(self.data) == SAMPLE_BYTES and len(lines) > 1:
            lines.pop()  # most likely cut in the middle
        return tuple(line.rstrip("\r") for line in lines if line.strip())


def take_sample(path: Path) -> Sample:
    """Read the beginning of a log file, refusing what cannot be a log."""
    if path.is_dir():
        raise LogError(f"{path} is a folder, not a log file; name the files in it, for example {path}/*.")
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
            data = _decompressed(path, start)
    except FileNotFoundError:
        raise LogError(f"there is no file {path}; check the path.") from None
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or 'it is damaged'}; check the file.") from None
    if not data:
        raise LogError(f"{path} is empty; give a log with at least one line.")
    if not data.startswith(_PARQUET) and b"\x00" in data:
        raise LogError(f"{path} holds NUL bytes, so it is not a UTF-8 text log; convert it to UTF-8 text or Parquet.")
    return Sample(path, data)


def _decompressed(path: Path, start: bytes) -> bytes:
    """Return the first bytes of a file after decompression, and find a truncated file where it costs little."""
    if start.startswith(_GZIP):
        try:
            with gzip.open(path) as stream:
                return stream.read(SAMPLE_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise LogError(f"{path} is a truncated or damaged .gz file; fetch it again.") from None
    if start.startswith(_ZSTD):
        return _zstd_start(path)
    with path.open("rb") as stream:
        return stream.read(SAMPLE_BYTES)


def _zstd_start(path: Path) -> bytes:
    import pyarrow as pa

    check_complete(path)
    with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
        data: bytes = stream.read(SAMPLE_BYTES)
    return data
