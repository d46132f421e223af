"""Word lists of sensitivity: what makes a query personal (decision 0026), and a user's list of sensitive words."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.lexicons.word_lists import (
    PersonalWordLists,
    frequent_names,
    ordinary_words,
    personal_places,
    private_words,
)
from queryveil.logs.terms import read_lines, terms

LISTED = 0.98  # the probability that a query of one listed word is sensitive
_NAMES = ("female", "male", "last")
# Names of two letters ("an", "le", "so") are mostly words, and so are rare ones of three ("edu", "bon")
_SHORTEST, _SHORTEST_OF_RARE, _RARE = 3, 4, 2
# Next to each other, two ordinary words are a name ("bill gates") if many people bear each, and not "my house"
_FREQUENT_FIRST, _FREQUENT_LAST = 100, 10  # as `_RARE`, in thousandths of a per cent of people


def load_lists(more_places: Path | None = None) -> PersonalWordLists:
    """Return the bundled lists, with a user's places added."""
    every, known = (frequent_names(*_NAMES, share=share) for share in (0, _RARE))
    names = {name for name in every if len(name) >= (_SHORTEST if name in known else _SHORTEST_OF_RARE)}
    known_places = _fold_texts(personal_places())
    if more_places is not None:
        known_places |= read_places(more_places)
    return PersonalWordLists(
        frozenset(names) - ordinary_words("name"),
        frequent_names("female", "male", share=_FREQUENT_FIRST),
        frequent_names("last", share=_FREQUENT_LAST),
        known_places,
        _fold_texts(private_words()),
    )


def _fold_texts(texts: Iterable[str]) -> frozenset[str]:
    """Return texts folded like queries: terms joined by single spaces."""
    return frozenset(" ".join(terms(text)) for text in texts)


def read_places(path: Path) -> frozenset[str]:
    """Read a list of places, one per line."""
    lines = read_lines(path, "--places: there is no file", "--places:")
    places = _fold_texts(line for _, line in lines) - {""}
    if not places:
        raise InputError(f"--places: {path} holds no place; write one on each line.")
    return places


def read_words(path: Path) -> Mapping[str, float]:
    """Read a list of sensitive words, one per line, as word → probability."""
    words: dict[str, float] = {}
    for number, line in read_lines(path, "there is no word list", "the word list"):
        found = terms(line)
        if len(found) != 1:
            raise InputError(f"{path}, line {number}: a word list has one word on each line; write them one by one.")
        words[found[0]] = LISTED
    if not words:
        raise InputError(f"the word list {path} holds no word; write one on each line.")
    return words
