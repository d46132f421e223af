"""From the characters of a query to its terms: NFC, then the character class, then lower case by our own table.

The same on every engine: engines disagree on Unicode versions and on characters such as İ, and class and lower
case do not commute. A character outside the class is white space.
"""

import unicodedata
from functools import cache

# Burghardt et al. 2010, section 5.1: [A-Za-z0-9À-ÖÛ-Ýß-öü-ž]; it drops Ø, Ù, ù, û and all other scripts.
_PAPER_RANGES = (("A", "Z"), ("a", "z"), ("0", "9"), ("À", "Ö"), ("Û", "Ý"), ("ß", "ö"), ("ü", "ž"))


class _Table(dict[int, str]):
    """Character → what it becomes, filled in as characters are met."""

    def __init__(self, charset: str) -> None:
        super().__init__()
        self.charset = charset

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = _lower(character) if _belongs(character, self.charset) else " "
        return self[code]


def _belongs(character: str, charset: str) -> bool:
    """Say whether a character is part of terms; marks belong to the letter before them in many scripts."""
    if charset == "paper":
        return any(low <= character <= high for low, high in _PAPER_RANGES)
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd"


def _lower(character: str) -> str:
    """Return one character in lower case; the one whose lower case is two (İ) becomes the first of them."""
    return character.lower()[0]


@cache
def _table(charset: str) -> _Table:
    return _Table(charset)


def fold(text: str, charset: str = "letters") -> str:
    """Return the text in which only characters of terms and white space are left, in lower case."""
    return unicodedata.normalize("NFC", text).translate(_table(charset))


def terms(text: str, charset: str = "letters") -> list[str]:
    """Return the terms of a query as typed, in order, with repetitions."""
    return fold(text, charset).split()
