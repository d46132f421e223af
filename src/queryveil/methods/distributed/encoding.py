"""Blocks, keys and pieces of people as rows of Arrow tables (one row each, arrays as bytes), and functions on rows.

Spark inspects the arity of functions on groups and would count `self`, so the helpers below pass plain functions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, Int32Array, IntArray, gather_rows, indptr_of
from queryveil.kernels.grouping.greedy import FeatureRows
from queryveil.kernels.grouping.kmeans import at_unit_length
from queryveil.methods.rounds.blocks import Block, Keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = dict[str, Any]
_BLOCK_TYPES = {
    "indptr": np.int64,
    "ids": np.int32,
    "counts": np.int32,
    "occurrences": np.int64,
    "owner": np.int32,
    "position": np.int32,
    "kept": np.bool_,
    "candidates": np.bool_,
    "changed": np.bool_,
}
BLOCK_SCHEMA = ", ".join(["block INT", *(f"{name} BINARY" for name in _BLOCK_TYPES), "n LONG"])
KEYS_SCHEMA = "bucket INT, block INT, high BINARY, low BINARY, people BINARY"
_PIECE_TYPES = {
    "indptr": np.int64,
    "ids": np.int32,
    "weights": np.float64,
    "holders": np.int32,
    "totals": np.float64,
    "feature_indptr": np.int64,
    "dimensions": np.int32,
    "values": np.float64,
}
PIECE_SCHEMA = ", ".join(["block INT", "n INT", "person ARRAY<STRING>", *(f"{name} BINARY" for name in _PIECE_TYPES)])


def block_row(number: int, block: Block, n: int = 0) -> Row:
    """Return a block as a row; `n` is the count of its last action."""
    arrays = {field.name: getattr(block, field.name).tobytes() for field in fields(block)}
    return {"block": number, **arrays, "n": n}


def read_block(row: Row) -> Block:
    """Return the block of a row."""
    return Block(**{name: np.frombuffer(row[name], kind) for name, kind in _BLOCK_TYPES.items()})


def keys_row(bucket: int, block: int, keys: Keys) -> Row:
    """Return keys as a row; small combinations have nothing in `low`."""
    low = keys.low.tobytes() if keys.low.any() else b""
    return {
        "bucket": bucket,
        "block": block,
        "high": keys.high.tobytes(),
        "low": low,
        "people": keys.people.astype(np.int32).tobytes(),
    }


def read_keys(row: Row) -> Keys:
    """Return the keys of a row."""
    high = np.frombuffer(row["high"], np.int64)
    low = np.frombuffer(row["low"], np.int64) if row["low"] else np.zeros(len(high), np.int64)
    return Keys(high, low, np.frombuffer(row["people"], np.int32).astype(np.int64))


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield the rows of record batches one by one."""
    for batch in batches:
        for number in range(len(batch)):
            yield batch.slice(number, 1).to_pylist()[0]


def map_rows(frame: "DataFrame", schema: str, function: Callable[[Row], Iterable[Row]]) -> "DataFrame":
    """Return the rows that a function yields for every row, as one record batch: a block sends many small messages."""

    def apply(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            yield pa.RecordBatch.from_pylist(list(function(row)), arrow_schema(schema))

    return frame.mapInArrow(apply, schema)


def explode_rows(frame: "DataFrame", schema: str, function: Callable[[Row], dict[str, Any]]) -> "DataFrame":
    """Return many rows for every row, which a function returns as a table of columns."""

    def apply(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            yield pa.RecordBatch.from_pydict(function(row))

    return frame.mapInArrow(apply, schema)


def map_groups(
    frame: "DataFrame", key: str, schema: str, function: Callable[[list[Row]], Iterable[Row]]
) -> "DataFrame":
    """Return the rows that a function makes of the rows of every group."""

    def apply(table: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(list(function(table.to_pylist())), arrow_schema(schema))

    return frame.groupBy(key).applyInArrow(apply, schema)


def map_blocks(
    blocks: "DataFrame", other: "DataFrame", schema: str, function: Callable[[Row, pa.Table], Iterable[Row]]
) -> "DataFrame":
    """Return the rows that a function makes of every block and the rows of another frame with its number."""

    def apply(block: pa.Table, others: pa.Table) -> pa.Table:
        rows = [] if not len(block) else list(function(block.to_pylist()[0], others))
        return pa.Table.from_pylist(rows, arrow_schema(schema))

    return blocks.groupBy("block").cogroup(other.groupBy("block")).applyInArrow(apply, schema)


def arrow_schema(text: str) -> pa.Schema:
    """Return the Arrow schema of a Spark schema that is written as text."""
    kinds = {
        "INT": pa.int32(),
        "LONG": pa.int64(),
        "BINARY": pa.binary(),
        "STRING": pa.string(),
        "ARRAY<STRING>": pa.list_(pa.string()),
        "ARRAY<INT>": pa.list_(pa.int32()),
        "ARRAY<DOUBLE>": pa.list_(pa.float64()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in (column.split() for column in text.split(", "))])


@dataclass(frozen=True, eq=False)
class Piece:
    """People who hold a publishable term, over the global numbers of terms and dimensions."""

    person: NDArray[Any]  # (people,): identifiers
    indptr: IntArray  # (people + 1,)
    ids: Int32Array  # (pairs,): numbers of terms, ascending within a person
    weights: FloatArray  # (pairs,)
    holders: Int32Array  # (pairs,): how many of all people hold the pair's term
    totals: FloatArray  # (pairs,): the sum of its weights over all profiles
    feature_indptr: IntArray  # (people + 1,)
    dimensions: Int32Array  # (feature pairs,): nodes of the network, then numbers of terms
    values: FloatArray  # (feature pairs,)

    def __len__(self) -> int:
        return len(self.person)

    def select(self, people: IntArray) -> "Piece":
        """Return some of the people, in the order given."""
        indptr, position = gather_rows(self.indptr, people)
        feature_indptr, feature_position = gather_rows(self.feature_indptr, people)
        columns: Row = {"person": self.person[people], "indptr": indptr, "feature_indptr": feature_indptr}
        columns |= {name: getattr(self, name)[position] for name in ("ids", "weights", "holders", "totals")}
        columns |= {name: getattr(self, name)[feature_position] for name in ("dimensions", "values")}
        return Piece(**columns)

    def rows(self) -> tuple[FeatureRows, Int32Array]:
        """Return the features of people at unit length, and the global dimension of each local one."""
        dimensions, number = np.unique(self.dimensions, return_inverse=True)
        values = at_unit_length(self.feature_indptr, self.values)
        ids = number.astype(np.int32)
        return FeatureRows(self.indptr, self.ids, self.feature_indptr, ids, values, len(dimensions)), dimensions


def join_pieces(rows: Sequence[Row]) -> Piece:
    """Return the people of several rows, sorted by identifier."""
    columns: Row = {}
    pieces = [read_piece(row) for row in rows]
    for field in fields(Piece):
        parts = [getattr(piece, field.name) for piece in pieces]
        is_indptr = field.name.endswith("indptr")
        joined = np.concatenate([np.diff(part) for part in parts] if is_indptr else parts)
        columns[field.name] = indptr_of(joined) if is_indptr else joined
    everybody = Piece(**columns)
    return everybody.select(np.argsort(everybody.person, kind="stable"))


def piece_row(block: int, piece: Piece) -> Row:
    """Return people as a row."""
    arrays = {name: getattr(piece, name).astype(kind).tobytes() for name, kind in _PIECE_TYPES.items()}
    return {"block": block, "n": len(piece), "person": piece.person.tolist(), **arrays}


def read_piece(row: Row) -> Piece:
    """Return the people of a row."""
    arrays = {name: np.frombuffer(row[name], kind) for name, kind in _PIECE_TYPES.items()}
    return Piece(np.array(row["person"], object), **arrays)
