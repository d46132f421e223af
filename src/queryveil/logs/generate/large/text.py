"""The rows of a large log as bytes, assembled by Arrow a block at a time."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.logs.generate.large.compose import NOTHING
from queryveil.logs.generate.large.rack import Numbers, Rack
from queryveil.logs.generate.large.words import Words

_STOPS = 0.55  # chance that a reader going down the results clicks the next one
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd and without pattern: multiplying by it scatters neighbours


def make_rows(
    identifiers: NDArray[np.int64], queries: Numbers, moments: NDArray[np.datetime64], clicks: pa.Array, words: Words
) -> pa.Buffer:
    """Return rows of the AOL format: AnonID, Query, QueryTime, ItemRank, ClickURL."""
    when = pa.array(moments).cast(pa.string())
    rows = pc.binary_join_element_wise(
        pa.array(identifiers).cast(pa.string()), _texts(queries, words), when, clicks, "\t"
    )
    return _content(rows)


def _texts(queries: Numbers, words: Words) -> pa.StringArray:
    """Join the terms of each query; addresses are written with dots."""
    is_term = queries != NOTHING
    ends = np.cumsum(is_term.sum(axis=1), dtype=np.int32)
    terms = words.texts.take(pa.array(queries[is_term]))
    joined = pc.binary_join(pa.ListArray.from_arrays(np.concatenate((np.zeros(1, np.int32), ends)), terms), " ")
    dotted = pc.replace_substring_regex(joined, r"^www (\w+) com$", r"www.\1.com")
    return pc.replace_substring_regex(dotted, r"^(\w+) com$", r"\1.com")


def make_clicks(queries: Numbers, share: float, words: Words, rng: np.random.Generator) -> pa.StringArray:
    """Return what ends the row of each query: rank and address of a click, or nothing; and the end of the line."""
    ranks = rng.geometric(_STOPS, size=len(queries))
    is_clicked = rng.random(len(queries)) < share
    sites = words.texts.take(pa.array(_sites(queries, ranks, words.racks["S"])))
    address = pc.binary_join_element_wise("\thttp://www.", sites, ".com\n", "")
    clicked = pc.binary_join_element_wise(pa.array(ranks).cast(pa.string()), address, "")
    return pc.if_else(pa.array(is_clicked), clicked, "\t\n")


def _sites(queries: Numbers, ranks: NDArray[np.int64], sites: Rack) -> Numbers:
    """Find the site that stands at a rank: the same for the same query, whoever asks."""
    mixed = ranks.astype(np.uint64)
    for column in queries.T:
        mixed = (mixed ^ column.astype(np.uint64)) * _MIX
    luck = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
    return sites.pick(np.zeros(len(ranks), np.int64), luck)


def _content(texts: pa.StringArray) -> pa.Buffer:
    """Return the characters of all texts, one after the other, without copying."""
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return texts.buffers()[2].slice(int(ends[0]), int(ends[-1] - ends[0]))
