"""The private folder: who is behind a release, the profiles as the method saw them, and the record of the run.

It is never inside the release nor around it, and only its owner can read it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.arrow import arrow_numbers, arrow_texts, as_array, open_parquet, parquet_bytes
from queryveil.core.errors import ReleaseError
from queryveil.core.files import Folder, MemoryPath, write_file
from queryveil.core.names import Value
from queryveil.core.rows import Int32Array, IntArray, count_holders, indptr_of_sorted, row_numbers
from queryveil.histories.profiles import Profiles

_MEMBERSHIP_TYPES = {"person": pa.string(), "history": pa.int64(), "release_id": pa.int64()}
_CONTRIBUTORS_TYPES = {"person": pa.string(), "release_id": pa.int64()}
_FROZEN_TYPE = {"is_frozen": pa.bool_()}
_PROFILES_TYPES = {"history": pa.int64(), "term": pa.string(), "count": pa.int32()}
MEMBERSHIP, PROFILES, RUN_FILE = "membership.parquet", "profiles.parquet", "run.json"
OTHER_HISTORIES = "{} does not belong to this release: other histories were released from it."
CONTRIBUTORS = "counted.parquet"  # of groups: whose terms are in what is published; groups may be frozen
TAXONOMY = "taxonomy.csv"  # by which terms were compared, where it was the user's
VECTORS = "vectors.txt"  # of the words that were placed by a user's vectors, and of the nouns next to them


@dataclass(frozen=True)
class RunRecord:
    """How a release was made: enough to make it again; `run.json` of the private folder."""

    seed: int
    method: str
    kind: str
    queryveil: str
    engine: str = "local"
    inputs: Sequence[Mapping[str, Any]] = field(default_factory=list)  # the files of the log
    parameters: Mapping[str, Value] = field(default_factory=dict)  # of the method, with its defaults
    more: Mapping[str, Any] = field(default_factory=dict)  # what the method's inputs record of themselves
    content_sha256: str = ""  # of the released rows, set when the release is committed, as is the next field
    manifest_sha256: Mapping[str, str] = field(default_factory=dict)  # of every field of the manifest

    def write(self, folder: Folder) -> None:
        """Write the record into a folder as JSON, without the fields that have their default."""
        record = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        more = record.pop("more")
        write_file(folder / RUN_FILE, (json.dumps(record | more, indent=2) + "\n").encode(), 0o600)


def read_run(folder: object, read: Callable[[], bytes]) -> RunRecord:
    """Return the run record of a private folder; `read` returns the bytes of its file."""
    own = {field.name for field in fields(RunRecord)} - {"more"}
    try:
        record = json.loads(read())
        mappings = [record.get(name, {}) for name in ("parameters", "manifest_sha256")]
        if not isinstance(record["method"], str) or not all(isinstance(each, dict) for each in mappings):
            raise ValueError("not a run record")
        more = {key: value for key, value in record.items() if key not in own}
        return RunRecord(**{key: value for key, value in record.items() if key in own}, more=more)
    except (OSError, ValueError, RecursionError, TypeError, AttributeError, KeyError):
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


def write_private(
    folder: Folder, profiles: Profiles, release_ids: IntArray, run: RunRecord, history_of: IntArray | None = None
) -> None:
    """Write membership, profiles and the run record; a history in several pieces has a row for each (`history_of`)."""
    tables = tables_of(profiles)  # one after the other, since they are large
    history = np.arange(profiles.n_histories) if history_of is None else history_of
    membership = next(tables).take(arrow_numbers(history))
    membership = membership.append_column("release_id", arrow_numbers(release_ids, release_ids < 0))
    if profiles.partition is not None:
        values = arrow_texts(profiles.partition_values)
        membership = membership.append_column("partition", values.take(arrow_numbers(profiles.partition[history])))
    write_file(folder / MEMBERSHIP, parquet_bytes(membership), 0o600)
    del membership
    write_file(folder / PROFILES, parquet_bytes(next(tables)), 0o600)
    run.write(folder)


def bind(folder: Folder, content_sha256: str, manifest_sha256: Mapping[str, str]) -> None:
    """Record in `run.json` which rows a private folder belongs to, and what the manifest says about them."""
    run = read_run(folder, (folder / RUN_FILE).read_bytes)
    replace(run, content_sha256=content_sha256, manifest_sha256=manifest_sha256).write(folder)


def write_contributors(folder: Folder, group_of: Mapping[str, int], frozen: Sequence[int]) -> None:
    """Write whose terms are in what is published of each group, and which groups are published as before."""
    schema, groups = pa.schema({**_CONTRIBUTORS_TYPES, **_FROZEN_TYPE}), list(group_of.values())
    frozen_groups = set(frozen)
    is_frozen = [group in frozen_groups for group in groups]
    table = pa.table({"person": list(group_of), "release_id": groups, "is_frozen": is_frozen}, schema=schema)
    write_file(folder / CONTRIBUTORS, parquet_bytes(table), 0o600)


def tables_of(profiles: Profiles) -> Iterator[pa.Table]:
    """Yield the owners of histories (`person, history`) and their content (`history, term, count`, weights if any)."""
    persons = arrow_texts(profiles.persons).take(arrow_numbers(profiles.owner))
    yield pa.table({"person": persons, "history": arrow_numbers(np.arange(profiles.n_histories))})
    entries = arrow_texts(profiles.vocabulary).take(arrow_numbers(profiles.ids))
    history, counts = arrow_numbers(row_numbers(profiles.indptr)), arrow_numbers(profiles.counts)
    pairs = {"history": history, "term": entries, "count": counts}
    if profiles.weights is not None:
        pairs["weight"] = arrow_numbers(profiles.weights)
    yield pa.table(pairs)


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

    path: Folder

    def check_belongs(self, content_sha256: str) -> RunRecord:
        """Refuse the folder if it was made for other rows than a release's manifest names; return its record."""
        run = read_run(self.path, (self.path / RUN_FILE).read_bytes)
        check_belongs(self.path, run, content_sha256)
        return run

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
        membership = self.histories()
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
        """Return the histories of the log and the profiles as the method saw them."""
        return self.histories(), self._read(PROFILES, _PROFILES_TYPES)

    @cached_property
    def log_profiles(self) -> Profiles:
        """Return the profiles as the method saw them, numbered as `Profiles` are."""
        membership, pairs = self.histories(), self.encoded_terms()
        with refuse_damaged(f"{self.path} is missing something"):
            persons = membership["person"].combine_chunks().dictionary_encode()
            partition, partition_values = None, ()
            if "partition" in membership.column_names:
                parts = membership["partition"].combine_chunks().dictionary_encode()
                partition, partition_values = as_array(parts.indices), tuple(parts.dictionary.to_pylist())
            owner, history = as_array(persons.indices).astype(np.int32), as_array(pairs["history"])
            is_numbered = np.array_equal(as_array(membership["history"]), np.arange(len(owner)))
            weights = as_array(pairs["weight"]) if "weight" in pairs.column_names else None
        if not is_numbered or history.min(initial=0) < 0 or history.max(initial=-1) >= len(owner):
            raise ReleaseError(f"{self.path} is damaged: its histories are not in order; check --private.")
        encoded = pairs["term"].combine_chunks()
        texts, term = encoded.dictionary.to_pylist(), as_array(encoded.indices)
        people = count_holders(owner[history], term, len(texts))
        by_people = sorted(range(len(texts)), key=lambda i: (-people[i], texts[i]))
        number = np.empty(len(texts), np.int32)
        number[by_people] = np.arange(len(texts), dtype=np.int32)
        order = np.lexsort((number[term], history))
        return Profiles(
            tuple(texts[i] for i in by_people),
            indptr_of_sorted(history, len(owner)),
            number[term][order],
            as_array(pairs["count"])[order],
            owner,
            tuple(persons.dictionary.to_pylist()),
            partition=partition,
            partition_values=partition_values,
            weights=None if weights is None else weights[order],
        )

    def histories(self) -> pa.Table:
        """Return the membership with one row for each history of the log, by its number, whatever became of it."""
        membership = self.membership()
        _, first = np.unique(as_array(membership["history"]), return_index=True)
        return membership.take(arrow_numbers(first))

    def membership(self) -> pa.Table:
        """Return `person, history, release_id`, and `partition` if the log was cut into partitions.

        A history that was released in several pieces has a row for each of them.
        """
        membership = self._read(MEMBERSHIP, _MEMBERSHIP_TYPES)
        if not self._has_column(MEMBERSHIP, "partition"):
            return membership
        partition = self._read(MEMBERSHIP, {"partition": pa.string()})["partition"]
        return membership.append_column("partition", partition)

    def contributors(self) -> dict[str, int]:
        """Return the group of everybody whose terms are in what was published."""
        table = self._read(CONTRIBUTORS, _CONTRIBUTORS_TYPES)
        return dict(zip(table["person"].to_pylist(), table["release_id"].to_pylist(), strict=True))

    def frozen_groups(self) -> tuple[int, ...]:
        """Return the groups that are published as in an earlier release; a release made on a cluster has none."""
        if not self._has_column(CONTRIBUTORS, *_FROZEN_TYPE):
            return ()
        table = self._read(CONTRIBUTORS, {"release_id": pa.int64(), **_FROZEN_TYPE})
        return tuple(table.filter(table["is_frozen"])["release_id"].unique().to_pylist())

    def encoded_terms(self) -> pa.Table:
        """Return the profiles `history, term, count`, and `weight` if any, with the terms as an Arrow dictionary."""
        types = {**_PROFILES_TYPES, "term": pa.dictionary(pa.int32(), pa.string())}
        if self._has_column(PROFILES, "weight"):
            types["weight"] = pa.float64()
        return self._read(PROFILES, types, read_dictionary=["term"]).unify_dictionaries().combine_chunks()

    def _has_column(self, name: str, column: str) -> bool:
        with refuse_damaged(f"{self.path / name} is missing"):
            return column in _open_parquet(self.path / name).schema_arrow.names

    def _read(self, name: str, types: Mapping[str, pa.DataType], **options: Any) -> pa.Table:
        with refuse_damaged(f"{self.path / name} is missing"):
            table = _open_parquet(self.path / name, **options).read(columns=list(types)).select(list(types))
            table = table.cast(pa.schema(types))
        return table


def _open_parquet(path: Folder, **options: Any) -> Any:
    import pyarrow.parquet as pq  # slow to import, and commands that list names read no files

    return (
        open_parquet(path.read_bytes(), **options) if isinstance(path, MemoryPath) else pq.ParquetFile(path, **options)
    )
