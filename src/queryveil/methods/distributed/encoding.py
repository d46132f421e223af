"""Blocks and keys as the rows of Arrow tables: one row each, arrays as bytes."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

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
