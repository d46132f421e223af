"""The names of what is in the folder of a run, and its removal."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

from queryveil.core.files import write_file

RELEASE, PRIVATE, INDEX, UPLOAD = "release", "private", "index", "upload"
RESULT = "result.json"  # what the run found
DATASHEET = "datasheet.html"
TEMPORARY = "tmp"
_PUBLIC = ("verdict", "manifest", "scores", "seconds")  # what of the result stays when the private folder goes


def remove(folder: Path) -> None:
    """Remove a folder and all that is in it, or raise if something stays."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def forget_files(folder: Path) -> None:
    """Remove from a run's folder who is behind its release: the private folder, and what the method says of the log."""
    result = folder / RESULT
    if result.exists():
        record = json.loads(result.read_text())
        kept = {name: record[name] for name in _PUBLIC if name in record}
        write_file(result, json.dumps(kept, ensure_ascii=False).encode(), 0o600)
    remove(folder / PRIVATE)
