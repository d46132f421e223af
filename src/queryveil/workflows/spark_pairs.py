"""Setting a log beside what was released of it, on a cluster: people in blocks, each by the code for one machine."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.histories.pairs import LogDocuments, Match, Sensitivity, pair_logs
from queryveil.measures.distributed.pairs import PAIR_SCHEMA, DistributedPair, pair_row
from queryveil.methods.distributed.blocks import PEOPLE, block_of
from queryveil.methods.distributed.encoding import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DOCUMENTS = "block INT, person STRING, text STRING, n LONG"


@dataclass(frozen=True)
class Matching:
    """When a released document stands for one of the original, and how sensitive documents are."""

    match: Match
    stop_words: str = "none"
    sensitivity: Sensitivity | None = None
    is_mapped: bool = False  # who is who was given


def pair_frames(before: "DataFrame", after: "DataFrame", matching: Matching) -> DistributedPair:
    """Set two logs beside each other: `person, text, n` before, and `user, person, text, n` after.

    The user is who has the documents in the release, the person who that is in the original, where it is known.
    """
    from pyspark import StorageLevel

    people = before.select("person").distinct()
    told = after.join(people.selectExpr("person", "TRUE AS is_there"), "person", "left")
    users = told.select("user", "is_there").distinct().groupBy("is_there").count().collect()
    counts = {bool(row[0]): int(row[1]) for row in users}
    if counts.get(False) and not counts.get(True):
        hint = "check --map" if matching.is_mapped else "give --map with the columns original, released"
        raise InputError(f"no person of the release is in the original log; {hint}.")
    n_blocks = -(-people.count() // PEOPLE)
    sides = [
        frame.select("person", "text", "n").mapInArrow(_Place(n_blocks), _DOCUMENTS).groupBy("block")
        for frame in (before, told.where("is_there"))
    ]
    frame = sides[0].cogroup(sides[1]).applyInArrow(_pairing(matching), PAIR_SCHEMA)
    return DistributedPair(frame.persist(StorageLevel.DISK_ONLY), counts.get(False, 0))


@dataclass(frozen=True)
class _Place:
    n_blocks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = pa.array([block_of(person, self.n_blocks) for person in batch["person"].to_pylist()], pa.int32())
            yield pa.RecordBatch.from_arrays([number, *batch.columns], ["block", *batch.schema.names])


def _pairing(matching: Matching) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return what sets the people of a block beside each other; Spark counts its arguments, so a function."""

    def pair(before: pa.Table, after: pa.Table) -> pa.Table:
        block = before["block"][0].as_py()
        persons = sorted(set(before["person"].to_pylist()))
        texts = sorted({*before["text"].to_pylist(), *after["text"].to_pylist()})
        made = pair_logs(
            _side(before, persons, texts),
            _side(after, persons, texts),
            pa.array(texts, pa.large_string()),
            match=matching.match,
            stop_words=matching.stop_words,
            sensitivity=matching.sensitivity,
        )
        return pa.Table.from_pylist([pair_row(block, made)], arrow_schema(PAIR_SCHEMA))

    return pair


def _side(table: pa.Table, persons: list[str], texts: list[str]) -> LogDocuments:
    person = {name: number for number, name in enumerate(persons)}
    document = {text: number for number, text in enumerate(texts)}

    def numbers(name: str, of: dict[str, int]) -> Any:
        return np.array([of[value] for value in table[name].to_pylist()], np.int32)

    times = table["n"].to_numpy().astype(np.int32)
    return LogDocuments(numbers("person", person), numbers("text", document), tuple(persons), times)
