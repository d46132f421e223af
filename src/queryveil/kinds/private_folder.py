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

from queryveil.core.arrow import arrow_numbers, arrow_texts, as_array, open_parquet, row_groups, write_parquet
from queryveil.core.errors import ReleaseError
from queryveil.core.files import Folder, MemoryPath, open_new, write_file
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
    history = np.arange(profiles.n_histories) if history_of is None else history_of
    with open_new(folder / MEMBERSHIP, 0o600) as stream:
        write_parquet(stream, _membership_tables(profiles, history, release_ids))
    with open_new(folder / PROFILES, 0o600) as stream:
        write_parquet(stream, profile_tables(profiles))
    run.write(folder)


def bind(folder: Folder, content_sha256: str, manifest_sha256: Mapping[str, str]) -> None:
    """Record in `run.json` which rows a private folder belongs to, and what the manifest says about them."""
    run = read_run(folder, (folder / RUN_FILE).read_bytes)
    replace(run, content_sha256=content_sha256, manifest_sha256=manifest_sha256).write(folder)


def write_contributors(folder: Folder, persons: Sequence[str], groups: IntArray, frozen: Sequence[int]) -> None:
    """Write whose terms are in what is published of which group, and which groups are published as before."""
    is_frozen = np.isin(groups, frozen)

    def tables() -> Iterator[pa.Table]:
        for rows in row_groups(len(groups)):
            frozen_rows = pa.array(is_frozen[rows].tolist(), pa.bool_())
            columns = [arrow_texts(persons[rows]), arrow_numbers(groups[rows]), frozen_rows]
            yield pa.table(columns, schema=pa.schema({**_CONTRIBUTORS_TYPES, **_FROZEN_TYPE}))

    with open_new(folder / CONTRIBUTORS, 0o600) as stream:
        write_parquet(stream, tables())


def _membership_tables(profiles: Profiles, history: IntArray, release_ids: IntArray) -> Iterator[pa.Table]:
    """Yield the histories with their release ids, null where nothing was released, a group of rows at a time."""
    values, partition = arrow_texts(profiles.partition_values), profiles.partition
    for rows, table in zip(row_groups(len(history)), owner_tables(profiles, history), strict=True):
        table = table.append_column("release_id", arrow_numbers(release_ids[rows], release_ids[rows] < 0))
        if partition is not None:
            table = table.append_column("partition", values.take(arrow_numbers(partition[history[rows]])))
        yield table


def owner_tables(profiles: Profiles, history: IntArray | None = None) -> Iterator[pa.Table]:
    """Yield the owners of all histories, or of these, as tables `person, history`, a group of rows at a time."""
    history = np.arange(profiles.n_histories) if history is None else history
    for rows in row_groups(len(history)):
        owner = profiles.owner[history[rows]]
        first = int(owner.min(initial=len(profiles.persons)))
        persons = arrow_texts(profiles.persons[first : int(owner.max(initial=-1)) + 1])
        yield pa.table({"person": persons.take(arrow_numbers(owner - first)), "history": arrow_numbers(history[rows])})


def profile_tables(profiles: Profiles) -> Iterator[pa.Table]:
    """Yield the content of histories as tables `history, term, count`, and weights if any, a group of rows at a time.

    A column of the texts of all pairs could be longer than the 2 GB that Arrow allows.
    """
    entries = arrow_texts(profiles.vocabulary)
    for rows in row_groups(len(profiles.ids)):
        first = int(np.searchsorted(profiles.indptr, rows.start, "right")) - 1
        end = int(np.searchsorted(profiles.indptr, rows.stop, "left"))
        history = first + row_numbers(profiles.indptr[first : end + 1].clip(rows.start, rows.stop))
        pairs = {"history": arrow_numbers(history), "term": entries.take(arrow_numbers(profiles.ids[rows]))}
        pairs["count"] = arrow_numbers(profiles.counts[rows])
        if profiles.weights is not None:
            pairs["weight"] = arrow_numbers(profiles.weights[rows])
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
