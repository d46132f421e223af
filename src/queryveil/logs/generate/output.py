"""The generated file: written whole or not at all."""

import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from queryveil.core.errors import OutputError
from queryveil.core.files import check_new_file, sweep, workspace

_COMPRESSION = 6
_PURPOSE = "log"  # of the workspace that the file is made in


@contextmanager
def new_file(out: Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a stream whose content becomes `out` once all is written; .gz is compressed on the way."""
    check_new_file(out, overwrite=overwrite)
    sweep(out.parent, _PURPOSE)
    try:
        with workspace(out.parent, f"{_PURPOSE}-{secrets.token_hex(8)}") as folder:
            temporary = folder / "new"
            with temporary.open("xb") as stream:
                with _compressed(stream) if out.suffix == ".gz" else nullcontext[IO[bytes]](stream) as inner:
                    yield inner
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(out)
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror}; choose another place.") from None


def _compressed(stream: IO[bytes]) -> IO[bytes]:
    """Compress without name and time, so that the same log is the same bytes."""
    return cast(IO[bytes], gzip.GzipFile("", "wb", _COMPRESSION, stream, mtime=0))
