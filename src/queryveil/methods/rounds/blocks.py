"""Blocks of histories, and the messages of combinations that blocks and buckets exchange."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from queryveil.core.rows import BoolArray, FloatArray, Int32Array, IntArray
from queryveil.kernels.km.rounds import bucket_keys, combinations, combinations_with_one

TIE_BREAK = 0.01  # protection under which of terms that a history holds equally often, the commoner one costs more


@dataclass(frozen=True, eq=False)
class Block:
    """The histories of some people, restricted to frequent terms; all histories of a person are in one block."""

    indptr: IntArray  # (histories + 1,)
    ids: Int32Array  # (pairs,): global term numbers, ascending within a history
    counts: Int32Array  # (pairs,)
    occurrences: IntArray  # (pairs,): of the pair's term in the whole log
    owner: Int32Array  # (histories,): the person, numbered within the block
    position: Int32Array  # (pairs,): index of the pair in the raw block
    kept: BoolArray  # (pairs,)
    candidates: BoolArray  # (pairs,): deleted pairs that may be reinserted
    changed: BoolArray  # (pairs,): pairs that a proposal would delete or reinsert

    def with_kept(self, kept: BoolArray) -> "Block":
        """Return the block with these pairs kept and all others as candidates for reinsertion."""
        return replace(self, kept=kept, candidates=~kept)

    def deletion_costs(self, protection: float) -> FloatArray:
        """Return the cost of deleting each pair; common terms are protected."""
        cost: FloatArray = self.counts * self.occurrences.astype(np.float64) ** protection
        return cost

    def after_proposals(self) -> "Block":
        """Return the block with all proposals carried out; candidates stay what they are."""
        return replace(self, kept=self.kept ^ self.changed, changed=np.zeros_like(self.changed))


@dataclass(frozen=True, eq=False)
class Keys:
    """Combinations, each encoded as two integers, in ascending order, with their number of people."""

    high: IntArray
    low: IntArray
    people: IntArray

    def __len__(self) -> int:
        return len(self.high)

    def select(self, mask: BoolArray) -> "Keys":
        """Return the keys under the mask."""
        return Keys(self.high[mask], self.low[mask], self.people[mask])

    def is_first(self) -> BoolArray:
        """Return a mask of the first occurrence of each combination."""
        return _is_first(self.high, self.low)


def no_keys() -> Keys:
    """Return an empty list of keys."""
    return Keys(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def merge_keys(parts: Sequence[Keys]) -> Keys:
    """Merge the keys of several messages into one ascending list."""
    if not parts:
        return no_keys()
    high, low, people = (np.concatenate([getattr(part, name) for part in parts]) for name in ("high", "low", "people"))
    order = np.lexsort((low, high))
    return Keys(high[order], low[order], people[order])


def held_keys(block: Block, sizes: Sequence[int]) -> Keys:
    """Return every combination of kept terms with the number of people of the block who hold it."""
    has_one_history_each = len(np.unique(block.owner)) == len(block.owner)
    parts = []
    for size in sizes:
        high, low, person = combinations(block.indptr, block.ids, block.kept, block.kept, block.owner, size)
        parts.append(_distinct(high, low, None if has_one_history_each else person))
    return merge_keys(parts)


def merge_equal_keys(keys: Keys) -> Keys:
    """Return every key once, with the sum of its people."""
    starts = np.flatnonzero(keys.is_first())
    return keys if not len(starts) else Keys(keys.high[starts], keys.low[starts], np.add.reduceat(keys.people, starts))


def possible_keys(block: Block) -> Keys:
    """Return every candidate and its pairs with kept terms, with minus the people who could hold each."""
    high, person = combinations_with_one(block.indptr, block.ids, block.kept, block.candidates, block.owner)
    keys = _distinct(high, np.zeros(len(high), np.int64), person)
    return Keys(keys.high, keys.low, -keys.people)


def broken_keys(block: Block) -> Keys:
    """Return the kept terms and pairs that proposals would delete, each with a count of 0 people."""
    parts = []
    for size in (1, 2):
        high, low, _ = combinations(block.indptr, block.ids, block.kept, block.kept & block.changed, block.owner, size)
        keys = _distinct(high, low, None)
        parts.append(Keys(keys.high, keys.low, np.zeros(len(keys), np.int64)))
    return merge_keys(parts)


def candidate_keys(block: Block, sizes: Sequence[int]) -> Keys:
    """Return the combinations that reinserting candidates could create, each with a count of 0 people."""
    mask = block.kept | block.candidates
    parts = []
    for size in sizes:
        high, low, _ = combinations(block.indptr, block.ids, mask, block.candidates, block.owner, size)
        keys = _distinct(high, low, None)
        parts.append(Keys(keys.high, keys.low, np.zeros(len(keys), np.int64)))
    return merge_keys(parts)


def _distinct(high: IntArray, low: IntArray, person: Int32Array | None) -> Keys:
    """Return each combination once, in ascending order, with its number of people."""
    if not len(high):
        return no_keys()
    order = np.lexsort((low, high) if person is None else (person, low, high))
    high, low = high[order], low[order]
    is_new = _is_first(high, low)
    counted = np.ones(len(high), np.int64)
    if person is not None:
        person = person[order]
        counted[1:] = is_new[1:] | (person[1:] != person[:-1])
    starts = np.flatnonzero(is_new)
    return Keys(high[starts], low[starts], np.add.reduceat(counted, starts))


def _is_first(high: IntArray, low: IntArray) -> BoolArray:
    is_first = np.ones(len(high), np.bool_)
    is_first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return is_first


def partition_by_bucket(keys: Keys, n_buckets: int) -> Iterator[tuple[int, Keys]]:
    """Yield each bucket with the keys that hash to it, in ascending order."""
    bucket = bucket_keys(keys.high, keys.low, n_buckets)
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        chosen = order[bounds[number] : bounds[number + 1]]
        yield number, Keys(keys.high[chosen], keys.low[chosen], keys.people[chosen])


def answer_queries(messages: Sequence[Keys], *, below: int | None = None, at_least: int | None = None) -> list[Keys]:
    """Add up the people of every key, and return to each sender those of its keys whose sum is within the limits.

    With `at_least`, only candidate keys (sent with a count of 0) are returned.
    """
    sums = _Sums(messages)
    total, is_returned = sums.of(sums.people), np.ones(len(sums.people), np.bool_)
    if below is not None:
        is_returned &= total < below
    if at_least is not None:
        is_returned &= (total >= at_least) & (sums.people == 0)
    return sums.replies(total, is_returned)


def answer_possible(messages: Sequence[Keys], k: int) -> list[Keys]:
    """Return to each sender the keys that k people hold or could hold (sent as a negative count), with the holders."""
    sums = _Sums(messages)
    return sums.replies(sums.of(np.maximum(sums.people, 0)), sums.of(np.abs(sums.people)) >= k)


class _Sums:
    """The keys of several messages, numbered across messages."""

    def __init__(self, messages: Sequence[Keys]) -> None:
        self.high = np.concatenate([keys.high for keys in messages])
        self.low = np.concatenate([keys.low for keys in messages])
        self.people = np.concatenate([keys.people for keys in messages])
        self.ends = np.cumsum([len(keys) for keys in messages])
        order = np.lexsort((self.low, self.high))
        self.number = np.empty(len(order), np.int64)  # (keys,): equal keys have the same
        self.number[order] = np.cumsum(_is_first(self.high[order], self.low[order])) - 1

    def of(self, people: IntArray) -> IntArray:
        """Return for every key the sum over all messages."""
        sums = np.zeros(int(self.number.max(initial=-1)) + 1, np.int64)
        np.add.at(sums, self.number, people)
        return sums[self.number]

    def replies(self, people: IntArray, is_returned: BoolArray) -> list[Keys]:
        """Return the keys under the mask to each sender."""
        starts = np.concatenate((np.zeros(1, np.int64), self.ends[:-1]))
        return [
            Keys(self.high[a:b], self.low[a:b], people[a:b]).select(is_returned[a:b])
            for a, b in zip(starts.tolist(), self.ends.tolist(), strict=True)
        ]
