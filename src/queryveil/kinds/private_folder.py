"""The private folder: who is behind a release, the profiles as the method saw them, and the record of the run.

It is never inside the release nor around it, and only its owner can read it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import as_array, parquet_bytes
from queryveil.core.errors import ReleaseError
from queryveil.core.files import write_file
from queryveil.core.rows import Int32Array, IntArray, count_holders, row_numbers
from queryveil.histories.profiles import Profiles

_MEMBERSHIP_TYPES = {"person": pa.string(), "history": pa.int64(), "release_id": pa.int64()}
_CONTRIBUTORS_TYPES = {"person": pa.string(), "release_id": pa.int64()}
_PROFILES_TYPES = {"history": pa.int64(), "term": pa.string(), "count": pa.int32()}
MEMBERSHIP, PROFILES, RUN_FILE = "membership.parquet", "profiles.parquet", "run.json"
OTHER_HISTORIES = "{} does not belong to this release: other histories were released from it."
CONTRIBUTORS = "counted.parquet"  # of groups: whose terms are in what is published; groups may be frozen


@dataclass(frozen=True)
class RunRecord:
    """How a release was made: enough to make it again; `run.json` of the private folder."""

    seed: int
    method: str
    kind: str
    queryveil: str
    engine: str = "local"
    inputs: Sequence[Mapping[str, Any]] = field(default_factory=list)  # the files of the log
    more: Mapping[str, Any] = field(default_factory=dict)  # what the method's inputs record of themselves
    content_sha256: str = ""  # of the released rows, set when the release is committed

    def write(self, folder: Path) -> None:
        """Write the record into a folder as JSON, without the fields that have their default."""
        record = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        more = record.pop("more")
        write_file(folder / RUN_FILE, (json.dumps(record | more, indent=2) + "\n").encode(), 0o600)


def read_run(folder: object, read: Callable[[], bytes]) -> RunRecord:
    """Return the run record of a private folder; `read` returns the bytes of its file."""
    own = {field.name for field in fields(RunRecord)} - {"more"}
    try:
        record = json.loads(read())
        if not isinstance(record, dict) or not isinstance(record.get("method"), str):
            raise ValueError("not a run record")
        more = {key: value for key, value in record.items() if key not in own}
        return RunRecord(**{key: value for key, value in record.items() if key in own}, more=more)
    except (OSError, ValueError, RecursionError, TypeError):
        raise ReleaseError(
            f"{folder} is not a private folder: its {RUN_FILE} cannot be read; check --private."
        ) from None


def check_belongs(folder: object, run: RunRecord, content_sha256: str) -> None:
    """Refuse a private folder that was made for other rows than a release's manifest names."""
    if run.content_sha256 != content_sha256:
        raise ReleaseError(
            f"{folder} does not belong to this release: it was made for other rows; check --private, "
            "or whether the release was changed."
        )


def write_private(folder: Path, profiles: Profiles, release_ids: IntArray, run: RunRecord) -> None:
    """Write membership, profiles and the run record into a folder."""
    membership, pairs = tables_of(profiles)
    membership = membership.append_column("release_id", pa.array(release_ids, mask=release_ids < 0))
    if profiles.partition is not None:
        values = pa.array(profiles.partition_values, pa.string())
        membership = membership.append_column("partition", values.take(pa.array(profiles.partition)))
    for name, table in ((MEMBERSHIP, membership), (PROFILES, pairs)):
        write_file(folder / name, parquet_bytes(table), 0o600)
    run.write(folder)


def bind(folder: Path, content_sha256: str) -> None:
    """Record in `run.json` which released rows a private folder belongs to."""
    run = read_run(folder, (folder / RUN_FILE).read_bytes)
    replace(run, content_sha256=content_sha256).write(folder)


def write_contributors(folder: Path, group_of: Mapping[str, int]) -> None:
    """Write whose terms are in what is published of each group."""
    schema = pa.schema(_CONTRIBUTORS_TYPES)
    table = pa.table({"person": list(group_of), "release_id": list(group_of.values())}, schema=schema)
    write_file(folder / CONTRIBUTORS, parquet_bytes(table), 0o600)


def tables_of(profiles: Profiles) -> tuple[pa.Table, pa.Table]:
    """Return the owners of histories (`person, history`) and their content (`history, term, count`, weights if any)."""
    persons = pa.array(profiles.persons, pa.string()).take(pa.array(profiles.owner))
    entries = pa.array(profiles.vocabulary, pa.string()).take(pa.array(profiles.ids))
    pairs = {"history": row_numbers(profiles.indptr), "term": entries, "count": profiles.counts}
    if profiles.weights is not None:
        pairs["weight"] = profiles.weights
    return pa.table({"person": persons, "history": np.arange(profiles.n_histories)}), pa.table(pairs)


@contextmanager
def refuse_damaged(fault: str) -> Iterator[None]:
    """Raise an error about a damaged private folder if its tables cannot be read; `fault` begins the sentence."""
    try:
        yield
    except (OSError, KeyError, ValueError, pa.ArrowException):
        raise ReleaseError(f"{fault} or damaged; check --private.") from None


@dataclass(frozen=True)
class PrivateFolder:
    """The private folder of a release: reads and checks its tables."""

    path: Path

    def check_belongs(self, content_sha256: str) -> None:
        """Refuse the folder if it was made for other rows than a release's manifest names."""
        check_belongs(self.path, self.run(), content_sha256)

    def run(self) -> RunRecord:
        """Return the record of the run that made the release."""
        return read_run(self.path, (self.path / RUN_FILE).read_bytes)

    def owners(self, users: IntArray) -> tuple[Int32Array, IntArray]:
        """Return the person (as a number) and the original history of every released id."""
        table = self._read(MEMBERSHIP, _MEMBERSHIP_TYPES).drop_null()
        release_id = as_array(table["release_id"])
        order = np.argsort(release_id)
        if not np.array_equal(release_id[order], users):
            raise ReleaseError(OTHER_HISTORIES.format(self.path))
        persons = table["person"].combine_chunks().dictionary_encode().indices
        return as_array(persons).astype(np.int32)[order], as_array(table["history"])[order]

    def positions_in(self, profiles: Profiles) -> IntArray:
        """Return the position of every history of the folder in profiles of the same log with people in another order.

        A person's histories are in the same order, so the person and the number within the person identify them.
        """
        membership = self.membership().sort_by("history")
        number = {person: i for i, person in enumerate(profiles.persons)}
        owner = np.array([number.get(person, -1) for person in membership["person"].to_pylist()], np.int64)
        if not np.array_equal(np.sort(owner), profiles.owner):
            raise ReleaseError(
                f"{self.path} was made from another log: it holds other people or histories; check the log."
            )
        positions = np.empty(len(owner), np.int64)
        positions[np.argsort(owner, kind="stable")] = np.arange(len(owner))
        return positions

    def profiles(self) -> tuple[pa.Table, pa.Table]:
        """Return the membership and the profiles as the method saw them."""
        return self._read(MEMBERSHIP, _MEMBERSHIP_TYPES), self._read(PROFILES, _PROFILES_TYPES)

    def holders(self) -> dict[str, int]:
        """Return how many people of the log hold each term."""
        membership, pairs = self.profiles()
        person = as_array(membership["person"].combine_chunks().dictionary_encode().indices)
        terms = pairs["term"].combine_chunks().dictionary_encode()
        try:
            owner = person[as_array(pairs["history"])]
        except IndexError:
            raise ReleaseError(f"{self.path / PROFILES} has histories that nobody has; check --private.") from None
        people = count_holders(owner, as_array(terms.indices), len(terms.dictionary))
        return dict(zip(terms.dictionary.to_pylist(), people.tolist(), strict=True))

    def membership(self) -> pa.Table:
        """Return `person, history, release_id`, and `partition` if the log was cut into partitions."""
        membership = self._read(MEMBERSHIP, _MEMBERSHIP_TYPES)
        if "partition" not in _open_parquet(self.path / MEMBERSHIP).schema_arrow.names:
            return membership
        partition = self._read(MEMBERSHIP, {"partition": pa.string()})["partition"]
        return membership.append_column("partition", partition)

    def weighted_profiles(self) -> tuple[pa.Table, pa.Table]:
        """Return `history, release_id` of everybody and `history, term, weight` of their profiles."""
        wanted = {MEMBERSHIP: ["history", "release_id"], PROFILES: ["history", "term", "weight"]}
        with refuse_damaged(f"{self.path} is missing something"):
            membership, pairs = (
                _open_parquet(self.path / name).read(columns=columns).select(columns)
                for name, columns in wanted.items()
            )
        return membership, pairs

    def contributors(self) -> dict[str, int]:
        """Return the group of everybody whose terms are in what was published."""
        table = self._read(CONTRIBUTORS, _CONTRIBUTORS_TYPES)
        return dict(zip(table["person"].to_pylist(), table["release_id"].to_pylist(), strict=True))

    def encoded_terms(self) -> pa.Table:
        """Return the profiles `history, term, count` with the terms as an Arrow dictionary."""
        types = {**_PROFILES_TYPES, "term": pa.dictionary(pa.int32(), pa.string())}
        return self._read(PROFILES, types, read_dictionary=["term"]).unify_dictionaries().combine_chunks()

    def _read(self, name: str, types: Mapping[str, pa.DataType], **options: Any) -> pa.Table:
        with refuse_damaged(f"{self.path / name} is missing"):
            table = _open_parquet(self.path / name, **options).read(columns=list(types)).select(list(types))
            table = table.cast(pa.schema(types))
        return table


def _open_parquet(path: Path, **options: Any) -> Any:
    import pyarrow.parquet as pq  # slow to import, and commands that list names read no files

    return pq.ParquetFile(path, **options)
