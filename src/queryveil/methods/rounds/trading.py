"""Improving an anonymous log of pairs in rounds: histories trade terms for others that they hold more often.

First each history proposes one deleted term, and the kept terms that it would replace, if enough people hold or could
hold what arises. That makes pairs frequent which nobody kept before. Then each block reselects the terms of its
histories among the frequent pairs, like `algorithm=best` on one machine, as if no other block changed anything.

Proposals that leave a term or pair to fewer than k people are withdrawn until none does. A round that withdraws nothing
ends this; if there are too many rounds, all proposals of the turn are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.progress import Progress
from queryveil.core.rows import Int32Array, indptr_of_sorted, ranges, row_numbers
from queryveil.kernels.km.growth import GrowingLog
from queryveil.kernels.km.improvement import make_selection_scratch, reselect
from queryveil.kernels.km.rounds import propose_changes, reinsert, withdraw_proposals
from queryveil.kernels.km.supports import Tree, are_distinct
from queryveil.methods.rounds.blocks import (
    TIE_BREAK,
    Block,
    Keys,
    answer_possible,
    answer_queries,
    broken_keys,
    candidate_keys,
    held_keys,
    merge_equal_keys,
    merge_keys,
    possible_keys,
)

if TYPE_CHECKING:
    from queryveil.methods.rounds.protocol import BlockAction, Exchange, Query

SIZES = (1, 2)
_TURNS = 2  # of proposals; a third gains a tenth of the second
_MOST_WITHDRAWALS = 20  # after so many rounds all proposals of a turn are dropped
_MARGIN = 2  # people beyond k who must hold what a proposal deletes, since others may delete it too
_NO_END = 2**62  # of the budget of work: a block is reselected in one call


@dataclass(frozen=True)
class PossibleQuery:
    """Ask which terms and pairs k people hold or could hold if a candidate were reinserted everywhere."""

    k: int

    def keys_of(self, block: Block) -> Keys:
        """Return the keys that a block sends."""
        return merge_keys([held_keys(block, SIZES), possible_keys(block)])

    def answer(self, messages: Sequence[Keys]) -> list[Keys]:
        """Return the replies to the senders of messages."""
        return answer_possible(messages, self.k)


@dataclass(frozen=True)
class ProposalQuery:
    """Ask which terms and pairs fewer than k people would hold after all proposals."""

    k: int

    def keys_of(self, block: Block) -> Keys:
        """Return the keys that a block sends."""
        return merge_keys([held_keys(block.after_proposals(), SIZES), broken_keys(block)])

    def answer(self, messages: Sequence[Keys]) -> list[Keys]:
        """Return the replies to the senders of messages."""
        return answer_queries(messages, below=self.k)


@dataclass(frozen=True)
class FrequentQuery:
    """Ask which of the terms and pairs that histories hold or could hold k people hold."""

    k: int

    def keys_of(self, block: Block) -> Keys:
        """Return the keys that a block sends, each once."""
        candidates = candidate_keys(block.with_kept(block.kept), SIZES)
        return merge_equal_keys(merge_keys([held_keys(block, SIZES), candidates]))

    def answer(self, messages: Sequence[Keys]) -> list[Keys]:
        """Return the replies to the senders of messages."""
        return answer_possible(messages, self.k)


@dataclass(frozen=True)
class ProposeChanges:
    """Propose for each history the candidate that gains most; count the proposals."""

    k: int

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of proposals."""
        changed = np.zeros_like(block.changed)
        n = propose_changes(
            block.indptr,
            block.ids,
            block.counts,
            block.deletion_costs(TIE_BREAK),
            block.kept,
            block.candidates,
            replies.high,
            replies.people,
            self.k + _MARGIN + 1,
            changed,
        )
        return replace(block, changed=changed), int(n)


@dataclass(frozen=True)
class WithdrawProposals:
    """Withdraw the proposals that leave a term or pair to too few people; count them."""

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of withdrawn proposals."""
        changed, candidates = block.changed.copy(), block.candidates.copy()
        n = withdraw_proposals(block.indptr, block.ids, block.kept, changed, candidates, replies.high, replies.people)
        return replace(block, changed=changed, candidates=candidates), int(n)


@dataclass(frozen=True)
class CarryOut:
    """Carry out all proposals, or none of them; count the reinserted terms."""

    is_valid: bool

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of reinserted terms."""
        if not self.is_valid:
            return replace(block, changed=np.zeros_like(block.changed)), 0
        after = block.after_proposals()
        n = int(np.count_nonzero(block.changed & ~block.kept))
        return replace(after, candidates=(block.candidates | block.changed) & ~after.kept), n


@dataclass(frozen=True)
class Reselect:
    """Propose a reselection of the kept terms of each history, and what else fits; count the changed pairs."""

    k: int

    def __call__(self, block: Block, replies: Keys) -> tuple[Block, int]:
        """Return the updated block and the number of changed pairs."""
        terms, ids = np.unique(block.ids, return_inverse=True)
        support1, tree = _supports(terms, replies)
        log = _growing_log(block, ids.astype(np.int32), support1)
        gain, n_histories = block.counts.astype(np.float64), len(block.indptr) - 1
        reselect(
            log,
            tree,
            ids.astype(np.int32),
            np.arange(len(ids)),
            self.k,
            gain,
            np.arange(n_histories),
            0,
            _NO_END,
            np.zeros(len(terms), np.bool_),
            make_selection_scratch(int(np.diff(block.indptr).max(initial=0)), len(terms)),
        )
        cost = block.deletion_costs(TIE_BREAK)
        reinsert(block.indptr, block.ids, cost, log.kept, ~log.kept, max(SIZES), replies.high, replies.low)
        changed = log.kept ^ block.kept
        return replace(block, changed=changed), int(np.count_nonzero(changed))


def _supports(terms: Int32Array, keys: Keys) -> tuple[Int32Array, Tree]:
    """Return the people of terms, 0 for terms without a key, and of pairs, over positions in `terms`."""
    first, second = np.searchsorted(terms, keys.high >> 32), np.searchsorted(terms, keys.high & 0xFFFFFFFF)
    people, is_pair = keys.people.astype(np.int32), first != second
    support1 = np.zeros(len(terms), np.int32)
    support1[first[~is_pair]] = people[~is_pair]
    first, second, people = first[is_pair], second[is_pair], people[is_pair]
    order = np.lexsort((first, second))
    start = indptr_of_sorted(second[order], len(terms))
    none, nothing = np.zeros(1, np.int64), np.empty(0, np.int32)
    tree = Tree(start, first[order].astype(np.int32), people[order], none, nothing, nothing, none, nothing, nothing)
    return support1, tree


def _growing_log(block: Block, ids: Int32Array, support1: Int32Array) -> GrowingLog:
    """Return the kept pairs of a block, with terms by their positions in `support1`."""
    places = np.flatnonzero(block.kept)
    size = np.bincount(row_numbers(block.indptr)[places], minlength=len(block.indptr) - 1)
    position = ranges(block.indptr[:-1], size)
    kept_terms, pair_at = np.empty(len(ids), np.int32), np.empty(len(ids), np.int64)
    kept_terms[position], pair_at[position] = ids[places], places
    n_people, n_terms = int(block.owner.max(initial=-1)) + 1, len(support1)
    return GrowingLog(
        indptr=block.indptr,
        owner=block.owner,
        has_one_each=are_distinct(block.owner),
        first=np.searchsorted(block.owner, np.arange(n_people + 1)),
        kept=block.kept.copy(),
        kept_terms=kept_terms,
        pair_at=pair_at,
        size=size,
        support1=support1,
        pair_people=np.zeros(n_terms, np.int32),
        last_person=np.full(n_terms, -1, np.int32),
        touched=np.empty(n_terms + 1, np.int32),
        n_touched=np.zeros(1, np.int64),
        accepts=np.empty(0, np.bool_),
        held=np.empty((2, 0), np.int64),
    )


def trade_terms(exchange: "Exchange", k: int, progress: Progress) -> int:
    """Improve an anonymous log of pairs; return how often a term was reinserted."""
    steps: list[tuple[Query, BlockAction]] = [(PossibleQuery(k), ProposeChanges(k))] * _TURNS
    steps.append((FrequentQuery(k), Reselect(k)))
    n_reinserted = 0
    for turn, (query, propose) in enumerate(steps):
        progress("trading terms", turn, len(steps))
        exchange.run_round(query, propose)
        proposals, withdraw = ProposalQuery(k), WithdrawProposals()
        is_valid = any(not exchange.run_round(proposals, withdraw) for _ in range(_MOST_WITHDRAWALS))
        n_reinserted += exchange.run_round(None, CarryOut(is_valid))
    progress("trading terms", len(steps), len(steps))
    return n_reinserted
