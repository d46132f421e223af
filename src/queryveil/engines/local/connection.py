"""A DuckDB connection that stays private: its own temporary folder, no extensions from elsewhere, careful errors."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import duckdb

from queryveil.errors import InputError, LogError, OutputError, QueryveilError
from queryveil.files import scratch


class Connection:
    """An in-memory database with a memory limit; what does not fit is spilled to a private folder."""

    def __init__(self, memory_limit: str) -> None:
        self._stack = ExitStack()
        folder = self._stack.enter_context(scratch("spill"))
        self.database = duckdb.connect(
            config={
                "memory_limit": memory_limit.replace(" ", ""),
                "temp_directory": str(folder / "duckdb"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        self._stack.callback(self.database.close)

    def close(self) -> None:
        """Close the database and remove its folder."""
        self._stack.close()


@contextmanager
def careful(subject: str) -> Iterator[None]:
    """Turn DuckDB's errors, whose texts hold raw queries, into sentences that hold none."""
    try:
        yield
    except duckdb.Error as error:
        raise _sentence(error, subject) from None


def _sentence(error: duckdb.Error, subject: str) -> QueryveilError:
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        if re.search(r"max_temp_directory_size|no space|disk", text, re.IGNORECASE):
            return OutputError(f"{subject}: the disk of the temporary folder is full; free space or set TMPDIR.")
        return InputError(f"{subject} does not fit into the memory limit; raise --memory-limit.")
    if re.search(r"No space left", text):
        return OutputError(f"{subject}: the disk of the temporary folder is full; free space or set TMPDIR.")
    if re.search(r"gzip|zstd|deflate|decompress", text, re.IGNORECASE):
        return LogError(f"{subject} is a truncated or damaged compressed file; fetch it again.")
    if re.search(r"line size", text, re.IGNORECASE):
        return LogError(f"{subject} has a line longer than {MAX_LINE_BYTES:,} bytes; is it a text log?")
    kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(error).__name__.removesuffix("Exception")).lower()
    return LogError(f"{subject} cannot be read ({kind} error); check that it is an undamaged file of its format.")


MAX_LINE_BYTES = 4_000_000
