"""Queries and replies over Spark: a bucket is a group of one shuffle, a block a group of the next."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.distributed.encoding import (
    BLOCK_SCHEMA,
    KEYS_SCHEMA,
    arrow_schema,
    batch_of,
    block_row,
    keys_row,
    read_block,
    read_keys,
    rows_of,
)
from queryveil.methods.rounds.blocks import Keys, answer_queries, merge_keys, no_keys, partition_by_bucket
from queryveil.methods.rounds.protocol import BlockAction, CombinationQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_INFREQUENT_SCHEMA = "high BINARY, low BINARY, last ARRAY<INT>, n LONG"


@dataclass
class SparkExchange:
    """The blocks as a data frame, which is written again after every round."""

    work: ScratchTables
    state: "DataFrame"
    n_blocks: int
    n_rounds: int = field(default=0)

    @property
    def n_buckets(self) -> int:
        """Return the number of buckets of combinations; the result does not depend on it."""
        return self.n_blocks

    def run_round(self, query: CombinationQuery | None, action: BlockAction) -> int:
        """Let every block send its query, if any, and act on the replies; return the sum of the actions' counts."""
        if query is None:
            state = self.state.mapInArrow(_ActWithoutQuery(action), BLOCK_SCHEMA)
        else:
            replies = self._sent_keys(query).groupBy("bucket").applyInArrow(_bucket_replies(query), KEYS_SCHEMA)
            blocks = self.state.groupBy("block").cogroup(replies.groupBy("block"))
            state = blocks.applyInArrow(_block_action(action), BLOCK_SCHEMA)
        before, self.n_rounds = self.n_rounds, self.n_rounds + 1
        self.state, n = self.work.keep_counting(state, f"turn-{self.n_rounds}", "n")
        self.work.drop(f"turn-{before}")
        return n

    def infrequent(self, query: CombinationQuery, limit: int) -> Keys | None:
        """Return all combinations with a sum below the query's limit; None if there are more than `limit`."""
        found, n = self._infrequent(query)
        if n > limit:
            return None
        rows = found.select("high", "low").collect()
        return merge_keys(
            [read_keys({"high": row[0], "low": row[1], "people": b"\0" * (len(row[0]) // 2)}) for row in rows]
        )

    def rarest_of_infrequent(self, query: CombinationQuery) -> tuple[int, ...]:
        """Return the rarest term of every combination with a sum below the query's limit."""
        from pyspark.sql import functions as f

        found, _ = self._infrequent(query)
        rows = found.select(f.explode("last").alias("term")).distinct().collect()
        return tuple(sorted(row[0] for row in rows))

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        """Return how often each term is kept."""
        counted = self.state.mapInArrow(_Occurrences(terms), "term INT, n LONG").groupBy("term").sum("n")
        return {row[0]: row[1] for row in counted.collect()}

    def _sent_keys(self, query: CombinationQuery) -> "DataFrame":
        return self.state.mapInArrow(_SendKeys(query, self.n_buckets), KEYS_SCHEMA)

    def _infrequent(self, query: CombinationQuery) -> tuple["DataFrame", int]:
        found = self._sent_keys(query).groupBy("bucket").applyInArrow(_bucket_infrequent(query), _INFREQUENT_SCHEMA)
        return self.work.keep_counting(found, "infrequent", "n")


@dataclass(frozen=True)
class _SendKeys:
    query: CombinationQuery
    n_buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(KEYS_SCHEMA)
        for row in rows_of(batches):
            for bucket, keys in partition_by_bucket(self.query.keys_of(read_block(row)), self.n_buckets):
                yield batch_of([keys_row(bucket, row["block"], keys)], schema)


# Spark inspects the arity and would count `self`, so these return plain functions, not callable objects.


def _bucket_replies(query: CombinationQuery) -> Callable[[pa.Table], pa.Table]:
    """Return the function by which a bucket adds up counts and replies to each block."""

    def reply(table: pa.Table) -> pa.Table:
        rows = sorted(table.to_pylist(), key=lambda row: int(row["block"]))
        replies = answer_queries([read_keys(row) for row in rows], below=query.below, at_least=query.at_least)
        messages = [keys_row(row["bucket"], row["block"], keys) for row, keys in zip(rows, replies, strict=True)]
        return pa.Table.from_pylist(messages, arrow_schema(KEYS_SCHEMA))

    return reply


def _bucket_infrequent(query: CombinationQuery) -> Callable[[pa.Table], pa.Table]:
    """Return the function by which a bucket finds its infrequent combinations."""

    def find(table: pa.Table) -> pa.Table:
        found = merge_keys(answer_queries([read_keys(row) for row in table.to_pylist()], below=query.below))
        keys = found.select(found.is_first())
        last = np.where(keys.low == 0, keys.high, keys.low) & 0xFFFFFFFF
        row: dict[str, Any] = {"high": keys.high.tobytes(), "low": keys.low.tobytes(), "n": len(keys)}
        row["last"] = np.unique(last).tolist()
        return pa.Table.from_pylist([row], arrow_schema(_INFREQUENT_SCHEMA))

    return find


def _block_action(action: BlockAction) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return the function by which a block acts on its replies."""

    def act(blocks: pa.Table, replies: pa.Table) -> pa.Table:
        (row,) = blocks.to_pylist()
        block, n = action(read_block(row), merge_keys([read_keys(each) for each in replies.to_pylist()]))
        return pa.Table.from_pylist([block_row(row["block"], block, n)], arrow_schema(BLOCK_SCHEMA))

    return act


@dataclass(frozen=True)
class _ActWithoutQuery:
    action: BlockAction

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(BLOCK_SCHEMA)
        for row in rows_of(batches):
            block, n = self.action(read_block(row), no_keys())
            yield batch_of([block_row(row["block"], block, n)], schema)


@dataclass(frozen=True)
class _Occurrences:
    terms: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        terms = np.array(self.terms, np.int32)
        for row in rows_of(batches):
            block = read_block(row)
            chosen = block.kept & np.isin(block.ids, terms)
            place = np.searchsorted(terms, block.ids[chosen])
            counts = np.bincount(place, weights=block.counts[chosen], minlength=len(terms)).astype(np.int64)
            yield pa.RecordBatch.from_pydict({"term": terms, "n": counts})
