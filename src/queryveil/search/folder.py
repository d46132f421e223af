"""The folder of an index: what is in it, and whether it is whole and of this version.

`index.json`, written last, names every other file with its size and digest, and says by which layout, analyser and
engine the index was made. A folder without it is no index.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from queryveil._version import __version__
from queryveil.core.errors import CorpusError
from queryveil.core.files import sync_folder, write_file
from queryveil.search.analyser import ANALYSER

NAME = "index.json"
ENGINE = "engine"  # the engine's own folder
DOCUMENTS, TERMS = "documents.arrow", "terms.arrow"
INDPTR, IDS, COUNTS, WEIGHTS = "indptr.npy", "ids.npy", "counts.npy", "weights.npy"
LAYOUT = 1


def write_record(folder: Path, engine: str, counts: Mapping[str, int]) -> None:
    """Write down what stands in a folder: from now on it is an index."""
    record = {
        "queryveil": __version__,
        "layout": LAYOUT,
        "analyser": dict(ANALYSER),
        "engine": engine,
        **counts,
        "files": {str(path.relative_to(folder)): _described(path) for path in _files(folder)},
    }
    for path in (folder / ENGINE, folder):
        sync_folder(path)
    write_file(folder / NAME, json.dumps(record, indent=2).encode())
    sync_folder(folder)


def read_record(folder: Path, engine: str) -> Mapping[str, Any]:
    """Return what an index says of itself, if it is whole and can be searched by this version."""
    if not (folder / NAME).is_file():
        raise CorpusError(f"{folder} is no index: it has no {NAME}; make one with queryveil index.")
    try:
        record = json.loads((folder / NAME).read_bytes())
        made_with = {key: record[key] for key in ("layout", "analyser", "engine")}
        files = {str(name): dict(described) for name, described in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CorpusError(f"{folder / NAME} cannot be read; make it anew with queryveil index --force.") from None
    expected = {"layout": LAYOUT, "analyser": dict(ANALYSER), "engine": engine}
    for part, value in expected.items():
        if made_with[part] != value:
            raise CorpusError(
                f"{folder} was made with another {part} than that of queryveil {__version__}; "
                "make it anew with queryveil index --force."
            )
    _check_files(folder, files)
    checked: Mapping[str, Any] = record
    return checked


def _check_files(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    for name, described in files.items():
        path = folder / name
        if not path.is_file() or _described(path) != described:
            what = "has been changed" if path.is_file() else "is missing"
            raise CorpusError(f"{folder} is damaged: {name} {what}; make it anew with queryveil index --force.")


def _files(folder: Path) -> list[Path]:
    """Return the files that an index is made of; the engine's locks say nothing."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"]


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
