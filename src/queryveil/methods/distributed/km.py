"""(k,m)-anonymity on a cluster, by rounds (`methods.rounds`): the blocks are a data frame.

In a round every block sends its query's keys to buckets, which are groups of one shuffle, and acts on their replies,
which are groups of the next.

With `split`, what does not fit is anonymised again as a log of its own, layer by layer. As on one machine
(`methods.pieces`) each layer gives a new piece of every history, and `split=all` publishes what is left of terms that k
people hold term by term. Terms do not join pieces across layers here: that would need the combinations of all pieces at
every block once more.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.engines import SPARK
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.methods.base import method_of
from queryveil.methods.distributed import encoding
from queryveil.methods.distributed.blocks import MOST_BLOCKS, PEOPLE, blocks, kept_histories, numbered_terms, raw_blocks
from queryveil.methods.distributed.outcomes import KeptOnCluster, SparkTask
from queryveil.methods.pieces import POINTLESS
from queryveil.methods.rounds.blocks import Keys, merge_keys, no_keys, partition_by_bucket
from queryveil.methods.rounds.protocol import BlockAction, CombinationQuery, Query, run_rounds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_INFREQUENT_SCHEMA = "high BINARY, low BINARY, last ARRAY<INT>, n LONG"
_COLUMNS = ("person", "history", "part", "entries", "counts")


def run(task: SparkTask) -> KeptOnCluster:
    """Run the method as declared."""

    def make_layer(histories: "DataFrame") -> KeptOnCluster:
        return anonymize(replace(task, histories=histories))

    split = task.method.word("split")
    if split == "none":
        return make_layer(task.histories)
    if task.method.integer("m") == 1:
        kept = make_layer(task.histories)
        return replace(kept, summary={**kept.summary, "split": POINTLESS})
    return split_on_cluster(task, make_layer, split)


def anonymize(task: SparkTask, people_per_block: int = PEOPLE) -> KeptOnCluster:
    """Return the kept pairs of every history so that the log is (k,m)-anonymous."""
    histories, method, work, progress = task.histories, task.method, task.work, task.progress
    k, m = method.integer("k"), method.integer("m")
    n_people = histories.select("person").distinct().count()
    if k > n_people:
        raise GuaranteeError(
            f"{method}: k = {k:,} is larger than the number of people in the log ({n_people:,}); lower k."
        )
    n_blocks = min(-(-n_people // people_per_block), MOST_BLOCKS)
    progress("blocks", 0, 1)
    raw = raw_blocks(work, histories, n_blocks)
    state = blocks(work, raw, numbered_terms(work, raw, k))
    progress("blocks", 1, 1)
    exchange = SparkExchange(work, state, n_blocks)
    summary = run_rounds(exchange, k=k, m=m, progress=progress)
    frame = kept_histories(raw, exchange.state)
    found: dict[str, float] = {}
    refinement = method_of(method).refinement(method)
    if refinement is not None:
        frame, found, more = refinement.load(SPARK.name)(task, work.keep(frame, "unbounded"))
        summary |= more
    kept, n_kept = work.keep_counting(frame, "kept", "1")
    if not n_kept:
        raise GuaranteeError(f"{method}: nothing would be left of the log; lower k or m, or give a larger log.")
    return KeptOnCluster(kept, summary, found)


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

    def run_round(self, query: Query | None, action: BlockAction) -> int:
        """Let every block send its query, if any, and act on the replies; return the sum of the actions' counts."""

        def act(row: encoding.Row, keys: Keys) -> Iterator[encoding.Row]:
            block, n = action(encoding.read_block(row), keys)
            yield encoding.block_row(row["block"], block, n)

        def act_on_replies(row: encoding.Row, replies: "pa.Table") -> Iterator[encoding.Row]:
            return act(row, merge_keys([encoding.read_keys(each) for each in replies.to_pylist()]))

        if query is None:
            state = encoding.map_rows(self.state, encoding.BLOCK_SCHEMA, lambda row: act(row, no_keys()))
        else:
            state = encoding.map_blocks(self.state, self._replies(query), encoding.BLOCK_SCHEMA, act_on_replies)
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
            [encoding.read_keys({"high": row[0], "low": row[1], "people": b"\0" * (len(row[0]) // 2)}) for row in rows]
        )

    def rarest_of_infrequent(self, query: CombinationQuery) -> tuple[int, ...]:
        """Return the rarest term of every combination with a sum below the query's limit."""
        from pyspark.sql import functions as f

        found, _ = self._infrequent(query)
        rows = found.select(f.explode("last").alias("term")).distinct().collect()
        return tuple(sorted(row[0] for row in rows))

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        """Return how often each term is kept."""

        def count(row: encoding.Row) -> dict[str, Any]:
            block, wanted = encoding.read_block(row), np.array(terms, np.int32)
            chosen = block.kept & np.isin(block.ids, wanted)
            position = np.searchsorted(wanted, block.ids[chosen])
            counts = np.bincount(position, weights=block.counts[chosen], minlength=len(wanted)).astype(np.int64)
            return {"term": wanted, "n": counts}

        counted = encoding.explode_rows(self.state, "term INT, n LONG", count).groupBy("term").sum("n")
        return {row[0]: row[1] for row in counted.collect()}

    def _sent_keys(self, query: Query) -> "DataFrame":
        """Return the keys that blocks send to buckets."""
        n_buckets = self.n_buckets

        def send(row: encoding.Row) -> Iterator[encoding.Row]:
            for bucket, keys in partition_by_bucket(query.keys_of(encoding.read_block(row)), n_buckets):
                yield encoding.keys_row(bucket, row["block"], keys)

        return encoding.map_rows(self.state, encoding.KEYS_SCHEMA, send)

    def _replies(self, query: Query) -> "DataFrame":
        """Return the replies of the buckets, which add up the counts, to every block."""

        def reply(rows: list[encoding.Row]) -> Iterator[encoding.Row]:
            rows = sorted(rows, key=lambda row: int(row["block"]))
            replies = query.answer([encoding.read_keys(row) for row in rows])
            for row, keys in zip(rows, replies, strict=True):
                yield encoding.keys_row(row["bucket"], row["block"], keys)

        return encoding.map_groups(self._sent_keys(query), "bucket", encoding.KEYS_SCHEMA, reply)

    def _infrequent(self, query: CombinationQuery) -> tuple["DataFrame", int]:
        """Return the infrequent combinations of every bucket, and how many there are."""

        def find(rows: list[encoding.Row]) -> Iterator[encoding.Row]:
            found = merge_keys(query.answer([encoding.read_keys(row) for row in rows]))
            keys = found.select(found.is_first())
            last = np.where(keys.low == 0, keys.high, keys.low) & 0xFFFFFFFF
            row: encoding.Row = {"high": keys.high.tobytes(), "low": keys.low.tobytes(), "n": len(keys)}
            yield {**row, "last": np.unique(last).tolist()}

        found = encoding.map_groups(self._sent_keys(query), "bucket", _INFREQUENT_SCHEMA, find)
        return self.work.keep_counting(found, "infrequent", "n")


def split_on_cluster(task: SparkTask, make_layer: Callable[["DataFrame"], KeptOnCluster], split: str) -> KeptOnCluster:
    """Return the pieces of all histories; `make_layer` anonymises histories in one piece each."""
    first = make_layer(task.histories)
    layer, left, n_layers = first.frame, task.histories, 0
    pieces: DataFrame | None = None
    while True:
        n_layers += 1
        layer = task.work.keep(layer.select(*_COLUMNS), f"layer-{n_layers}")
        pieces = layer if pieces is None else pieces.unionByName(layer)
        left = task.work.keep(_without(left, layer), f"left-{n_layers}")
        try:
            layer = make_layer(left).frame
        except GuaranteeError:  # too few people have something left
            break
        if layer.where("size(entries) > 1").isEmpty():
            break
    if split == "all":
        pieces = pieces.unionByName(_single_terms(task, left))
    frame = task.work.keep(pieces, "pieces")
    return KeptOnCluster(frame, {**first.summary, "layers": n_layers, "histories": frame.count()}, first.found)


def _without(histories: "DataFrame", layer: "DataFrame") -> "DataFrame":
    """Return histories without the terms that a layer has of them; empty ones are left out."""
    kept = layer.selectExpr("person", "history", "entries AS kept")
    pairs = "filter(arrays_zip(entries, counts), each -> kept IS NULL OR NOT array_contains(kept, each.entries))"
    rest = histories.join(kept, ["person", "history"], "left").selectExpr("person", "history", "part", f"{pairs} AS p")
    return rest.where("size(p) > 0").selectExpr(
        "person", "history", "part", "p.entries AS entries", "p.counts AS counts"
    )


def _single_terms(task: SparkTask, left: "DataFrame") -> "DataFrame":
    """Return what is left of terms that k people of a part of the log hold, term by term."""
    entry = "explode(arrays_zip(entries, counts)) AS pair"
    holders = task.histories.selectExpr("part", "person", "explode(entries) AS entry").distinct()
    common = holders.groupBy("part", "entry").count().where(f"count >= {task.method.integer('k')}")
    common = common.selectExpr("part AS common_part", "entry AS common_entry")
    single = left.selectExpr("person", "history", "part", entry)
    matched = single.join(
        common, (single["part"].eqNullSafe(common["common_part"])) & (single["pair.entries"] == common["common_entry"])
    )
    return matched.selectExpr(
        "person", "history", "part", "array(pair.entries) AS entries", "array(pair.counts) AS counts"
    )
