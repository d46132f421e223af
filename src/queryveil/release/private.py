"""The private folder: who is behind a release. It never lies inside the release nor around it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core import rows
from queryveil.core.errors import OutputError, ReleaseError
from queryveil.core.files import write_file
from queryveil.core.rows import per_entry
from queryveil.histories.profiles import Profiles
from queryveil.release.reader import as_array

if TYPE_CHECKING:  # what makes a release is not loaded to verify one
    from queryveil.release.content import Content

_MEMBERSHIP_TYPES = {"person": pa.string(), "history": pa.int64(), "release_id": pa.int64()}
_COUNTED_TYPES = {"person": pa.string(), "release_id": pa.int64()}
_PROFILES_TYPES = {"history": pa.int64(), "term": pa.string(), "count": pa.int32()}
_DICTIONARY_BYTES = 1 << 27  # a column of terms stays one of numbers, which is read several times as fast
MEMBERSHIP, PROFILES, RUN = "membership.parquet", "profiles.parquet", "run.json"
COUNTED = "counted.parquet"  # of groups: whose terms are in what is published, which may be frozen


def check_apart(private: Path, release: Path) -> None:
    """Refuse a private folder that lies inside the release, around it, or at the same place."""
    inner, outer = private.resolve(), release.resolve()
    if inner == outer or outer in inner.parents:
        raise OutputError(f"the private folder {private} would lie inside the release {release}; put it elsewhere.")
    if inner in outer.parents:
        raise OutputError(f"the release {release} would lie inside the private folder {private}; put it elsewhere.")


def write(folder: Path, profiles: Profiles, content: "Content", run: Mapping[str, Any]) -> None:
    """Write membership, profiles and the run record into a folder."""
    membership, pairs = tables_of(profiles)
    release_id = pa.array(content.release_id, mask=content.release_id < 0)
    membership = membership.append_column("release_id", release_id)
    if profiles.partition is not None:
        values = pa.array(profiles.partition_values, pa.string())
        membership = membership.append_column("partition", values.take(pa.array(profiles.partition)))
    for name, table in ((MEMBERSHIP, membership), (PROFILES, pairs)):
        write_file(folder / name, parquet_bytes(table), 0o600)
    _write_run(folder, run)


def write_counted(folder: Path, counted: Mapping[str, int]) -> None:
    """Write down whose terms are in what is published of each group."""
    table = pa.table({"person": list(counted), "release_id": list(counted.values())}, schema=pa.schema(_COUNTED_TYPES))
    write_file(folder / COUNTED, parquet_bytes(table), 0o600)


def load_counted(private: Path) -> dict[str, int]:
    """Return the group of everybody whose terms are in what was published."""
    table = _read(private / COUNTED, _COUNTED_TYPES)
    return dict(zip(table["person"].to_pylist(), table["release_id"].to_pylist(), strict=True))


def tables_of(profiles: Profiles) -> tuple[pa.Table, pa.Table]:
    """Return whose each history is, `person, history`, and what is in it, `history, term, count` and weights if any."""
    persons = pa.array(profiles.persons, pa.string()).take(pa.array(profiles.owner))
    history = np.arange(profiles.n_histories, dtype=np.int64)
    entries = pa.array(profiles.vocabulary.entries, pa.string()).take(pa.array(profiles.ids))
    pairs = {
        "history": per_entry(history, profiles.indptr),
        "term": entries,
        "count": profiles.counts,
    }
    if profiles.weights is not None:
        pairs["weight"] = profiles.weights
    return pa.table({"person": persons, "history": history}), pa.table(pairs)


def bind(folder: Path, content_sha256: str) -> None:
    """Note in the run record of a folder which released rows it belongs to."""
    _write_run(folder, {**load_run(folder), "content_sha256": content_sha256})


def check_belongs(private: Path, content_sha256: str) -> None:
    """Refuse a private folder that was made for other rows than a release's manifest names."""
    if load_run(private).get("content_sha256") != content_sha256:
        raise ReleaseError(
            f"{private} does not belong to this release: it was made for other rows; check --private, "
            "or whether the release was changed."
        )


def _write_run(folder: Path, run: Mapping[str, Any]) -> None:
    write_file(folder / RUN, (json.dumps(run, indent=2) + "\n").encode(), 0o600)


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", dictionary_pagesize_limit=_DICTIONARY_BYTES)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def load_run(private: Path) -> dict[str, Any]:
    """Read the run record."""
    try:
        run = json.loads((private / RUN).read_bytes())
    except (OSError, ValueError, RecursionError):
        run = None
    if not isinstance(run, dict):
        raise ReleaseError(f"{private} is not a private folder: its {RUN} cannot be read; check --private.")
    return run


def load_histories(private: Path, users: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the person (as a number) and the original history behind every released id."""
    table = _read(private / MEMBERSHIP, _MEMBERSHIP_TYPES).drop_null()
    release_id = as_array(table["release_id"])
    order = np.argsort(release_id)
    if not np.array_equal(release_id[order], users):
        raise ReleaseError(f"{private} does not belong to this release: other histories were released from it.")
    persons = table["person"].combine_chunks().dictionary_encode().indices
    return as_array(persons).astype(np.int32)[order], as_array(table["history"])[order]


def places_in(profiles: Profiles, private: Path) -> NDArray[np.int64]:
    """Return where every history of the private folder stands in profiles of the same log with people in another order.

    A person's histories are in the same order, so the person and the number within the person tell.
    """
    membership = load_membership(private).sort_by("history")
    number = {person: i for i, person in enumerate(profiles.persons)}
    owner = np.array([number.get(person, -1) for person in membership["person"].to_pylist()], np.int64)
    if not np.array_equal(np.sort(owner), profiles.owner):
        raise ReleaseError(f"{private} was made from another log: it holds other people or histories; check the log.")
    places = np.empty(len(owner), np.int64)
    places[np.argsort(owner, kind="stable")] = np.arange(len(owner))
    return places


def load_profiles(private: Path) -> tuple[pa.Table, pa.Table]:
    """Return the membership and the profiles as the method saw them."""
    return _read(private / MEMBERSHIP, _MEMBERSHIP_TYPES), _read(private / PROFILES, _PROFILES_TYPES)


def count_holders(private: Path) -> dict[str, int]:
    """Return how many people of the log hold each term."""
    membership, pairs = load_profiles(private)
    person = as_array(membership["person"].combine_chunks().dictionary_encode().indices).astype(np.int64)
    terms = pairs["term"].combine_chunks().dictionary_encode()
    number = as_array(terms.indices).astype(np.int64)
    try:
        held = rows.count_holders(person[as_array(pairs["history"])], number, len(terms.dictionary))
    except IndexError:
        raise ReleaseError(f"{private / PROFILES} has histories that nobody has; check --private.") from None
    return dict(zip(terms.dictionary.to_pylist(), held.tolist(), strict=True))


def load_membership(private: Path) -> pa.Table:
    """Return whose each history is and where it was released; with a partition where the log was cut into parts."""
    path = private / MEMBERSHIP
    membership = _read(path, _MEMBERSHIP_TYPES)
    if "partition" not in pq.read_schema(path).names:
        return membership
    return membership.append_column("partition", _read(path, {"partition": pa.string()})["partition"])


def load_terms(private: Path) -> pa.Table:
    """Return the profiles with numbered terms: `history, term, count`, the terms as an Arrow dictionary."""
    try:
        table = pq.ParquetFile(private / PROFILES, read_dictionary=["term"]).read(columns=list(_PROFILES_TYPES))
        types = {**_PROFILES_TYPES, "term": pa.dictionary(pa.int32(), pa.string())}
        return table.select(list(types)).cast(pa.schema(types)).unify_dictionaries().combine_chunks()
    except (OSError, KeyError, ValueError, pa.ArrowException):
        raise ReleaseError(f"{private / PROFILES} is missing or damaged; check --private.") from None


def _read(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    try:
        table = pq.ParquetFile(path).read(columns=list(types))
        return table.select(list(types)).cast(pa.schema(types))
    except (OSError, KeyError, ValueError, pa.ArrowException):
        raise ReleaseError(f"{path} is missing or damaged; check --private.") from None
