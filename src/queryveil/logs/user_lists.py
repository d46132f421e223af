"""Lists that users write, one entry on each line, and the terms that the owner of a log never publishes."""

import hashlib
from collections.abc import Collection, Iterable, Set
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.logs.characters import terms

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
