"""Model files: a Parquet table of words and weights that says its version and digest; and lists of words."""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.lexicons.tables import FOLDER
from queryveil.logs.characters import terms

VERSION = "1"
BUNDLED = FOLDER / "sensitivity.parquet"
LISTED = 0.98  # how sensitive a word of a user's list makes a query by itself
_SCHEMA = pa.schema({"word": pa.string(), "weight": pa.float64()})
_KEYS = ("version", "name", "base", "sha256")  # what a file says of itself, each after the prefix
_PREFIX = "queryveil.sensitivity."


@dataclass(frozen=True, eq=False)
class Record:
    """What a model file holds."""

    words: tuple[str, ...]
    weights: NDArray[np.float64]
    base: float
    name: str


def model_bytes(record: Record) -> bytes:
    """Return a model as the bytes of a file that says of itself what it is."""
    table = pa.table({"word": pa.array(record.words, pa.string()), "weight": record.weights}, schema=_SCHEMA)
    facts = {"version": VERSION, "name": record.name, "base": repr(record.base), "sha256": _digest(record)}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({_PREFIX + key: facts[key] for key in _KEYS}),
        sink,
        compression="zstd",
        compression_level=19,
        use_dictionary=["weight"],
        column_encoding={"word": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
    )
    data: bytes = sink.getvalue().to_pybytes()
    return data


def is_model(path: Path) -> bool:
    """Say whether a file is a model of any version, whole or not."""
    try:
        return (_PREFIX + "version").encode() in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def read_model(path: Path) -> Record:
    """Read a model file; one of another version, or that was changed, is refused."""
    table = _table(path)
    found = {key.decode(): value.decode(errors="replace") for key, value in (table.schema.metadata or {}).items()}
    facts = {key: found.get(_PREFIX + key) for key in _KEYS}
    if facts["version"] is None:
        raise InputError(f"{path} is not a sensitivity model; make one with queryveil sensitivity train.")
    if facts["version"] != VERSION:
        raise InputError(
            f"{path} is a sensitivity model of version {facts['version']}, and this queryveil reads version {VERSION}; "
            "train it anew."
        )
    try:
        columns = table.select(_SCHEMA.names).cast(_SCHEMA)
        weights = columns["weight"].to_numpy().copy()
        record = Record(tuple(columns["word"].to_pylist()), weights, float(facts["base"] or ""), facts["name"] or "")
        is_whole = facts["sha256"] == _digest(record) and bool(np.isfinite([*weights, record.base]).all())
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        is_whole = False
    if not is_whole:
        raise InputError(f"{path} is damaged: it has not the digest that it gives; train the model anew.")
    return record


def _table(path: Path) -> pa.Table:
    if not path.is_file():
        raise InputError(f"there is no sensitivity model {path}; check the path.")
    try:
        return pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException):
        raise InputError(f"{path} is not a sensitivity model, or it is damaged; train the model anew.") from None


def _digest(record: Record) -> str:
    digest = hashlib.sha256(f"{VERSION}\n{record.name}\n".encode() + struct.pack("<d", record.base))
    digest.update(record.weights.astype("<f8").tobytes())
    digest.update("\n".join(record.words).encode())
    return digest.hexdigest()


def read_words(path: Path) -> Mapping[str, float]:
    """Read a list of sensitive words, one on each line; empty lines and those that begin with # are left out."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"there is no word list {path}; check the path.") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"the word list {path} cannot be read as UTF-8 text; save it as such.") from None
    words: dict[str, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = terms(line)
        if len(found) != 1:
            raise InputError(f"{path}, line {number}: a word list has one word on each line; write them one by one.")
        words[found[0]] = LISTED
    if not words:
        raise InputError(f"the word list {path} holds no word; write one on each line.")
    return words
