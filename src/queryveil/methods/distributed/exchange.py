"""Questions and answers over Spark: a bucket is a group of one shuffle, a block of the next."""

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
from queryveil.methods.rounds.blocks import Keys, answered, joined, no_keys, posted
from queryveil.methods.rounds.steps import Act, Question

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BELOW_SCHEMA = "high BINARY, low BINARY, last ARRAY<INT>, n LONG"


@dataclass
class SparkExchange:
    """The blocks as a data frame, written anew after every turn."""

    work: ScratchTables
    state: "DataFrame"
    n_blocks: int
    turns: int = field(default=0)

    @property
    def n_buckets(self) -> int:
        """Return into how many buckets combinations are divided; the result does not depend on it."""
        return self.n_blocks

    def turn(self, question: Question | None, act: Act) -> int:
        """Let every block ask, be told and act; return the sum of what they counted."""
        if question is None:
            state = self.state.mapInArrow(_Alone(act), BLOCK_SCHEMA)
        else:
            told = self._asked(question).groupBy("bucket").applyInArrow(_answering(question), KEYS_SCHEMA)
            blocks = self.state.groupBy("block").cogroup(told.groupBy("block"))
            state = blocks.applyInArrow(_acting(act), BLOCK_SCHEMA)
        before, self.turns = self.turns, self.turns + 1
        self.state, n = self.work.keep_counting(state, f"turn-{self.turns}", "n")
        self.work.drop(f"turn-{before}")
        return n

    def below(self, question: Question, limit: int) -> Keys | None:
        """Return all combinations with a sum below the question's bound; None if they are more than the limit."""
        found, n = self._below(question)
        if n > limit:
            return None
        rows = found.select("high", "low").collect()
        return joined(
            [read_keys({"high": row[0], "low": row[1], "people": b"\0" * (len(row[0]) // 2)}) for row in rows]
        )

    def rarest_below(self, question: Question) -> tuple[int, ...]:
        """Return the rarest term of every combination with a sum below the question's bound."""
        from pyspark.sql import functions as f

        found, _ = self._below(question)
        rows = found.select(f.explode("last").alias("term")).distinct().collect()
        return tuple(sorted(row[0] for row in rows))

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        """Return how often each term is kept."""
        counted = self.state.mapInArrow(_Occurrences(terms), "term INT, n LONG").groupBy("term").sum("n")
        return {row[0]: row[1] for row in counted.collect()}

    def _asked(self, question: Question) -> "DataFrame":
        return self.state.mapInArrow(_Ask(question, self.n_buckets), KEYS_SCHEMA)

    def _below(self, question: Question) -> tuple["DataFrame", int]:
        found = self._asked(question).groupBy("bucket").applyInArrow(_finding_below(question), _BELOW_SCHEMA)
        return self.work.keep_counting(found, "below", "n")


@dataclass(frozen=True)
class _Ask:
    question: Question
    n_buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(KEYS_SCHEMA)
        for row in rows_of(batches):
            for bucket, keys in posted(self.question.ask(read_block(row)), self.n_buckets):
                yield batch_of([keys_row(bucket, row["block"], keys)], schema)


# Spark looks at how many arguments these take, and counts `self` among them: so functions, not objects.


def _answering(question: Question) -> Callable[[pa.Table], pa.Table]:
    """Return what a bucket does: add up, and tell each block what it asked for."""

    def answer(table: pa.Table) -> pa.Table:
        rows = sorted(table.to_pylist(), key=lambda row: int(row["block"]))
        told = answered([read_keys(row) for row in rows], below=question.below, at_least=question.at_least)
        answers = [keys_row(row["bucket"], row["block"], keys) for row, keys in zip(rows, told, strict=True)]
        return pa.Table.from_pylist(answers, arrow_schema(KEYS_SCHEMA))

    return answer


def _finding_below(question: Question) -> Callable[[pa.Table], pa.Table]:
    """Return what a bucket does to find the combinations that too few hold."""

    def find(table: pa.Table) -> pa.Table:
        told = joined(answered([read_keys(row) for row in table.to_pylist()], below=question.below))
        is_first = np.ones(len(told), np.bool_)
        is_first[1:] = (told.high[1:] != told.high[:-1]) | (told.low[1:] != told.low[:-1])
        keys = told.where(is_first)
        last = np.where(keys.low == 0, keys.high, keys.low) & 0xFFFFFFFF
        row: dict[str, Any] = {"high": keys.high.tobytes(), "low": keys.low.tobytes(), "n": len(keys)}
        row["last"] = np.unique(last).tolist()
        return pa.Table.from_pylist([row], arrow_schema(_BELOW_SCHEMA))

    return find


def _acting(act: Act) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return what a block does with the answers it got."""

    def do(blocks: pa.Table, told: pa.Table) -> pa.Table:
        (row,) = blocks.to_pylist()
        block, n = act(read_block(row), joined([read_keys(each) for each in told.to_pylist()]))
        return pa.Table.from_pylist([block_row(row["block"], block, n)], arrow_schema(BLOCK_SCHEMA))

    return do


@dataclass(frozen=True)
class _Alone:
    act: Act

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(BLOCK_SCHEMA)
        for row in rows_of(batches):
            block, n = self.act(read_block(row), no_keys())
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
