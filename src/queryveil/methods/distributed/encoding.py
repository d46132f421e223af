"""Blocks, keys and pieces of people as rows of Arrow tables: one row each, arrays as bytes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import gather_rows, indptr_of
from queryveil.kernels.grouping.greedy import FeatureRows
from queryveil.kernels.grouping.kmeans import at_unit_length
from queryveil.methods.rounds.blocks import Block, Keys

_BLOCK_TYPES = {
    "indptr": np.int64,
    "ids": np.int32,
    "counts": np.int32,
    "occurrences": np.int64,
    "owner": np.int32,
    "position": np.int32,
    "kept": np.bool_,
    "candidates": np.bool_,
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


def block_row(number: int, block: Block, n: int = 0) -> dict[str, Any]:
    """Return a block as a row; `n` is the count of its last action."""
    arrays = {field.name: getattr(block, field.name).tobytes() for field in fields(block)}
    return {"block": number, **arrays, "n": n}


def read_block(row: dict[str, Any]) -> Block:
    """Return the block of a row."""
    return Block(**{name: np.frombuffer(row[name], kind) for name, kind in _BLOCK_TYPES.items()})


def keys_row(bucket: int, block: int, keys: Keys) -> dict[str, Any]:
    """Return keys as a row; small combinations have nothing in `low`."""
    low = keys.low.tobytes() if keys.low.any() else b""
    return {
        "bucket": bucket,
        "block": block,
        "high": keys.high.tobytes(),
        "low": low,
        "people": keys.people.astype(np.int32).tobytes(),
    }


def read_keys(row: dict[str, Any]) -> Keys:
    """Return the keys of a row."""
    high = np.frombuffer(row["high"], np.int64)
    low = np.frombuffer(row["low"], np.int64) if row["low"] else np.zeros(len(high), np.int64)
    return Keys(high, low, np.frombuffer(row["people"], np.int32).astype(np.int64))


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterable[dict[str, Any]]:
    """Yield the rows of record batches one by one."""
    for batch in batches:
        for number in range(len(batch)):
            yield batch.slice(number, 1).to_pylist()[0]


def batch_of(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as a record batch."""
    return pa.RecordBatch.from_pylist(rows, schema)


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
    """People who hold a term that may be published, over the numbers that terms and dimensions have everywhere."""

    person: NDArray[Any]  # (people,): identifiers
    indptr: NDArray[np.int64]  # (people + 1,)
    ids: NDArray[np.int32]  # (pairs,): numbers of terms, ascending within a person
    weights: NDArray[np.float64]  # (pairs,)
    holders: NDArray[np.int32]  # (pairs,): how many of all people hold the pair's term
    totals: NDArray[np.float64]  # (pairs,): what it weighs in all profiles together
    feature_indptr: NDArray[np.int64]  # (people + 1,)
    dimensions: NDArray[np.int32]  # (feature pairs,): nodes of the network, and behind these numbers of terms
    values: NDArray[np.float64]  # (feature pairs,)

    def __len__(self) -> int:
        return len(self.person)

    def where(self, rows: NDArray[np.int64]) -> "Piece":
        """Return some of the people, in the order given."""
        indptr, place = gather_rows(self.indptr, rows)
        feature_indptr, feature_place = gather_rows(self.feature_indptr, rows)
        return Piece(
            self.person[rows],
            indptr,
            self.ids[place],
            self.weights[place],
            self.holders[place],
            self.totals[place],
            feature_indptr,
            self.dimensions[feature_place],
            self.values[feature_place],
        )

    def rows(self) -> tuple[FeatureRows, NDArray[np.int32]]:
        """Return what people are compared by, at unit length, and which dimension each number stands for."""
        dimensions, number = np.unique(self.dimensions, return_inverse=True)
        values = at_unit_length(self.feature_indptr, self.values)
        ids = number.astype(np.int32)
        return FeatureRows(self.indptr, self.ids, self.feature_indptr, ids, values, len(dimensions)), dimensions


def join_pieces(pieces: Sequence[Piece]) -> Piece:
    """Put pieces together, people in the order of their identifiers."""
    columns: dict[str, Any] = {}
    for field in fields(Piece):
        parts = [getattr(piece, field.name) for piece in pieces]
        columns[field.name] = _pointers(parts) if field.name.endswith("indptr") else np.concatenate(parts)
    everybody = Piece(**columns)
    return everybody.where(np.argsort(everybody.person, kind="stable"))


def _pointers(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return indptr_of(np.concatenate([np.diff(part) for part in parts]))


def piece_row(block: int, piece: Piece) -> dict[str, Any]:
    """Return people as a row."""
    arrays = {name: getattr(piece, name).astype(kind).tobytes() for name, kind in _PIECE_TYPES.items()}
    return {"block": block, "n": len(piece), "person": piece.person.tolist(), **arrays}


def read_piece(row: dict[str, Any]) -> Piece:
    """Return the people of a row."""
    arrays = {name: np.frombuffer(row[name], kind) for name, kind in _PIECE_TYPES.items()}
    return Piece(np.array(row["person"], object), **arrays)


def piece_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of people as a record batch."""
    return pa.RecordBatch.from_pylist(rows, arrow_schema(PIECE_SCHEMA))
