"""Query patterns: strings of slots, one letter each, that are filled with entries of the lexicon.

The pattern `OWC` is an opening, a word of the topic and a companion of the topic: "free soup recipes".
"""

from collections.abc import Mapping
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import FloatArray, IntArray

LONGEST = 8  # slots, and terms, in a query

SlotCodes = NDArray[np.uint8]  # (queries, LONGEST): ord() of the slot, 0 after the last


class Slot(StrEnum):
    """What may stand at one position of a query. Entries are drawn slot by slot in this order."""

    TOPIC_WORD = "W"
    COMPANION = "C"  # a word that people add to queries about the topic
    GLUE = "G"  # a frequent word that goes with anything
    OPENING = "O"
    ERRAND = "E"  # what one looks for in a town
    DETAIL = "V"  # what one wants to know of a product or from a site
    STATE = "Z"
    PLACE = "T"
    FIRST_NAME = "F"
    LAST_NAME = "L"
    SITE = "S"
    BRAND = "B"
    WWW = "A"
    COM = "M"
    OPERATOR = "Q"  # "or", which is in no pattern: only some people combine terms by it
    RARE = "X"  # a rare term, made up when it is first used
    TOPIC_PLURAL = "P"
    PRODUCT_DETAIL = "J"
    SITE_DETAIL = "K"
    TRAVEL_DETAIL = "D"
    FAMOUS_NAME = "U"
    FAMOUS_LAST_NAME = "u"
    FAMOUS_DETAIL = "N"
    FAMILY_DETAIL = "R"
    AND = "&"
    IN = "i"
    # The same for all queries of a person
    HOME_TOWN = "H"
    HOME_STATE = "h"
    FAVOURITE_SITE = "Y"
    # The person's own name, or that of somebody they know
    KNOWN_FIRST_NAME = "f"
    KNOWN_LAST_NAME = "l"
    # Made up for each query
    MODEL_NUMBER = "#"
    SCREEN_NAME = "@"
    EMAIL = "e"
    TELEPHONE = "t"
    SOCIAL_SECURITY = "s"
    CARD = "c"


class PatternTable:
    """Patterns with their probabilities."""

    def __init__(self, patterns: Mapping[str, float], lengths: tuple[float, ...] = ()) -> None:
        """Take weights of patterns and of the lengths 1, 2, …; without lengths, the patterns' weights decide."""
        self.slots = frozenset(Slot(letter) for pattern in patterns for letter in pattern)
        by_length = {n: [p for p in patterns if len(p) == n] for n in range(1, LONGEST + 1)}
        weights = lengths or [sum(patterns[p] for p in of_length) for of_length in by_length.values()]
        self._lengths = _bounds(weights)
        self._patterns = {
            length: (
                _bounds([patterns[pattern] for pattern in of_length]),
                np.array([list(pattern.encode()) for pattern in of_length], np.uint8),
            )
            for length, of_length in by_length.items()
            if of_length
        }

    def draw_lengths(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw the number of slots of n queries."""
        return 1 + np.searchsorted(self._lengths, rng.random(n), side="right")

    def draw_slots(self, lengths: IntArray, rng: np.random.Generator) -> SlotCodes:
        """Draw a pattern of each given length."""
        slots = np.zeros((len(lengths), LONGEST), np.uint8)
        for length, (bounds, patterns) in self._patterns.items():
            rows = np.flatnonzero(lengths == length)
            slots[rows, :length] = patterns[np.searchsorted(bounds, rng.random(len(rows)), side="right")]
        return slots


def _bounds(weights: list[float] | tuple[float, ...]) -> FloatArray:
    """Return the cumulated probabilities without the last, which is 1."""
    cumulated = np.cumsum(weights)
    bounds: FloatArray = cumulated[:-1] / cumulated[-1]
    return bounds
