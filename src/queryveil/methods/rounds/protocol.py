"""The rounds of (k,m)-anonymity: the queries and actions of blocks, and the loop that runs them over an exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.kernels.km.rounds import delete_hitting_sets, drop_blocked, reinsert
from queryveil.methods.rounds.blocks import (
    TIE_BREAK,
    Block,
    Keys,
    answer_queries,
    candidate_keys,
    held_keys,
    merge_keys,
)
from queryveil.methods.rounds.trading import trade_terms

MAX_ROUNDS = 12
_PAIR_ROUNDS = 2  # initial rounds that look only at pairs, before larger combinations
_MAX_HITTING_SET_KEYS = 1_000_000  # with more combinations left, the rarest term of each is deleted instead
# How much a term's frequency in the whole log protects it, by round. Common terms are what histories can share, so at
# first nearly all histories keep the same ones; later, a history's own loss counts more.
_PROTECTION = (2.0, 1.0, 0.5, 0.25)
_CAREFUL_FROM = 3  # from this round on few histories lose anything, and each deletion causes others


@dataclass(frozen=True)
class CombinationQuery:
    """A query of all blocks: how many people hold combinations of these sizes, limited to some range of sums."""

    sizes: tuple[int, ...]
    below: int | None = None
    at_least: int | None = None  # if given, the query is about combinations that reinsertions would create

    def keys_of(self, block: Block) -> Keys:
        """Return the keys that a block sends."""
        keys = held_keys(block, self.sizes)
        return keys if self.at_least is None else merge_keys([keys, candidate_keys(block, self.sizes)])

    def answer(self, messages: Sequence[Keys]) -> list[Keys]:
        """Return the replies to the senders of messages."""
        return answer_queries(messages, below=self.below, at_least=self.at_least)


class Query(Protocol):
    """A query of all blocks: the keys that each sends, and the replies."""

    def keys_of(self, block: Block) -> Keys:
        """Return the keys that a block sends."""

    def answer(self, messages: Sequence[Keys]) -> list[Keys]:
        """Return the replies to the senders of messages."""


class BlockAction(Protocol):
    """What a block does with the replies to its query."""

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and a count of what was done."""


@dataclass(frozen=True)
class DeleteHittingSets:
    """Delete a hitting set of the infrequent combinations from each history; count these combinations."""

    k: int
    max_size: int
    round_: int

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of infrequent combinations."""
        kept, k = block.kept.copy(), self.k
        cost = block.deletion_costs(_PROTECTION[min(self.round_, len(_PROTECTION) - 1)])
        caution = 1.0 if _is_careful(self.round_) else 0.0
        n_infrequent = delete_hitting_sets(
            block.indptr, block.ids, cost, kept, self.max_size, replies.high, replies.low, replies.people, k, caution
        )
        return block.with_kept(kept), int(n_infrequent)


@dataclass(frozen=True)
class DeleteTerms:
    """Delete terms from all histories; count the deleted pairs."""

    terms: tuple[int, ...]

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of deleted pairs."""
        kept = block.kept & ~np.isin(block.ids, np.array(self.terms, np.int32))
        return block.with_kept(kept), int(np.count_nonzero(block.kept) - np.count_nonzero(kept))


@dataclass(frozen=True)
class DropBlockedCandidates:
    """Drop candidates that would create an infrequent combination with kept terms; count the remaining ones."""

    max_size: int

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of remaining candidates."""
        candidates = block.candidates.copy()
        n = drop_blocked(block.indptr, block.ids, block.kept, candidates, self.max_size, replies.high, replies.low)
        return replace(block, candidates=candidates), int(n)


@dataclass(frozen=True)
class Reinsert:
    """Reinsert candidates whose combinations are all frequent; count the reinserted pairs."""

    max_size: int

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of reinserted pairs."""
        kept, cost = block.kept.copy(), block.deletion_costs(TIE_BREAK)
        n = reinsert(block.indptr, block.ids, cost, kept, block.candidates, self.max_size, replies.high, replies.low)
        return block.with_kept(kept), int(n)


def _is_careful(round_: int) -> bool:
    """Return whether blocks also learn of combinations just above k: up to k + (k + 1) // 3 people."""
    return round_ >= _CAREFUL_FROM


class Exchange(Protocol):
    """Stores the blocks and transports their messages."""

    def run_round(self, query: Query | None, action: BlockAction) -> int:
        """Let every block send its query, if any, and act on the replies; return the sum of the actions' counts."""

    def infrequent(self, query: CombinationQuery, limit: int) -> Keys | None:
        """Return all combinations with a sum below the query's limit; None if there are more than `limit`."""

    def rarest_of_infrequent(self, query: CombinationQuery) -> tuple[int, ...]:
        """Return the rarest term of every combination with a sum below the query's limit."""

    def occurrences(self, terms: tuple[int, ...]) -> Mapping[int, int]:
        """Return how often each term is kept."""


def run_rounds(exchange: Exchange, *, k: int, m: int, progress: Progress = silent) -> dict[str, Any]:
    """Make the blocks together (k,m)-anonymous; return a summary."""
    rounds, is_anonymous = 0, False
    for rounds in range(1, MAX_ROUNDS + 1):
        progress("rounds", rounds - 1, MAX_ROUNDS)
        max_size = m if rounds > _PAIR_ROUNDS else min(m, 2)
        below = k + 1 + (k + 1) // 3 if _is_careful(rounds - 1) else k
        query = CombinationQuery(tuple(range(1, max_size + 1)), below=below)
        n_left = exchange.run_round(query, DeleteHittingSets(k, max_size, rounds - 1))
        is_anonymous = n_left == 0 and max_size == m  # pairs alone prove nothing about larger combinations
        if is_anonymous:
            break
    n_deleted = 0 if is_anonymous else _delete_remaining(exchange, k, m)
    progress("rounds", MAX_ROUNDS, MAX_ROUNDS)
    n_reinserted = trade_terms(exchange, k, progress) if m == 2 else _reinsert(exchange, k, m, progress)
    return {
        "algorithm": "rounds",
        "rounds": rounds,
        "terms deleted at last from all histories": n_deleted,
        "pairs put back": n_reinserted,
    }


def _delete_remaining(exchange: Exchange, k: int, m: int) -> int:
    """Delete from all histories a hitting set of the combinations that are still infrequent; return its size."""
    query = CombinationQuery(tuple(range(1, m + 1)), below=k)
    keys = exchange.infrequent(query, _MAX_HITTING_SET_KEYS)
    if keys is None:
        terms = exchange.rarest_of_infrequent(query)
    else:
        terms = _hitting_set(keys, exchange.occurrences(tuple(np.unique(_members(keys)).tolist())))
    if terms:
        exchange.run_round(None, DeleteTerms(terms))
    return len(terms)


def _members(keys: Keys) -> IntArray:
    """Return the terms of each combination in four columns; shorter combinations repeat some terms."""
    columns = [keys.high >> 32, keys.high & 0xFFFFFFFF]
    low_first, low_last = keys.low >> 32, keys.low & 0xFFFFFFFF
    is_short = keys.low == 0
    columns += [np.where(is_short, columns[0], low_first), np.where(is_short, columns[1], low_last)]
    return np.stack(columns, axis=1)


def _hitting_set(keys: Keys, occurrences: Mapping[int, int]) -> tuple[int, ...]:
    """Return a greedy hitting set: repeatedly the term that hits most combinations per kept occurrence."""
    members = _members(keys)
    terms, index = np.unique(members, return_inverse=True)
    index = index.reshape(members.shape)
    cost = np.array([max(1, occurrences.get(term, 0)) for term in terms.tolist()], np.float64)
    is_left = np.ones(len(members), np.bool_)
    chosen: list[int] = []
    while is_left.any():
        rows = [np.unique(row) for row in index[is_left]]
        hits = np.bincount(np.concatenate(rows), minlength=len(terms))
        best = int(np.flatnonzero(hits / cost == (hits / cost).max())[-1])  # of equally good terms the rarest
        chosen.append(int(terms[best]))
        is_left &= ~(index == best).any(axis=1)
    return tuple(sorted(chosen))


def _reinsert(exchange: Exchange, k: int, m: int, progress: Progress) -> int:
    """Reinsert terms in one pass and return their number.

    A reinsertion never makes an infrequent combination frequent, so a second pass would find nothing.
    """
    progress("reinserting terms", 0, 1)
    for max_size in range(2, m):  # fewer candidates remain for queries about larger combinations
        exchange.run_round(CombinationQuery(tuple(range(1, max_size + 1)), at_least=k), DropBlockedCandidates(max_size))
    n_reinserted = exchange.run_round(CombinationQuery(tuple(range(1, m + 1)), at_least=k), Reinsert(m))
    progress("reinserting terms", 1, 1)
    return n_reinserted
