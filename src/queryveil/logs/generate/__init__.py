"""A search log that nobody typed, with all that makes real logs private.

The file is in the AOL format: a row per click, by person and time; a query without a click has one row. The same
seed, number of people and numpy give the same bytes. A log like `demo` is worded query by query; the large ones follow
the measures of a known log.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import nearest
from queryveil.core.progress import Progress, silent
from queryveil.logs.generate.demo import write_worded
from queryveil.logs.generate.large import write_large
from queryveil.logs.generate.large.shape import ALTAVISTA, AOL, LargeShape
from queryveil.logs.generate.market import market_table
from queryveil.logs.generate.output import new_file
from queryveil.logs.generate.shape import DEMO, Shape
from queryveil.logs.generate.tally import Tally

__all__ = ["SHAPES", "GeneratedLog", "LargeShape", "Shape", "generate"]

SHAPES: Mapping[str, Shape | LargeShape] = MappingProxyType({shape.name: shape for shape in (DEMO, ALTAVISTA, AOL)})
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
_STAGE = "generating the log"


@dataclass(frozen=True)
class GeneratedLog:
    """Where a generated log is, and how large it came out."""

    path: Path
    like: str
    people: int
    queries: int
    rows: int  # one per click, or per query without a click
    terms: int  # distinct runs of letters and digits
    occurrences: int  # of terms, each once per query
    pairs: int  # of a person and a term
    largest: int  # terms that one person used
    original: Mapping[str, int] = field(default_factory=dict)  # the same of the imitated log, at its full size
    market: Path | None = None  # the market table, where one was asked for
    priced: int = 0  # terms in it


def generate(
    out: Path,
    *,
    like: str = "demo",
    users: int | None = None,
    rng: np.random.Generator,
    market_out: Path | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> GeneratedLog:
    """Write a synthetic log of a shape; without `users`, of as many people as the shape has."""
    shape = _shape_named(like)
    n_people = shape.users if users is None else users
    if n_people < 1:
        raise InputError(f"users must be a whole number of at least 1, not {n_people}; change it.")
    if market_out is not None and market_out.resolve() == out.resolve():
        raise InputError(f"the log and its market table cannot both be {out}; give two names.")
    with nullcontext() if market_out is None else new_file(market_out, overwrite) as market:
        with new_file(out, overwrite) as stream:
            tally = _write(stream, shape, n_people, rng, progress)
            table = b"" if market is None else market_table(tally.used, rng, progress)
        if market is not None:
            market.write(table)
    progress(_STAGE, n_people, n_people)
    return _report(out, tally, shape, market_out, max(table.count(b"\n") - 1, 0))


def _write(
    stream: IO[bytes], shape: Shape | LargeShape, n_people: int, rng: np.random.Generator, progress: Progress
) -> Tally:
    """Write the log itself."""
    stream.write(HEADER.encode())
    if isinstance(shape, LargeShape):
        return write_large(stream, shape, n_people, rng, _STAGE, progress)
    return write_worded(stream, shape, n_people, rng, _STAGE, progress)


def _report(out: Path, tally: Tally, shape: Shape | LargeShape, market_out: Path | None, priced: int) -> GeneratedLog:
    is_full = isinstance(shape, LargeShape) and tally.people == shape.users
    return GeneratedLog(
        path=out,
        like=shape.name,
        people=tally.people,
        queries=tally.queries,
        rows=tally.rows,
        terms=tally.terms,
        occurrences=tally.occurrences,
        pairs=tally.pairs,
        largest=tally.largest,
        original=shape.original if isinstance(shape, LargeShape) and is_full else {},
        market=market_out,
        priced=priced,
    )


def _shape_named(name: str) -> Shape | LargeShape:
    """Return the shape of a log that can be imitated, or say which there are."""
    if name not in SHAPES:
        raise UnknownNameError(f"there is no log like {name!r}; {nearest(name, SHAPES)}")
    return SHAPES[name]
