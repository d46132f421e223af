"""The folder of a run: emptied before the run begins, except for the file that was sent with it."""

import os
import shutil
from pathlib import Path, PurePath
from typing import BinaryIO

from queryveil.serve.store import TooLargeError
from queryveil.serve.stored_files import UPLOAD

_LONGEST_NAME = 200  # characters
_CHUNK = 1 << 20


def upload_name(filename: str) -> str:
    """Return the name under which a file that was sent is kept: without folders and unprintable characters."""
    last_part = PurePath(filename.replace("\\", "/")).name
    return "".join(c for c in last_part if c.isprintable()).lstrip(".")[:_LONGEST_NAME] or "upload"


def store_upload(path: Path, stream: BinaryIO, most: int) -> None:
    """Store a file that was sent, or raise once it exceeds the limit."""
    path.parent.mkdir(mode=0o700, parents=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := stream.read(_CHUNK):
            most -= len(chunk)
            if most < 0:
                raise TooLargeError("the file is larger than this server takes; see --max-upload.", field="file")
            out.write(chunk)


def clear_folder(folder: Path) -> None:
    """Make the folder of a run that begins, without what an earlier attempt left; what was sent stays."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name == UPLOAD:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
