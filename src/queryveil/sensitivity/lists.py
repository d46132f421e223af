"""Word lists of sensitivity: what makes a query personal (decision 0026), and a user's list of sensitive words."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.lexicons import word_lists
from queryveil.lexicons.places import places
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.characters import terms

LISTED = 0.98  # the probability that a query of one listed word is sensitive
_SHORTEST = 3  # letters of a word that is a name or a place by itself: "an", "le" and "so" are last names too


def load_lists(more_places: Path | None = None) -> PersonalWordLists:
    """Return the bundled lists, with a user's places added."""
    first = _fold_texts((*word_lists.load_names("female"), *word_lists.load_names("male")))
    last = _fold_texts(word_lists.load_names("last"))
    names = frozenset(name for name in first | last if len(name) >= _SHORTEST) - _common_words()
    known_places = frozenset(place for place in _fold_texts(tuple(places())) if len(place) >= _SHORTEST)
    if more_places is not None:
        known_places |= read_places(more_places)
    return PersonalWordLists(names, first, last, known_places, _fold_texts(tuple(word_lists.private_words())))


def _fold_texts(texts: tuple[str, ...]) -> frozenset[str]:
    """Return texts folded like queries: terms joined by single spaces."""
    return frozenset(" ".join(terms(text)) for text in texts)


@cache
def _common_words() -> frozenset[str]:
    """Return the lemmas of WordNet that are not only names of individuals."""
    wordnet = load_wordnet()
    return frozenset(
        lemma
        for lemma in wordnet.lemmas
        if not all(wordnet.is_instance(int(synset)) for synset in wordnet.synsets(lemma))
    )


def _read_lines(path: Path, missing: str, subject: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a list without empty ones and comments (#); the texts begin error sentences."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"{missing} {path}; check the path.") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{subject} {path} cannot be read as UTF-8 text; save it as such.") from None
    return [(n, line) for n, line in enumerate(lines, start=1) if line.strip() and not line.lstrip().startswith("#")]


def read_places(path: Path) -> frozenset[str]:
    """Read a list of places, one per line."""
    lines = _read_lines(path, "--places: there is no file", "--places:")
    places = _fold_texts(tuple(line for _, line in lines)) - {""}
    if not places:
        raise InputError(f"--places: {path} holds no place; write one on each line.")
    return places


def read_words(path: Path) -> Mapping[str, float]:
    """Read a list of sensitive words, one per line, as word → probability."""
    words: dict[str, float] = {}
    for number, line in _read_lines(path, "there is no word list", "the word list"):
        found = terms(line)
        if len(found) != 1:
            raise InputError(f"{path}, line {number}: a word list has one word on each line; write them one by one.")
        words[found[0]] = LISTED
    if not words:
        raise InputError(f"the word list {path} holds no word; write one on each line.")
    return words
