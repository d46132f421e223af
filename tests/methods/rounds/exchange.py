"""An exchange within one process: what a cluster does, without one."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from queryveil.methods.rounds.blocks import Block, Keys, answered, joined, no_keys, posted
from queryveil.methods.rounds.steps import Act, Question


class InProcess:
    """Blocks in a list, buckets one after the other."""

    def __init__(self, blocks: list[Block], n_buckets: int = 3) -> None:
        self.blocks = blocks
        self.n_buckets = n_buckets

    def turn(self, question: Question | None, act: Act) -> int:
        told = [no_keys() for _ in self.blocks] if question is None else self._told(question)
        done = [act(block, keys) for block, keys in zip(self.blocks, told, strict=True)]
        self.blocks = [block for block, _ in done]
        return sum(count for _, count in done)

    def below(self, question: Question, limit: int) -> Keys | None:
        keys = joined(self._told(question))
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = (keys.high[1:] != keys.high[:-1]) | (keys.low[1:] != keys.low[:-1])
        return keys.where(is_first) if np.count_nonzero(is_first) <= limit else None

    def rarest_below(self, question: Question) -> tuple[int, ...]:
        keys = joined(self._told(question))
        last = np.where(keys.low == 0, keys.high & 0xFFFFFFFF, keys.low & 0xFFFFFFFF)
        return tuple(np.unique(last).tolist())

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        found = dict.fromkeys(terms, 0)
        for block in self.blocks:
            for term, count in zip(block.ids[block.kept].tolist(), block.counts[block.kept].tolist(), strict=True):
                if term in found:
                    found[term] += count
        return found

    def _told(self, question: Question) -> list[Keys]:
        boxes: dict[int, list[tuple[int, Keys]]] = {}
        for sender, block in enumerate(self.blocks):
            for bucket, keys in posted(question.ask(block), self.n_buckets):
                boxes.setdefault(bucket, []).append((sender, keys))
        replies: list[list[Keys]] = [[] for _ in self.blocks]
        for box in boxes.values():
            answers = answered([keys for _, keys in box], below=question.below, at_least=question.at_least)
            for (sender, _), answer in zip(box, answers, strict=True):
                replies[sender].append(answer)
        return [joined(parts) for parts in replies]


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
            )
        )
    return blocks
