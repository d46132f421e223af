"""The rows of a synthetic log: when people search, what they click, and the text in the AOL format."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, IntArray, indptr_of, row_numbers
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon
from queryveil.logs.generate.patterns import Slot
from queryveil.logs.generate.people import SyntheticPeople
from queryveil.logs.generate.shape import LogShape, QueryMix
from queryveil.logs.generate.weighted_ids import Ids

HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
_MOST_CLICKS = 5  # on one query
_STOPS = 0.55  # probability that a reader who goes down the results clicks the next one
_HOUR = 60 * 60
_DAY = 24 * _HOUR
_PAUSE_SIGMA = 1.1  # of the logarithm of a pause
_BOT_PAUSE = 20  # seconds, at most
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd and without pattern: multiplying by it scatters neighbours


def draw_times(
    people: SyntheticPeople, owners: IntArray, shape: LogShape, rng: np.random.Generator
) -> NDArray[np.datetime64]:
    """Draw the time of every query, to the second; strictly increasing for each person."""
    first = indptr_of(people.n_queries)[:-1]
    elapsed = np.cumsum(_draw_pauses(people.is_bot[owners], shape, rng))
    elapsed -= elapsed[first][owners]
    length = elapsed[first + people.n_queries - 1]
    all_days, margin = shape.days * _DAY, shape.activity.margin
    start = rng.random(len(people)) * np.maximum(all_days - length, margin)
    # Who searches for longer than the log lasts is sped up; a query's position keeps its second different from others
    room = all_days - 1 - people.n_queries - np.maximum(start, margin)
    pace = np.minimum(1.0, room / np.maximum(length, 1.0))
    moments = start[owners] + elapsed * pace[owners]
    if shape.activity.hours:
        moments = _follow_hours(moments, shape.activity.hours)
    position = np.arange(len(owners)) - first[owners]
    seconds = moments.astype(np.int64) + position
    times: NDArray[np.datetime64] = np.datetime64(shape.first_day, "s") + seconds.astype("timedelta64[s]")
    return times


def _draw_pauses(is_bot: NDArray[np.bool_], shape: LogShape, rng: np.random.Generator) -> FloatArray:
    """Draw the seconds before each query."""
    n, activity = len(is_bot), shape.activity
    short = activity.pause * np.exp(_PAUSE_SIGMA * rng.standard_normal(n))
    is_long = (rng.random(n) < 1 / activity.session_queries) & ~is_bot
    pauses: FloatArray = np.where(is_long, rng.standard_exponential(n) * activity.long_pause, short)
    return np.where(is_bot, np.minimum(pauses, _BOT_PAUSE), pauses)


def _follow_hours(moments: FloatArray, hours: tuple[float, ...]) -> FloatArray:
    """Shift moments within their day, in order, so that each hour is as busy as given.

    The last hour must be no busier than the mean, so that no moment comes closer to midnight.
    """
    days, seconds = np.divmod(moments, _DAY)
    busy_until = np.cumsum((0.0, *hours))
    return days * _DAY + np.interp(seconds, busy_until * (_DAY / busy_until[-1]), np.arange(25) * _HOUR)


@dataclass(frozen=True, eq=False)
class ResultRows:
    """One row per click, and one per query without a click, in the order of the queries."""

    queries: IntArray  # (rows,): number of the query
    ranks: IntArray  # (rows,): from 1, ascending within a query
    sites: Ids  # (rows,): what is found at the rank
    is_clicked: NDArray[np.bool_]  # (rows,)

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
    sites = sampler.pick(np.zeros(len(uniform), np.int64), uniform)
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
    """Return the rows as text: AnonID, Query, QueryTime, ItemRank, ClickURL."""
    columns = [
        pa.array(identifiers).cast(pa.string()),
        _query_texts(queries, lexicon),
        pa.array(times).cast(pa.string()),
    ]
    if len(results) > len(queries):
        columns = [column.take(pa.array(results.queries)) for column in columns]
    address = pc.binary_join_element_wise("\thttp://www.", lexicon.texts.take(pa.array(results.sites)), ".com\n", "")
    clicked = pc.binary_join_element_wise(pa.array(results.ranks).cast(pa.string()), address, "")
    ends = pc.if_else(pa.array(results.is_clicked), clicked, "\t\n")
    return _content(pc.binary_join_element_wise(*columns, ends, "\t"))


def _query_texts(queries: Ids, lexicon: QueryLexicon) -> pa.StringArray:
    """Join the entries of each query; addresses are written with dots."""
    is_entry = queries != NOTHING
    indptr = indptr_of(is_entry.sum(axis=1)).astype(np.int32)
    entries = lexicon.texts.take(pa.array(queries[is_entry]))
    joined = pc.binary_join(pa.ListArray.from_arrays(indptr, entries), " ")
    dotted = pc.replace_substring_regex(joined, r"^www (\w+) com$", r"www.\1.com")
    return pc.replace_substring_regex(dotted, r"^(\w+) com$", r"\1.com")


def _content(texts: pa.StringArray) -> pa.Buffer:
    """Return the characters of all texts, one after the other, without copying."""
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return texts.buffers()[2].slice(int(ends[0]), int(ends[-1] - ends[0]))
