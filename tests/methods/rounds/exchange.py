"""An exchange within one process: what a cluster does, without one."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from queryveil.methods.rounds.blocks import Block, Keys, merge_keys, no_keys, partition_by_bucket
from queryveil.methods.rounds.protocol import BlockAction, CombinationQuery, Query


class InProcess:
    """Blocks in a list, buckets one after the other."""

    def __init__(self, blocks: list[Block], n_buckets: int = 3) -> None:
        self.blocks = blocks
        self.n_buckets = n_buckets

    def run_round(self, query: Query | None, action: BlockAction) -> int:
        replies = [no_keys() for _ in self.blocks] if query is None else self._replies(query)
        done = [action(block, keys) for block, keys in zip(self.blocks, replies, strict=True)]
        self.blocks = [block for block, _ in done]
        return sum(count for _, count in done)

    def infrequent(self, query: CombinationQuery, limit: int) -> Keys | None:
        keys = merge_keys(self._replies(query))
        found = keys.select(keys.is_first())
        return found if len(found) <= limit else None

    def rarest_of_infrequent(self, query: CombinationQuery) -> tuple[int, ...]:
        keys = merge_keys(self._replies(query))
        last = np.where(keys.low == 0, keys.high & 0xFFFFFFFF, keys.low & 0xFFFFFFFF)
        return tuple(np.unique(last).tolist())

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        found = dict.fromkeys(terms, 0)
        for block in self.blocks:
            for term, count in zip(block.ids[block.kept].tolist(), block.counts[block.kept].tolist(), strict=True):
                if term in found:
                    found[term] += count
        return found

    def _replies(self, query: Query) -> list[Keys]:
        boxes: dict[int, list[tuple[int, Keys]]] = {}
        for sender, block in enumerate(self.blocks):
            for bucket, keys in partition_by_bucket(query.keys_of(block), self.n_buckets):
                boxes.setdefault(bucket, []).append((sender, keys))
        replies: list[list[Keys]] = [[] for _ in self.blocks]
        for box in boxes.values():
            answers = query.answer([keys for _, keys in box])
            for (sender, _), answer in zip(box, answers, strict=True):
                replies[sender].append(answer)
        return [merge_keys(parts) for parts in replies]


def blocks_of(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], counts: NDArray[np.int32], owner: NDArray[np.int32], n: int
) -> list[Block]:
    """Cut histories into n blocks by person."""
    occurrences = np.bincount(ids, weights=counts, minlength=int(ids.max(initial=-1)) + 1).astype(np.int64)
    blocks = []
    for number in range(n):
        histories = np.flatnonzero(owner % n == number)
        lengths = np.diff(indptr)[histories]
        taken = np.concatenate([np.arange(indptr[h], indptr[h + 1]) for h in histories] or [np.empty(0, np.int64)])
        taken = taken.astype(np.int64)
        blocks.append(
            Block(
                np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
                ids[taken].astype(np.int32),
                counts[taken].astype(np.int32),
                occurrences[ids[taken]],
                owner[histories].astype(np.int32),
                taken.astype(np.int32),
                np.ones(len(taken), np.bool_),
                np.zeros(len(taken), np.bool_),
                np.zeros(len(taken), np.bool_),
            )
        )
    return blocks
