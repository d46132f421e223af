"""What every measure looks at: an original log, what was released of it, and what its terms are worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.rows import per_entry
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Kind
from queryveil.market.table import Market
from queryveil.measures import NEEDS_MARKET
from queryveil.semantics.network import Network, wordnet

UNKNOWN_OCCURRENCES = "needs --private, or a release of kind log"


@dataclass(frozen=True, eq=False)
class Comparison:
    """An original log beside what was released of it."""

    kind: Kind  # says what an item is: a term or a whole query
    original: Profiles
    released: Profiles  # its own vocabulary; counts are occurrences, except for "histories": all 1
    history_of: NDArray[np.int64] | None  # released history → original history; None without the private folder
    market: Market | None = None  # what terms are worth, where that was given

    @property
    def network(self) -> Network:
        """Return what tells how far apart terms are."""
        return wordnet()

    @property
    def one_history_each(self) -> bool:
        """Say whether every person of the original has one history, so that a released history is a person."""
        return self.original.n_histories == self.original.n_people

    @property
    def counts_people(self) -> bool:
        """Say whether it is known which released histories belong to the same person."""
        return self.history_of is not None or self.one_history_each

    def released_owner(self) -> NDArray[np.int32]:
        """Return the person behind each released history; unless that is known, the history stands for itself."""
        if self.history_of is None:
            return self.released.owner
        return self.original.owner[self.history_of]

    def released_occurrences(self) -> NDArray[np.int32] | None:
        """Return how often every released pair is in the log; None where the release does not tell."""
        if self.kind.has_occurrences:
            return self.released.counts
        if self.history_of is None:
            return None
        return _original_counts(self.original, self.released, self.history_of)

    def needed_market(self, measure: str) -> Market:
        """Return the market table, or say that a measure needs it."""
        if self.market is None:
            raise InputError(NEEDS_MARKET.format(measure))
        return self.market


def _original_counts(original: Profiles, released: Profiles, history_of: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return, for every released pair, how often it is in the original; 0 where it is not there at all."""
    number = {entry: i for i, entry in enumerate(original.vocabulary.entries)}
    original_id = np.array([number.get(entry, -1) for entry in released.vocabulary.entries], np.int64)
    width = len(original.vocabulary) + 1  # one id more: that of a term the original does not have
    # keys: (original history, original id) as one number; the original's ascend, since its rows do
    rows = original.row_numbers()
    keys = rows * width + original.ids
    wanted = per_entry(history_of, released.indptr) * width + original_id[released.ids] % width
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, original.counts[place], 0)
