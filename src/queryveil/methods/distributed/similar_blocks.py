"""Blocks of similar people on a cluster: cut by k-means, level by level, until a block fits into one task.

Centres are computed from a sample of each part, drawn by our own hash of the person; everybody then goes to the nearest
centre of the part. So the blocks do not depend on Spark's partitions, and no machine holds more than a sample, or a
block of people. Inside a block the method for one machine cuts further.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import FloatArray
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.distributed import encoding
from queryveil.methods.linkability import blocks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CENTRES_SCHEMA = "block INT, known BINARY, centres BINARY"
_HASHES = float(1 << 64)


def cut_into_blocks(
    work: ScratchTables, pieces: "DataFrame", n_people: int, limit: int, seed: int, progress: Progress
) -> "DataFrame":
    """Return the people in blocks of similar people, of at most about twice the limit; a block has several rows."""
    from pyspark.sql import functions as f

    pieces, sizes = pieces.withColumn("block", f.lit(0)), {0: n_people}
    inseparable: set[int] = set()  # parts that k-means cannot split
    level = 0
    while large := {block: n for block, n in sizes.items() if n > 2 * limit}:
        progress("cutting into blocks", sum(sizes.values()) - sum(large.values()), sum(sizes.values()))
        first = {block: max(sizes) + 1 + blocks.MAX_PARTS * i for i, block in enumerate(sorted(large))}
        parts = _cut_once(pieces, large, first, inseparable, limit, seed)
        rest = pieces.where(~f.col("block").isin(list(large)))
        level += 1
        pieces = work.keep(rest.unionByName(parts), f"level-{level}")
        sizes = {int(block): int(n) for block, n in pieces.groupBy("block").sum("n").collect()}
        target: dict[Any, Any] = {}
        inseparable = set()
        for child in first.values():
            children = {part: sizes[part] for part in range(child, child + blocks.MAX_PARTS) if part in sizes}
            merged = blocks.merge_small(children, limit // blocks.SMALLEST)
            target |= merged
            left = children.keys() - merged.keys()
            inseparable |= left if len(left) == 1 else set()  # with small parts merged, all are together again
        for part, into in target.items():
            sizes[into] += sizes.pop(part)
        if target:
            pieces = pieces.na.replace(target, subset=["block"])
    return pieces


def _cut_once(
    pieces: "DataFrame",
    large: Mapping[int, int],
    first: Mapping[int, int],
    inseparable: set[int],
    limit: int,
    seed: int,
) -> "DataFrame":
    """Split parts that are too large by nearest centre, or by hash if k-means cannot split them.

    The new parts of a block are numbered from its `first` on.
    """
    n_parts = {block: min(blocks.MAX_PARTS, n // limit) for block, n in large.items()}
    shares = {block: n_parts[block] * blocks.SAMPLE / n for block, n in large.items() if block not in inseparable}

    def draw(row: encoding.Row) -> Iterator[encoding.Row]:
        if row["block"] in shares:
            piece = encoding.read_piece(row)
            drawn = np.flatnonzero(_hashes(piece.person, seed) < shares[row["block"]])
            yield encoding.piece_row(row["block"], piece.select(drawn))

    def scatter(row: encoding.Row) -> Iterator[encoding.Row]:
        if row["block"] in inseparable and row["block"] in n_parts:
            part = (_hashes(encoding.read_piece(row).person, seed) * n_parts[row["block"]]).astype(np.int64)
            yield from _send(row, part, first)

    sample = encoding.map_rows(pieces, encoding.PIECE_SCHEMA, draw)
    centres = encoding.map_groups(sample, "block", _CENTRES_SCHEMA, lambda rows: [_centres_row(rows, n_parts, seed)])
    by_centre = partial(_send_to_nearest, first=first)
    parts = encoding.map_rows(pieces.join(centres, "block"), encoding.PIECE_SCHEMA, by_centre)
    return parts.unionByName(encoding.map_rows(pieces, encoding.PIECE_SCHEMA, scatter)) if inseparable else parts


def _hashes(persons: NDArray[np.object_], seed: int) -> FloatArray:
    """Return a hash from 0 to 1 for every person, the same on every machine."""
    salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    digests = (hashlib.blake2b(p.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest() for p in persons)
    return np.array([int.from_bytes(digest, "big") / _HASHES for digest in digests])


def _centres_row(rows: list[encoding.Row], n_parts: Mapping[int, int], seed: int) -> encoding.Row:
    """Return the centres of a part, computed from its sample, over their dimensions in ascending order."""
    block, sample = rows[0]["block"], encoding.join_pieces(rows)
    features, dimensions = sample.rows()
    rng, n = np.random.default_rng([seed, block]), min(n_parts[block], len(sample))
    number, centres = blocks.find_centres(features, np.arange(len(sample)), n, rng)
    known = np.empty(len(centres), np.int32)
    known[number[number >= 0]] = dimensions[number >= 0]
    order = np.argsort(known)
    return {"block": block, "known": known[order].tobytes(), "centres": centres[order].tobytes()}


def _send_to_nearest(row: encoding.Row, first: Mapping[int, int]) -> Iterator[encoding.Row]:
    """Yield the people of a row by the centre that is nearest to them."""
    features, dimensions = encoding.read_piece(row).rows()
    known = np.frombuffer(row["known"], np.int32)  # ascending
    centres = np.frombuffer(row["centres"], np.float32).reshape(len(known), -1)
    place = np.minimum(np.searchsorted(known, dimensions), len(known) - 1)
    number = np.where(known[place] == dimensions, place, -1).astype(np.int32)
    return _send(row, blocks.assign_to_centres(features, np.arange(row["n"]), number, centres), first)


def _send(row: encoding.Row, part: NDArray[Any], first: Mapping[int, int]) -> Iterator[encoding.Row]:
    """Yield the people of a row by the part they go to."""
    piece = encoding.read_piece(row)
    for number in np.unique(part).tolist():
        yield encoding.piece_row(first[row["block"]] + number, piece.select(np.flatnonzero(part == number)))
