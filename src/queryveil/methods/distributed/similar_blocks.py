"""Blocks of alike people on a cluster: cut by k-means, level by level, until a block fits into one task.

Centres are found from a sample of each part, drawn by a hash of the person that is ours; everybody then goes to the
nearest centre of the part. So the blocks do not depend on how Spark cuts, and no machine holds more than a sample, or
a block of people. Inside a block the method for one machine cuts on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.distributed.encoding import (
    PIECE_SCHEMA,
    join_pieces,
    piece_batch,
    piece_row,
    read_piece,
    rows_of,
)
from queryveil.methods.linkability.blocks import (
    MAX_PARTS,
    SAMPLE,
    SMALLEST,
    assign_to_centres,
    find_centres,
    merge_small,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CENTRES_SCHEMA = "block INT, known BINARY, centres BINARY"
_HASHES = float(1 << 64)


def cut(
    work: ScratchTables, pieces: "DataFrame", n_people: int, limit: int, seed: int, progress: Progress
) -> "DataFrame":
    """Return the people in blocks of similar people, of at most about twice the limit; a block has several rows."""
    from pyspark.sql import functions as f

    pieces, sizes = pieces.withColumn("block", f.lit(0)), {0: n_people}
    alike: set[int] = set()  # parts that k-means cannot split
    level = 0
    while large := {block: n for block, n in sizes.items() if n > 2 * limit}:
        progress("cutting into blocks", sum(sizes.values()) - sum(large.values()), sum(sizes.values()))
        parts = _cut_once(pieces, large, alike, limit, seed)
        rest = pieces.where(~f.col("block").isin(list(large)))
        level += 1
        pieces = work.keep(rest.unionByName(parts), f"level-{level}")
        sizes = _sizes(pieces)
        together: dict[Any, Any] = {}
        alike = set()
        for block, n in large.items():
            children = {child: sizes[child] for child in _children(block) if child in sizes}
            together |= merge_small(children, limit // SMALLEST)
            alike |= {together.get(child, child) for child in children} if max(children.values()) == n else set()
        for part, target in together.items():
            sizes[target] += sizes.pop(part)
        if together:
            pieces = pieces.na.replace(together, subset=["block"])
    return pieces


def _sizes(pieces: "DataFrame") -> dict[int, int]:
    return {int(block): int(n) for block, n in pieces.groupBy("block").sum("n").collect()}


def _cut_once(pieces: "DataFrame", large: Mapping[int, int], alike: set[int], limit: int, seed: int) -> "DataFrame":
    """Split parts that are too large by nearest centre, or by hash where k-means cannot split them."""
    n_parts = {block: min(MAX_PARTS, n // limit) for block, n in large.items()}
    shares = {block: n_parts[block] * SAMPLE / n for block, n in large.items() if block not in alike}
    sample = pieces.mapInArrow(_Sample(shares, seed), PIECE_SCHEMA)
    centres = sample.groupBy("block").applyInArrow(_centring(n_parts, seed), _CENTRES_SCHEMA)
    parts = pieces.join(centres, "block").mapInArrow(_to_nearest, PIECE_SCHEMA)
    if not alike:
        return parts
    scattered = _Scatter({block: n for block, n in n_parts.items() if block in alike}, seed)
    return parts.unionByName(pieces.mapInArrow(scattered, PIECE_SCHEMA))


def _children(block: int) -> range:
    return range(MAX_PARTS * block + 1, MAX_PARTS * block + MAX_PARTS + 1)


def _hashes(persons: NDArray[np.object_], seed: int) -> NDArray[np.float64]:
    """Return a hash from 0 to 1 for every person, the same on every machine."""
    salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    digests = (hashlib.blake2b(p.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest() for p in persons)
    return np.array([int.from_bytes(digest, "big") / _HASHES for digest in digests])


@dataclass(frozen=True)
class _Sample:
    shares: Mapping[int, float]  # of the people of each part that is too large
    seed: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            if row["block"] in self.shares:
                piece = read_piece(row)
                drawn = np.flatnonzero(_hashes(piece.person, self.seed) < self.shares[row["block"]])
                yield piece_batch([piece_row(row["block"], piece.where(drawn))])


@dataclass(frozen=True)
class _Scatter:
    n_parts: Mapping[int, int]
    seed: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            if row["block"] in self.n_parts:
                part = (_hashes(read_piece(row).person, self.seed) * self.n_parts[row["block"]]).astype(np.int64)
                yield from _sent(row, part)


def _centring(n_parts: Mapping[int, int], seed: int) -> Callable[[pa.Table], pa.Table]:
    """Return a function that finds the centres of a part from its sample.

    Spark inspects the arity, so this must be a plain function, not a callable object.
    """

    def centre(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        block, sample = rows[0]["block"], join_pieces([read_piece(row) for row in rows])
        everybody, dimensions = sample.rows()
        rng, n = np.random.default_rng([seed, block]), min(n_parts[block], len(sample))
        number, centres = find_centres(everybody, np.arange(len(sample)), n, rng)
        found = np.empty(len(centres), np.int32)
        found[number[number >= 0]] = dimensions[number >= 0]
        order = np.argsort(found)
        return pa.table(
            {
                "block": pa.array([block], pa.int32()),
                "known": pa.array([found[order].tobytes()], pa.binary()),
                "centres": pa.array([np.ascontiguousarray(centres[order]).tobytes()], pa.binary()),
            }
        )

    return centre


def _to_nearest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in rows_of(batches):
        everybody, dimensions = read_piece(row).rows()
        known = np.frombuffer(row["known"], np.int32)  # ascending
        centres = np.frombuffer(row["centres"], np.float32).reshape(len(known), -1)
        place = np.minimum(np.searchsorted(known, dimensions), len(known) - 1)
        number = np.where(known[place] == dimensions, place, -1).astype(np.int32)
        yield from _sent(row, assign_to_centres(everybody, np.arange(row["n"]), number, centres))


def _sent(row: dict[str, Any], part: NDArray[Any]) -> Iterator[pa.RecordBatch]:
    """Yield the people of a row by the part they go to."""
    piece = read_piece(row)
    for number in np.unique(part).tolist():
        yield piece_batch([piece_row(_children(row["block"])[number], piece.where(np.flatnonzero(part == number)))])
