"""A block of histories, and the questions and answers that go between blocks and buckets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.km.rounds import combinations, mix


@dataclass(frozen=True, eq=False)
class Block:
    """Some people's histories over the terms that enough people hold; all of a person's stand in one block."""

    indptr: NDArray[np.int64]  # (histories + 1,)
    ids: NDArray[np.int32]  # (pairs,): global numbers of terms, ascending within a history
    counts: NDArray[np.int32]  # (pairs,)
    occurrences: NDArray[np.int64]  # (pairs,): of the pair's term in the whole log
    owner: NDArray[np.int32]  # (histories,): the person, numbered within the block
    place: NDArray[np.int32]  # (pairs,): where the pair stands in what the block was made from
    kept: NDArray[np.bool_]  # (pairs,)
    wanted: NDArray[np.bool_]  # (pairs,): what is not kept and could be put back

    def with_kept(self, kept: NDArray[np.bool_]) -> "Block":
        """Return the block with other pairs kept, and all others wanted."""
        return replace(self, kept=kept, wanted=~kept)


@dataclass(frozen=True, eq=False)
class Keys:
    """Combinations as two numbers each, ascending, with a number of people."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    people: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.high)

    def where(self, chosen: NDArray[np.bool_]) -> "Keys":
        """Return some of the keys."""
        return Keys(self.high[chosen], self.low[chosen], self.people[chosen])


def no_keys() -> Keys:
    """Return no combination."""
    return Keys(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def joined(parts: Sequence[Keys]) -> Keys:
    """Put keys of several messages into one ascending list; each stands in one message only."""
    if not parts:
        return no_keys()
    high, low, people = (np.concatenate([getattr(part, name) for part in parts]) for name in ("high", "low", "people"))
    order = np.lexsort((low, high))
    return Keys(high[order], low[order], people[order])


def held(block: Block, sizes: Sequence[int]) -> Keys:
    """Count, for every combination of kept terms, the people of the block who hold it."""
    return joined([_counted(block, size) for size in sizes])


def _counted(block: Block, size: int) -> Keys:
    high, low, whose = combinations(block.indptr, block.ids, block.kept, block.kept, block.owner, size)
    return _distinct(high, low, whose if len(np.unique(block.owner)) < len(block.owner) else None)


def wished(block: Block, sizes: Sequence[int]) -> Keys:
    """Return the combinations that inserting wanted terms could make, with nobody counted for them."""
    mask = block.kept | block.wanted
    parts = []
    for size in sizes:
        high, low, _ = combinations(block.indptr, block.ids, mask, block.wanted, block.owner, size)
        keys = _distinct(high, low, None)
        parts.append(Keys(keys.high, keys.low, np.zeros(len(keys), np.int64)))
    return joined(parts)


def _distinct(high: NDArray[np.int64], low: NDArray[np.int64], whose: NDArray[np.int32] | None) -> Keys:
    """Return each combination once, ascending, with how many people it has."""
    if not len(high):
        return no_keys()
    order = np.lexsort((low, high) if whose is None else (whose, low, high))
    high, low = high[order], low[order]
    is_new = np.ones(len(high), np.bool_)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    counted = np.ones(len(high), np.int64)
    if whose is not None:
        whose = whose[order]
        counted[1:] = is_new[1:] | (whose[1:] != whose[:-1])
    starts = np.flatnonzero(is_new)
    return Keys(high[starts], low[starts], np.add.reduceat(counted, starts))


def posted(keys: Keys, n_buckets: int) -> Iterator[tuple[int, Keys]]:
    """Divide keys by the bucket that adds them up; they stay ascending."""
    bucket = mix(keys.high, keys.low, n_buckets)
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        chosen = order[bounds[number] : bounds[number + 1]]
        yield number, Keys(keys.high[chosen], keys.low[chosen], keys.people[chosen])


def answered(asked: Sequence[Keys], *, below: int | None = None, at_least: int | None = None) -> list[Keys]:
    """Add up the people of every key, and return to each sender those of its keys whose sum is within the bounds.

    Where a least sum is asked for, only keys are told that were asked about with nobody holding them.
    """
    lengths = [len(keys) for keys in asked]
    high = np.concatenate([keys.high for keys in asked])
    low = np.concatenate([keys.low for keys in asked])
    people = np.concatenate([keys.people for keys in asked])
    order = np.lexsort((low, high))
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    number = np.cumsum(is_new) - 1
    sums = np.zeros(number[-1] + 1 if len(number) else 0, np.int64)
    np.add.at(sums, number, people[order])
    total = np.empty(len(order), np.int64)
    total[order] = sums[number]
    is_told = np.ones(len(order), np.bool_)
    if below is not None:
        is_told &= total < below
    if at_least is not None:
        is_told &= (total >= at_least) & (people == 0)
    ends = np.cumsum(lengths)
    return [
        Keys(high[a:b], low[a:b], total[a:b]).where(is_told[a:b]) for a, b in zip(ends - lengths, ends, strict=True)
    ]
