"""What most measures look at: an original log, the histories released of it, and what its terms are worth."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.rows import Int32Array, IntArray
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Kind
from queryveil.market import Market
from queryveil.measures import NEEDS_MARKET

# whether every person has one history; else whether it is known which released histories belong to the same person
Ownership = Literal["one each", "known", "unknown"]
_AT_ONCE = 500_000  # pairs that are looked up, to save memory
UNKNOWN_OCCURRENCES = "needs --private, or a release of kind log"


@dataclass(frozen=True, eq=False)
class Comparison:
    """An original log and the histories released of it."""

    kind: Kind  # says what an item is: a term or a whole query
    original: Profiles
    released: Profiles  # its own vocabulary; counts are occurrences, except for "histories": all 1
    history_of: IntArray | None  # released history → original history; None without the private folder
    market: Market | None = None  # what terms are worth, if given
    is_in_pieces: bool = False  # some history was released as several

    @property
    def ownership(self) -> Ownership:
        """Return what is known about whose the released histories are."""
        if self.original.n_histories == self.original.n_people and not self.is_in_pieces:
            return "one each"
        return "unknown" if self.history_of is None else "known"

    def released_owner(self) -> Int32Array:
        """Return the person of each released history; if unknown, each history counts as a person."""
        return self.released.owner if self.history_of is None else self.original.owner[self.history_of]

    def released_occurrences(self) -> Int32Array | None:
        """Return how often every released pair is in the log; None if that is unknown."""
        if self.kind.has_occurrences:
            return self.released.counts
        if self.history_of is None:
            return None
        original, released = self.original, self.released
        number = {entry: i for i, entry in enumerate(original.vocabulary)}
        width = len(number) + 1  # the last id is for terms that the original does not have
        original_id = np.array([number.get(entry, width - 1) for entry in released.vocabulary], np.int32)
        keys = np.repeat(np.arange(original.n_histories) * width, np.diff(original.indptr))
        keys += original.ids  # (history, id) as one number, ascending
        wanted = np.repeat(self.history_of * width, np.diff(released.indptr))
        wanted += original_id[released.ids]
        occurrences = np.empty(len(wanted), np.int32)
        for start in range(0, len(wanted), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            position = np.searchsorted(keys, wanted[some])
            position[position == len(keys)] = 0
            occurrences[some] = np.where(keys[position] == wanted[some], original.counts[position], 0)
        return occurrences

    def required_market(self, measure: str) -> Market:
        """Return the market table; raise an error if it was not given."""
        if self.market is None:
            raise InputError(NEEDS_MARKET.format(measure))
        return self.market
