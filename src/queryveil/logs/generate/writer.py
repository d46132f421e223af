"""Writing a synthetic log, a block of people at a time, and counting what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from queryveil.core.progress import Progress
from queryveil.core.rows import IntArray
from queryveil.logs.generate.composition import make_shared_queries
from queryveil.logs.generate.counts import TermCounter, TermUsage
from queryveil.logs.generate.invented import IDENTIFIERS
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon, build_lexicon
from queryveil.logs.generate.people import SyntheticPeople, make_people
from queryveil.logs.generate.rows import HEADER, draw_results, draw_times, make_rows
from queryveil.logs.generate.searches import SearchWorld, make_queries
from queryveil.logs.generate.shape import LogShape
from queryveil.logs.generate.weighted_ids import Ids

STAGE = "generating the log"


@dataclass(frozen=True)
class GeneratedLog:
    """Where a generated log is, and how large it is."""

    path: Path
    like: str
    people: int
    queries: int
    rows: int  # one per click, or per query without a click
    terms: int  # distinct runs of letters and digits
    occurrences: int  # of terms, each once per query
    pairs: int  # of a person and a term
    largest: int  # terms that one person used
    original: Mapping[str, int] = field(default_factory=dict)  # figures of the imitated log, at its full size
    market: Path | None = None  # the market table, where one was requested
    priced: int = 0  # terms in it


def write_log(
    out: Path, stream: IO[bytes], shape: LogShape, n_people: int, rng: np.random.Generator, progress: Progress
) -> tuple[GeneratedLog, TermUsage]:
    """Write a log of n people to a stream; return its size, and the usage of the terms that cleaning leaves."""
    progress(STAGE, 0, n_people)
    lexicon = build_lexicon(shape, rng)
    world = SearchWorld(shape, lexicon, make_shared_queries(shape, lexicon, rng))
    people = make_people(n_people, shape, lexicon, rng)
    needs_cleaning = shape.activity.bots > 0 or not shape.queries.patterns.slots.isdisjoint(IDENTIFIERS)
    counter = TermCounter()
    cleaned = TermCounter() if needs_cleaning else counter
    n_rows = 0
    stream.write(HEADER)
    for begin in range(0, n_people, shape.block):
        progress(STAGE, begin, n_people)
        block = people.part(begin, begin + shape.block)
        owners, queries = make_queries(block, world, rng)
        terms = lexicon.terms_of(queries)
        times = draw_times(block, owners, shape, rng)
        results = draw_results(terms, lexicon, shape.queries, rng)
        stream.write(make_rows(block.identifiers[owners], queries, times, results, lexicon))
        n_rows += len(results)
        counter.add(owners, terms)
        if needs_cleaning:
            cleaned.add(*_after_cleaning(block, owners, queries, lexicon))
    log = GeneratedLog(
        path=out,
        like=shape.name,
        people=n_people,
        queries=int(people.n_queries.sum()),
        rows=n_rows,
        terms=int(np.count_nonzero(counter.users)),
        occurrences=int(counter.frequency.sum()),
        pairs=int(counter.users.sum()),
        largest=counter.largest,
        original=shape.original if n_people == shape.users else {},
    )
    return log, cleaned.usage(lexicon)


def _after_cleaning(
    people: SyntheticPeople, owners: IntArray, queries: Ids, lexicon: QueryLexicon
) -> tuple[IntArray, Ids]:
    """Return the person and the terms of each query, without the queries of bots and without direct identifiers."""
    is_human = ~people.is_bot[owners]
    kept = queries[is_human]
    kept[np.isin(kept, list(lexicon.identifiers))] = NOTHING
    return owners[is_human], lexicon.terms_of(kept)
