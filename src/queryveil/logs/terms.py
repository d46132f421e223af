"""Splitting a query into terms, and lists of terms that users write.

Terms are made by Unicode NFC, then a character class, then lower case by a table.
Python does it for every engine, since engines differ in Unicode versions and in characters such as İ. The order
matters: class and lower case do not commute. A character outside the class is white space.
"""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Set
from functools import cache
from pathlib import Path

from queryveil.core.errors import InputError

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


_SEPARATOR = "|"  # between the terms of a published name that lists several


def read_lines(path: Path, missing: str, subject: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a list without empty ones and comments (#); the texts begin error sentences."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"{missing} {path}; check the path.") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{subject} {path} cannot be read as UTF-8 text; save it as such.") from None
    return [(n, line) for n, line in enumerate(lines, start=1) if line.strip() and not line.lstrip().startswith("#")]


def read_terms(path: Path, charset: str, flag: str = "--exclude-terms") -> frozenset[str]:
    """Read the terms that an option lists, one per line, in the form that cleaning gives the terms of a log."""
    found = set()
    for number, line in read_lines(path, f"{flag}: there is no file", f"{flag}:"):
        cleaned = terms(line, charset)
        if len(cleaned) != 1:
            what = "several terms" if cleaned else "no term"
            raise InputError(
                f"{flag}: {path}, line {number:,} is {what} once it is cleaned (--charset {charset}), so it "
                "never matches one; write one term on each line."
            )
        found.add(cleaned[0])
    if not found:
        raise InputError(f"{flag}: {path} holds no term; write one on each line, or leave the option out.")
    return frozenset(found)


def excluded_in(text: str, excluded: Set[str]) -> Set[str]:
    """Return the excluded terms that a text holds: a term, a query, a published name or a URL."""
    # folded terms are compared as they are too, so that folding them once more can hide nothing
    return excluded & {*terms(text), *text.replace(_SEPARATOR, " ").split()}


def hold_excluded(texts: Iterable[str], excluded: Set[str]) -> list[bool]:
    """Return for each text whether it holds an excluded term."""
    return [bool(excluded_in(text, excluded)) for text in texts]


def excluded_digest(excluded: Collection[str], salt: str) -> str:
    """Return a digest of a list of terms that is slow to compute, since short lists could be guessed by trying."""
    data = "\n".join(sorted(excluded)).encode()
    return hashlib.scrypt(data, salt=salt.encode(), n=1 << 14, r=8, p=1, dklen=32).hex()
