"""Which query of a person a released one stands for, where queries were changed.

- `exact`: the same query, folded.
- `words`: a query with the same set of words, in whatever order and however often. Documents are sets of words then.
- `partial`: sets of words too. A released one stands for the person's query that contains all its words: the one with
  the fewest words (so itself, where the person issued it), among these the one issued most often, among these the
  first by its words in alphabetical order. Several may stand for the same one; one that no query of the person
  contains stays a document of its own.
- `terms`: documents are single words, each counted once per query that holds it.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Match = Literal["exact", "words", "partial", "terms"]
MATCHES: tuple[Match, ...] = get_args(Match)

Words = tuple[str, ...]  # sorted and unique


class Issued(NamedTuple):
    """A query that a person issued, as its words."""

    words: Words
    times: int


def word_sets(texts: pa.Array, ignored: frozenset[str] = frozenset()) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the set of words of every text as a number, and the sets as texts; ignored words are in none."""
    sets = [" ".join(sorted({*text.split()} - ignored)) for text in texts.to_pylist()]
    encoded = pa.array(sets, pa.large_string()).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary


class Finder:
    """Finds, among the queries of a person, the one that a released query stands for."""

    def __init__(self, issued: Sequence[Issued]) -> None:
        best_first = sorted(range(len(issued)), key=lambda i: (len(issued[i].words), -issued[i].times, issued[i].words))
        self._sets = [frozenset(query.words) for query in issued]
        self._holding: dict[str, list[int]] = {}  # word → queries that hold it, the best first
        for place in best_first:
            for word in issued[place].words:
                self._holding.setdefault(word, []).append(place)

    def find(self, words: Words) -> int | None:
        """Return the place of the query that a set of words stands for, if there is one; its own is always best."""
        holding = min((self._holding.get(word, []) for word in words), key=len, default=[])
        return next((place for place in holding if self._sets[place].issuperset(words)), None)
