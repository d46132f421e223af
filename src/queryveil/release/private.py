"""The private folder: who is behind a release. It never lies inside the release nor around it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.errors import OutputError, ReleaseError
from queryveil.files import write_file
from queryveil.release.content import Content
from queryveil.types import Profiles

MEMBERSHIP, PROFILES, RUN = "membership.parquet", "profiles.parquet", "run.json"


def check_apart(private: Path, release: Path) -> None:
    """Refuse a private folder that lies inside the release, around it, or at the same place."""
    inner, outer = private.resolve(), release.resolve()
    if inner == outer or outer in inner.parents:
        raise OutputError(f"the private folder {private} would lie inside the release {release}; put it elsewhere.")
    if inner in outer.parents:
        raise OutputError(f"the release {release} would lie inside the private folder {private}; put it elsewhere.")


def write(folder: Path, profiles: Profiles, content: Content, run: Mapping[str, Any]) -> None:
    """Write membership, profiles and the run record into a folder."""
    release_id = pa.array(content.release_id, mask=content.release_id < 0)
    persons = pa.array(profiles.persons, pa.string()).take(pa.array(profiles.owner))
    history = np.arange(profiles.n_histories, dtype=np.int64)
    membership = pa.table({"person": persons, "history": history, "release_id": release_id})
    entries = pa.array(profiles.vocabulary.entries, pa.string()).take(pa.array(profiles.ids))
    pairs = pa.table(
        {
            "history": np.repeat(history, np.diff(profiles.indptr)),
            "term": entries,
            "count": profiles.counts,
        }
    )
    for name, table in ((MEMBERSHIP, membership), (PROFILES, pairs)):
        write_file(folder / name, parquet_bytes(table), 0o600)
    write_file(folder / RUN, (json.dumps(run, indent=2) + "\n").encode(), 0o600)


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def load_run(private: Path) -> dict[str, Any]:
    """Read the run record."""
    try:
        return dict(json.loads((private / RUN).read_bytes()))
    except (OSError, ValueError):
        raise ReleaseError(f"{private} is not a private folder: its {RUN} cannot be read; check --private.") from None


def load_histories(private: Path, users: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the person (as a number) and the original history behind every released id."""
    table = _read(private / MEMBERSHIP, ("person", "history", "release_id")).drop_null()
    release_id = np.array(table["release_id"].to_pylist(), np.int64)
    order = np.argsort(release_id)
    if not np.array_equal(release_id[order], users):
        raise ReleaseError(f"{private} does not belong to this release: other histories were released from it.")
    persons = table["person"].combine_chunks().dictionary_encode().indices
    history = np.array(table["history"].to_pylist(), np.int64)
    return np.array(persons.to_pylist(), np.int32)[order], history[order]


def load_profiles(private: Path) -> tuple[pa.Table, pa.Table]:
    """Return the membership and the profiles as the method saw them."""
    return (
        _read(private / MEMBERSHIP, ("person", "history", "release_id")),
        _read(private / PROFILES, ("history", "term", "count")),
    )


def _read(path: Path, columns: tuple[str, ...]) -> pa.Table:
    try:
        return pq.ParquetFile(path).read(columns=list(columns))
    except (OSError, KeyError, pa.ArrowException):
        raise ReleaseError(f"{path} is missing or damaged; check --private.") from None
