"""A search log that nobody typed, with all that makes real logs private.

The file is in the AOL format: a row per click, by person and time; a query without a click has one row. The same
seed, number of people and numpy give the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from queryveil.errors import InputError
from queryveil.logs.generate.block import make_block
from queryveil.logs.generate.output import new_file
from queryveil.logs.generate.shape import SHAPES, Shape, shape_named
from queryveil.logs.generate.stock import make_stock
from queryveil.types import Progress, silent

__all__ = ["SHAPES", "GeneratedLog", "Shape", "generate"]

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
_STAGE = "generating the log"


@dataclass(frozen=True)
class GeneratedLog:
    """Where a generated log is, and how large it came out."""

    path: Path
    people: int
    queries: int
    rows: int  # one per click, or per query without a click
    terms: int  # distinct runs of letters and digits
    occurrences: int  # of terms, each once per query


def generate(
    out: Path,
    *,
    like: str = "demo",
    users: int | None = None,
    rng: np.random.Generator,
    overwrite: bool = False,
    progress: Progress = silent,
) -> GeneratedLog:
    """Write a synthetic log of a shape; without `users`, of as many people as the shape has."""
    shape = shape_named(like)
    n_people = shape.users if users is None else users
    if n_people < 1:
        raise InputError(f"users must be a whole number of at least 1, not {n_people}; change it.")
    n_queries = n_rows = n_occurrences = last_identifier = 0
    terms: set[str] = set()
    with new_file(out, overwrite) as stream:
        stream.write(HEADER.encode())
        stock = make_stock(shape, rng)
        for done in range(0, n_people, shape.block):
            progress(_STAGE, done, n_people)
            block = make_block(min(shape.block, n_people - done), last_identifier, shape, stock, rng)
            stream.write("".join(block.rows).encode())
            n_queries += block.n_queries
            n_rows += len(block.rows)
            n_occurrences += block.n_occurrences
            last_identifier = block.last_identifier
            terms |= block.terms
    progress(_STAGE, n_people, n_people)
    return GeneratedLog(out, n_people, n_queries, n_rows, len(terms), n_occurrences)
