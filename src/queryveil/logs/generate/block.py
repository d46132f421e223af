"""Some people's part of the log, from who they are to the rows of the file."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.clicks import Engine, make_clicks
from queryveil.logs.generate.people import make_people
from queryveil.logs.generate.searching import make_queries
from queryveil.logs.generate.shape import Shape
from queryveil.logs.generate.stock import Stock
from queryveil.logs.generate.timetable import make_timetable


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of some people, and what there is in them."""

    rows: list[str]  # AnonID, Query, QueryTime, ItemRank, ClickURL
    owners: list[int]  # (queries,): the person, counted through the block
    queries: list[str]
    is_bot: list[bool]  # (people,)
    last_identifier: int


def make_block(n_people: int, after: int, shape: Shape, stock: Stock, rng: np.random.Generator) -> Block:
    """Make the log of n people whose identifiers are larger than `after`."""
    people = make_people(n_people, after, shape, stock, rng)
    times = make_timetable(people, shape, rng)
    queries = make_queries(people, times, shape, stock, rng)
    stamps = _stamps(times.seconds, shape.first_day)
    identifiers = people.identifiers[times.owners].tolist()
    heads = [f"{who}\t{query}\t{when}" for who, query, when in zip(identifiers, queries, stamps, strict=True)]
    return Block(
        rows=list(_rows(heads, queries, Engine(stock), shape, rng)),
        owners=times.owners.tolist(),
        queries=queries,
        is_bot=people.is_bot.tolist(),
        last_identifier=int(people.identifiers[-1]),
    )


def _rows(
    heads: list[str], queries: list[str], engine: Engine, shape: Shape, rng: np.random.Generator
) -> Iterator[str]:
    """Yield a row for each click, and one for each query that has none."""
    ranks = make_clicks(len(queries), shape.habits, rng)
    for head, query, clicked in zip(heads, queries, ranks, strict=True):
        if not clicked:
            yield f"{head}\t\t\n"
        for rank in clicked:
            yield f"{head}\t{rank}\t{engine.address(query, rank)}\n"


def _stamps(seconds: NDArray[np.int64], first_day: str) -> list[str]:
    """Write times like 2006-03-01 07:17:12."""
    moments = np.datetime64(first_day, "s") + seconds.astype("timedelta64[s]")
    return [stamp.replace("T", " ") for stamp in np.datetime_as_string(moments).tolist()]
