"""The beginning of a log file, decompressed, from which its format is guessed."""

import json
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from queryveil.core.errors import LogError
from queryveil.logs.files import Compression, check_zstd_complete, detect_compression, open_decompressed

SAMPLE_BYTES = 1 << 16
_PARQUET = b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


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
        text = self.data.decode("utf-8-sig", errors="replace")
        lines = text.split("\n")
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
        text = self.data.decode("utf-8-sig", errors="replace")
        return text[: len(text) - len(text.lstrip("\r\n"))].count("\n")


def take_sample(path: Path) -> Sample:
    """Read the beginning of a log file, or raise an error that says why it cannot be a log."""
    try:
        _check_is_regular_file(path, path.stat().st_mode)
        compression = detect_compression(path)
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
    if not data.startswith(_PARQUET) and b"\x00" in data:
        raise LogError(f"{path} holds NUL bytes, so it is not UTF-8 text; {_advice(data)}.")
    return Sample(path, data, compression)


def _check_is_regular_file(path: Path, mode: int) -> None:
    """Raise an error for folders, and for pipes, since a log is read more than once."""
    if stat.S_ISDIR(mode):
        raise LogError(f"{path} is a folder, not a log file; name the files in it, for example {path}/*.")
    if not stat.S_ISREG(mode):
        raise LogError(f"{path} is not a regular file, and a log is read more than once; save it to a file first.")


def _advice(data: bytes) -> str:
    if data.startswith(_UTF16):
        return "it looks like UTF-16: convert it (iconv -f UTF-16 -t UTF-8)"
    return "convert it to UTF-8 text or Parquet"
