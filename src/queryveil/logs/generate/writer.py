"""Writing a synthetic log in the AOL format, a block of people at a time, and counting what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.display import Brief
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, IntArray, indptr_of, row_numbers
from queryveil.logs.generate.invented import IDENTIFIERS
from queryveil.logs.generate.lexicon import NOTHING, Ids, QueryLexicon
from queryveil.logs.generate.people import draw_times, make_people
from queryveil.logs.generate.queries import QueryGenerator
from queryveil.logs.generate.shape import LogShape, QueryMix, Slot
from queryveil.logs.generate.word_sources import build_lexicon

STAGE = "generating the log"
HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
_MOST_CLICKS = 5  # on one query
_STOPS = 0.55  # probability that a reader who goes down the results clicks the next one
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd and without pattern: multiplying by it scatters neighbours


@dataclass(frozen=True, repr=False)
class GeneratedLog(Brief):
    """Where a generated log is, and how large it is."""

    _shown = ("path", "like", "people", "queries", "market")
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


@dataclass(frozen=True, eq=False)
class TermUsage:
    """The terms of a log with the number of queries and of people that use each."""

    texts: list[str]
    frequency: IntArray  # (terms,): queries
    users: IntArray  # (terms,): people


class TermCounter:
    """Counts queries and people per term; all queries of a person must be in one block."""

    def __init__(self) -> None:
        self.frequency = np.zeros(0, np.int64)  # (terms,): queries
        self.users = np.zeros(0, np.int64)  # (terms,): people
        self.largest = 0  # terms that one person used

    def add(self, owners: IntArray, terms: Ids) -> None:
        """Count a block of queries, each with the person who typed it and its distinct terms."""
        is_term = terms != NOTHING
        flat = terms[is_term].astype(np.int64)
        width = max(int(flat.max(initial=0)) + 1, len(self.users))
        pairs = np.sort(np.repeat(owners, is_term.sum(axis=1)) * width + flat)
        holders, held = np.divmod(pairs[np.diff(pairs, prepend=-1) != 0], width)
        grown = (0, width - len(self.users))
        self.frequency = np.pad(self.frequency, grown) + np.bincount(flat, minlength=width)
        self.users = np.pad(self.users, grown) + np.bincount(held, minlength=width)
        self.largest = max(self.largest, int(np.bincount(holders).max(initial=0)))

    def totals(self) -> tuple[int, int, int, int]:
        """Return the number of terms, of occurrences and of pairs, and the terms of the largest history."""
        n_terms, occurrences, pairs = np.count_nonzero(self.users), self.frequency.sum(), self.users.sum()
        return int(n_terms), int(occurrences), int(pairs), self.largest

    def usage(self, lexicon: QueryLexicon) -> TermUsage:
        """Return the terms that occurred, in the order of their ids."""
        used = np.flatnonzero(self.users)
        return TermUsage(lexicon.texts.take(used).to_pylist(), self.frequency[used], self.users[used])


@dataclass(frozen=True, eq=False)
class ResultRows:
    """One row per click, and one per query without a click, in the order of the queries."""

    queries: IntArray  # (rows,): number of the query
    ranks: IntArray  # (rows,): from 1, ascending within a query
    sites: Ids  # (rows,): what is found at the rank
    is_clicked: BoolArray  # (rows,)

    def __len__(self) -> int:
        return len(self.queries)


def draw_results(terms: Ids, lexicon: QueryLexicon, mix: QueryMix, rng: np.random.Generator) -> ResultRows:
    """Draw the results that are clicked for each query; many queries have none."""
    n_queries = len(terms)
    n_rows = np.ones(n_queries, np.int64)
    if mix.clicked_again:
        n_rows = np.minimum(rng.geometric(1 - mix.clicked_again, size=n_queries), _MOST_CLICKS)
    indptr = indptr_of(n_rows)
    queries = row_numbers(indptr)
    steps = np.cumsum(rng.geometric(_STOPS, size=len(queries)))
    ranks = steps - np.append(0, steps)[indptr[queries]]
    is_clicked = (rng.random(n_queries) < mix.clicked)[queries]
    kept = is_clicked | (np.diff(queries, prepend=-1) > 0)
    queries, ranks = queries[kept], ranks[kept]
    sites = _find_sites(terms if len(queries) == len(terms) else terms[queries], ranks, lexicon, mix)
    return ResultRows(queries, ranks, sites, is_clicked[kept])


def _find_sites(terms: Ids, ranks: IntArray, lexicon: QueryLexicon, mix: QueryMix) -> Ids:
    """Return the site found at each rank for the terms of a query: always the same, whoever searches."""
    sampler = lexicon.samplers[Slot.SITE]
    hashed = ranks.astype(np.uint64)
    for column in terms.T:
        hashed = (hashed ^ column.astype(np.uint64)) * _MIX
    uniform = (hashed >> np.uint64(11)).astype(np.float64) / 2.0**53
    sites = sampler.ids[sampler.positions(uniform)]
    if mix.named_site_first:
        is_site = np.zeros(len(lexicon.texts), np.bool_)
        is_site[sampler.ids] = True
        is_named = is_site[terms] & (terms != NOTHING)
        named = terms[np.arange(len(terms)), np.argmax(is_named, axis=1)]
        sites = np.where((ranks == 1) & is_named.any(axis=1), named, sites)
    return sites


def make_rows(
    identifiers: IntArray, queries: Ids, times: NDArray[np.datetime64], results: ResultRows, lexicon: QueryLexicon
) -> pa.Buffer:
    """Return the rows as text: AnonID, Query, QueryTime, ItemRank, ClickURL; addresses in queries have dots."""
    is_entry = queries != NOTHING
    indptr = indptr_of(is_entry.sum(axis=1)).astype(np.int32)
    entries = lexicon.texts.take(pa.array(queries[is_entry]))
    joined = pc.binary_join(pa.ListArray.from_arrays(indptr, entries), " ")
    for spaced, dotted in ((r"^www (\w+) com$", r"www.\1.com"), (r"^(\w+) com$", r"\1.com")):
        joined = pc.replace_substring_regex(joined, spaced, dotted)
    columns = [pa.array(identifiers).cast(pa.string()), joined, pa.array(times).cast(pa.string())]
    if len(results) > len(queries):
        columns = [column.take(pa.array(results.queries)) for column in columns]
    address = pc.binary_join_element_wise("\thttp://www.", lexicon.texts.take(pa.array(results.sites)), ".com\n", "")
    clicked = pc.binary_join_element_wise(pa.array(results.ranks).cast(pa.string()), address, "")
    rows = pc.binary_join_element_wise(*columns, pc.if_else(pa.array(results.is_clicked), clicked, "\t\n"), "\t")
    ends = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset : rows.offset + len(rows) + 1]
    return rows.buffers()[2].slice(int(ends[0]), int(ends[-1] - ends[0]))  # all texts without copying


def write_log(
    out: Path, stream: IO[bytes], shape: LogShape, n_people: int, rng: np.random.Generator, progress: Progress
) -> tuple[GeneratedLog, TermUsage]:
    """Write a log of n people to a stream; return its size, and the usage of the terms that cleaning leaves."""
    progress(STAGE, 0, n_people)
    lexicon = build_lexicon(shape, rng)
    generator = QueryGenerator(shape, lexicon, rng)
    people = make_people(n_people, shape, lexicon, rng)
    needs_cleaning = shape.activity.bots > 0 or not shape.patterns.slots.isdisjoint(IDENTIFIERS)
    counter = TermCounter()
    cleaned = TermCounter() if needs_cleaning else counter
    n_rows = 0
    stream.write(HEADER)
    for begin in range(0, n_people, shape.block):
        progress(STAGE, begin, n_people)
        block = people.part(begin, begin + shape.block)
        owners, queries = generator.make_queries(block)
        terms = lexicon.terms_of(queries)
        times = draw_times(block, owners, shape, rng)
        results = draw_results(terms, lexicon, shape.queries, rng)
        stream.write(make_rows(block.identifiers[owners], queries, times, results, lexicon))
        n_rows += len(results)
        counter.add(owners, terms)
        if needs_cleaning:  # takes away the queries of bots, and direct identifiers
            is_human = ~block.is_bot[owners]
            kept = queries[is_human]
            kept[np.isin(kept, list(lexicon.identifiers))] = NOTHING
            cleaned.add(owners[is_human], lexicon.terms_of(kept))
    n_queries = int(people.n_queries.sum())
    original = shape.original if n_people == shape.users else {}
    log = GeneratedLog(out, shape.name, n_people, n_queries, n_rows, *counter.totals(), original)
    return log, cleaned.usage(lexicon)
