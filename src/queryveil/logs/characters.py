"""Splitting a query into terms: Unicode NFC, then a character class, then lower case by a table.

Python does it for every engine, since engines differ in Unicode versions and in characters such as İ. The order
matters: class and lower case do not commute. A character outside the class is white space.
"""

import unicodedata
from functools import cache

# Burghardt et al. 2010, section 5.1: [A-Za-z0-9À-ÖÛ-Ýß-öü-ž]; it drops Ø, Ù, ù, û and all other scripts.
_PAPER_RANGES = (("A", "Z"), ("a", "z"), ("0", "9"), ("À", "Ö"), ("Û", "Ý"), ("ß", "ö"), ("ü", "ž"))


class _TranslationTable(dict[int, str]):
    """Translation table: character → its lower case or a space, filled in on first use."""

    def __init__(self, charset: str) -> None:
        super().__init__()
        self.charset = charset

    def __missing__(self, code: int) -> str:
        character, category = chr(code), unicodedata.category(chr(code))
        if self.charset == "paper":
            belongs = any(low <= character <= high for low, high in _PAPER_RANGES)
        else:
            belongs = category[0] in "LM" or category == "Nd"  # in many scripts marks belong to the letter before them
        # İ, whose lower case is two characters, becomes the first of them
        self[code] = character.lower()[0] if belongs else " "
        return self[code]


_table = cache(_TranslationTable)


def fold(text: str, charset: str = "letters") -> str:
    """Return the text in lower case, with every character that is not part of terms replaced by a space."""
    return unicodedata.normalize("NFC", text).translate(_table(charset))


def terms(text: str, charset: str = "letters") -> list[str]:
    """Return the terms of a query in order, with repetitions."""
    return fold(text, charset).split()
