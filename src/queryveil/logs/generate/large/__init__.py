"""Logs of real size: the measures of a known log, made a block of people at a time on arrays of term numbers."""

from typing import IO

import numpy as np

from queryveil.core.progress import Progress
from queryveil.logs.generate.large.catalogue import make_catalogue
from queryveil.logs.generate.large.counting import Counter
from queryveil.logs.generate.large.people import make_people
from queryveil.logs.generate.large.searching import World, make_queries
from queryveil.logs.generate.large.shape import LargeShape
from queryveil.logs.generate.large.text import make_clicks, make_rows
from queryveil.logs.generate.large.times import make_times
from queryveil.logs.generate.large.words import make_words
from queryveil.logs.generate.tally import Tally

__all__ = ["LargeShape", "write_large"]


def write_large(
    stream: IO[bytes], shape: LargeShape, n_people: int, rng: np.random.Generator, stage: str, progress: Progress
) -> Tally:
    """Write the rows of n people like those of a shape, and count them."""
    progress(stage, 0, n_people)
    words = make_words(shape, rng)
    world = World(shape, words, make_catalogue(shape, words, rng))
    people = make_people(n_people, shape, rng)
    counter = Counter(words.most)
    for begin in range(0, n_people, shape.block):
        progress(stage, begin, n_people)
        block = people.part(begin, begin + shape.block)
        owners, queries = make_queries(block, world, rng)
        words.settle(queries, rng)
        seconds = make_times(block, owners, shape, rng)
        moments = np.datetime64(shape.first_day, "s") + seconds.astype("timedelta64[s]")
        clicks = make_clicks(queries, shape.manners.click, words, rng)
        stream.write(make_rows(block.identifiers[owners], queries, moments, clicks, words))
        counter.add(owners, queries)
    return counter.tally(words)
