"""Some people as grouping needs them: their terms, what these weigh, and what people are compared by."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import gather_rows, indptr_of
from queryveil.kernels.grouping.greedy import Rows
from queryveil.kernels.grouping.published import at_unit_length
from queryveil.methods.distributed.encoding import arrow_schema

_TYPES = {
    "indptr": np.int64,
    "ids": np.int32,
    "weights": np.float64,
    "holders": np.int32,
    "totals": np.float64,
    "feature_indptr": np.int64,
    "dimensions": np.int32,
    "values": np.float64,
}
PIECE_SCHEMA = ", ".join(["block INT", "n INT", "person ARRAY<STRING>", *(f"{name} BINARY" for name in _TYPES)])


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

    def rows(self) -> tuple[Rows, NDArray[np.int32]]:
        """Return what people are compared by, at unit length, and which dimension each number stands for."""
        dimensions, number = np.unique(self.dimensions, return_inverse=True)
        values = at_unit_length(self.feature_indptr, self.values)
        ids = number.astype(np.int32)
        return Rows(self.indptr, self.ids, self.feature_indptr, ids, values, len(dimensions)), dimensions


def joined(pieces: Sequence[Piece]) -> Piece:
    """Put pieces together, people in the order of their identifiers."""
    columns: dict[str, Any] = {}
    for field in fields(Piece):
        parts = [getattr(piece, field.name) for piece in pieces]
        columns[field.name] = _pointers(parts) if field.name.endswith("indptr") else np.concatenate(parts)
    whole = Piece(**columns)
    return whole.where(np.argsort(whole.person, kind="stable"))


def _pointers(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return indptr_of(np.concatenate([np.diff(part) for part in parts]))


def piece_row(block: int, piece: Piece) -> dict[str, Any]:
    """Return people as a row."""
    arrays = {name: getattr(piece, name).astype(kind).tobytes() for name, kind in _TYPES.items()}
    return {"block": block, "n": len(piece), "person": piece.person.tolist(), **arrays}


def read_piece(row: dict[str, Any]) -> Piece:
    """Return the people of a row."""
    arrays = {name: np.frombuffer(row[name], kind) for name, kind in _TYPES.items()}
    return Piece(np.array(row["person"], object), **arrays)


def piece_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of people as a record batch."""
    return pa.RecordBatch.from_pylist(rows, arrow_schema(PIECE_SCHEMA))
