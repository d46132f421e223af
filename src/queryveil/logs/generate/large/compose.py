"""Fresh queries as rows of term numbers: patterns of slots, filled from the racks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.large.rack import Numbers
from queryveil.logs.generate.large.words import RARE, Words

LONGEST = 8
NOTHING = -1  # in a row, after its terms
_ATTEMPTS = 3  # to replace a term that stands in a query twice
_WORD = ord("W")

# Slots: W word of the topic, C companion of it, G glue, O opening, E errand, V what one asks of a product or site,
# T place, Z state, F L names, S site, A M www and com, B brand, X rare term. Pattern → share among those of its length.
_PATTERNS: dict[str, float] = {
    **{"W": 44, "S": 25, "X": 12, "L": 4, "T": 5, "B": 6, "F": 2, "C": 2},
    **{"WC": 26, "WW": 20, "OW": 12, "SM": 7, "FL": 10, "BW": 5, "XW": 6, "TE": 5, "BX": 3, "SV": 3},
    **{"ASM": 6, "OWC": 12, "WWC": 16, "WGW": 18, "WWW": 8, "FLW": 5, "TZE": 6, "BXV": 4, "BWV": 5, "XGW": 5, "FLX": 4},
    **{"OWGW": 14, "WGWC": 18, "WWGW": 16, "WWWC": 12, "FLGT": 6, "EGTZ": 8, "BXWV": 6, "GWGX": 6, "OWXW": 6},
    **{"OWGWC": 16, "WWGWC": 16, "GWGWW": 14, "WEGTZ": 12, "BWXGV": 8, "FLGTZ": 6, "WGXGW": 8},
    **{"GOWGWC": 14, "WWGWGW": 14, "OWWGWC": 12, "WGWGTZ": 10, "GWXGWC": 8},
    **{"GOWGWWC": 12, "WWGWGWC": 12, "OWWGEGT": 8, "GWXGWGW": 8},
    **{"GOWGWWGC": 12, "WWGWGWGC": 12, "OWWGEGTZ": 8, "GWXGWGWW": 8},
}


@dataclass(frozen=True, eq=False)
class Wanted:
    """The queries to be composed, an entry each."""

    topics: NDArray[np.int64]
    lengths: NDArray[np.int64]  # terms, 1 to LONGEST
    rarity: NDArray[np.float64]  # chance that a word of the topic gives way to a rare term
    strange: NDArray[np.float64]  # chance that any other does

    def __len__(self) -> int:
        return len(self.topics)


@dataclass(frozen=True, eq=False)
class _Forms:
    """The patterns of one length."""

    bounds: NDArray[np.float64]  # (patterns,): cumulated shares
    slots: NDArray[np.uint8]  # (patterns, length): the letters


def _forms(length: int) -> _Forms:
    patterns = [pattern for pattern in _PATTERNS if len(pattern) == length]
    bounds = np.cumsum([_PATTERNS[pattern] for pattern in patterns])
    return _Forms(bounds / bounds[-1], np.array([list(pattern.encode()) for pattern in patterns], np.uint8))


_FORMS = tuple(_forms(length) for length in range(1, LONGEST + 1))


def compose(wanted: Wanted, words: Words, rng: np.random.Generator) -> Numbers:
    """Make the queries: (queries, LONGEST), NOTHING after the last term of each."""
    slots = _slots(wanted, rng)
    queries = np.full(slots.shape, NOTHING, np.int32)
    for letter, rack in words.racks.items():
        rows, columns = np.nonzero(slots == ord(letter))
        queries[rows, columns] = rack.draw(wanted.topics[rows], rng)
    _replace_doubles(queries, wanted.topics, words, rng)
    return queries


def _slots(wanted: Wanted, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw a pattern for each query, 0 after its end."""
    slots = np.zeros((len(wanted), LONGEST), np.uint8)
    for length, forms in enumerate(_FORMS, 1):
        rows = np.flatnonzero(wanted.lengths == length)
        chosen = np.searchsorted(forms.bounds[:-1], rng.random(len(rows)), side="right")
        slots[rows, :length] = forms.slots[chosen]
    chance = np.where(slots == _WORD, wanted.rarity[:, None], wanted.strange[:, None])
    slots[(slots != 0) & (rng.random(slots.shape) < chance)] = ord(RARE)
    return slots


def _replace_doubles(queries: Numbers, topics: NDArray[np.int64], words: Words, rng: np.random.Generator) -> None:
    """Put another word of the topic where a term stands in a query for the second time."""
    rows = np.arange(len(queries))
    for _ in range(_ATTEMPTS):
        part = queries[rows]
        where, columns = np.nonzero(doubles(part))
        part[where, columns] = words.racks["W"].draw(topics[rows[where]], rng)
        queries[rows] = part
        rows = rows[np.unique(where)]


def doubles(queries: Numbers) -> NDArray[np.bool_]:
    """Mark each term that stands further left in its row already."""
    found = np.zeros(queries.shape, np.bool_)
    for column in range(1, queries.shape[1]):
        for before in range(column):
            found[:, column] |= queries[:, column] == queries[:, before]
    found &= queries != NOTHING
    return found
