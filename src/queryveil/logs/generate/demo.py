"""Writing a log whose queries are worded one by one, and counting what comes out."""

from typing import IO

import numpy as np

from queryveil.core.progress import Progress
from queryveil.logs.generate.block import make_block
from queryveil.logs.generate.shape import Shape
from queryveil.logs.generate.stock import make_stock
from queryveil.logs.generate.tally import Tally
from queryveil.logs.generate.usage import Usage


def write_worded(
    stream: IO[bytes], shape: Shape, n_people: int, rng: np.random.Generator, stage: str, progress: Progress
) -> Tally:
    """Write the rows of n people like those of a shape, and count them."""
    stock = make_stock(shape, rng)
    n_queries = n_rows = last_identifier = 0
    usage = Usage()
    for done in range(0, n_people, shape.block):
        progress(stage, done, n_people)
        block = make_block(min(shape.block, n_people - done), last_identifier, shape, stock, rng)
        stream.write("".join(block.rows).encode())
        n_queries += len(block.queries)
        n_rows += len(block.rows)
        last_identifier = block.last_identifier
        usage.add(block.owners, block.queries, block.is_bot)
    return Tally(
        people=n_people,
        queries=n_queries,
        rows=n_rows,
        terms=len(usage.terms),
        occurrences=usage.occurrences,
        pairs=usage.pairs,
        largest=usage.largest,
        used=usage.after_cleaning(),
    )
