"""What blocks ask in a round, and what they do when they are told."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels.km.rounds import delete_covers, insert, narrow
from queryveil.methods.rounds.blocks import Block, Keys, held, joined, wished

# How much a term's frequency in the whole log protects it, by round. Common terms are what histories can share, so at
# first nearly all keep the same ones; later, what a history itself loses counts more.
_PROTECTION = (2.0, 1.0, 0.5, 0.25)
_TIE_BREAK = 0.01  # of terms that a history holds equally often the commoner one is put back first
_CAREFUL_FROM = 3  # rounds; from then on few histories lose anything, and each loss brings others


def is_careful(round_: int) -> bool:
    """Say whether blocks are told of combinations just above the bound too."""
    return round_ >= _CAREFUL_FROM


def slack(k: int) -> int:
    """Return how far above the bound a combination counts as just above it."""
    return 1 + (k + 1) // 3


def worth_of(block: Block, protection: float) -> NDArray[np.float64]:
    """Return what deleting each pair costs."""
    worth: NDArray[np.float64] = block.counts * block.occurrences.astype(np.float64) ** protection
    return worth


@dataclass(frozen=True)
class Question:
    """What blocks ask: who holds combinations of these sizes, and for which sums they want to be told."""

    sizes: tuple[int, ...]
    below: int | None = None
    at_least: int | None = None  # then it is about the combinations that inserting wanted terms would make

    def ask(self, block: Block) -> Keys:
        """Return the keys that a block sends."""
        keys = held(block, self.sizes)
        return keys if self.at_least is None else joined([keys, wished(block, self.sizes)])


class Act(Protocol):
    """What a block does when told; with a count of what it did."""

    def __call__(self, block: Block, told: Keys) -> tuple[Block, int]:
        """Return the block as it is afterwards, and the count."""


@dataclass(frozen=True)
class Cover:
    """Delete what hits the combinations that are held by too few; count these combinations."""

    k: int
    sizes: int
    round_: int

    def __call__(self, block: Block, told: Keys) -> tuple[Block, int]:
        """Do it."""
        kept = block.kept.copy()
        worth = worth_of(block, _PROTECTION[min(self.round_, len(_PROTECTION) - 1)])
        care = 1.0 if is_careful(self.round_) else 0.0
        n_bad = delete_covers(
            block.indptr, block.ids, worth, kept, self.sizes, told.high, told.low, told.people, self.k, care
        )
        return block.with_kept(kept), int(n_bad)


@dataclass(frozen=True)
class Without:
    """Delete terms from all histories; count the pairs that went."""

    terms: tuple[int, ...]

    def __call__(self, block: Block, told: Keys) -> tuple[Block, int]:
        """Do it."""
        kept = block.kept & ~np.isin(block.ids, np.array(self.terms, np.int32))
        return block.with_kept(kept), int(np.count_nonzero(block.kept) - np.count_nonzero(kept))


@dataclass(frozen=True)
class Narrow:
    """Give up what would make a combination with kept terms that too few hold; count what is still wanted."""

    sizes: int

    def __call__(self, block: Block, told: Keys) -> tuple[Block, int]:
        """Do it."""
        wanted = block.wanted.copy()
        n = narrow(block.indptr, block.ids, block.kept, wanted, self.sizes, told.high, told.low)
        return replace(block, wanted=wanted), int(n)


@dataclass(frozen=True)
class PutBack:
    """Put wanted terms back whose combinations are all held by enough people; count them."""

    sizes: int

    def __call__(self, block: Block, told: Keys) -> tuple[Block, int]:
        """Do it."""
        kept = block.kept.copy()
        worth = worth_of(block, _TIE_BREAK)
        n = insert(block.indptr, block.ids, worth, kept, block.wanted, self.sizes, told.high, told.low)
        return block.with_kept(kept), int(n)
