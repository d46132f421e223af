"""How often the terms of a synthetic log are used, counted block by block."""

from dataclasses import dataclass

import numpy as np

from queryveil.core.rows import IntArray
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon
from queryveil.logs.generate.weighted_ids import Ids


@dataclass(frozen=True, eq=False)
class TermUsage:
    """The terms of a log with the number of queries and of people that use each."""

    texts: list[str]
    frequency: IntArray  # (terms,): queries
    users: IntArray  # (terms,): people


class TermCounter:
    """Counts queries and people per term; all queries of a person must be in one block."""

    def __init__(self) -> None:
        self.frequency = np.zeros(0, np.int64)  # (terms,): queries
        self.users = np.zeros(0, np.int64)  # (terms,): people
        self.largest = 0  # terms that one person used

    def add(self, owners: IntArray, terms: Ids) -> None:
        """Count a block of queries, each with the person who typed it and its distinct terms."""
        is_term = terms != NOTHING
        flat = terms[is_term].astype(np.int64)
        width = max(int(flat.max(initial=0)) + 1, len(self.users))
        pairs = np.sort(np.repeat(owners, is_term.sum(axis=1)) * width + flat)
        holders, held = np.divmod(pairs[np.diff(pairs, prepend=-1) != 0], width)
        grown = (0, width - len(self.users))
        self.frequency = np.pad(self.frequency, grown) + np.bincount(flat, minlength=width)
        self.users = np.pad(self.users, grown) + np.bincount(held, minlength=width)
        self.largest = max(self.largest, int(np.bincount(holders).max(initial=0)))

    def usage(self, lexicon: QueryLexicon) -> TermUsage:
        """Return the terms that occurred, in the order of their ids."""
        used = np.flatnonzero(self.users)
        return TermUsage(lexicon.texts.take(used).to_pylist(), self.frequency[used], self.users[used])
