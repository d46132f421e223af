"""The lists by which a query is about a person, a place or something private; documented in decision 0020."""

from functools import cache
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.lexicons import names, places, private_words, wordnet
from queryveil.lexicons.private_words import PersonalWordLists
from queryveil.logs.characters import terms

_SHORTEST = 3  # letters of a word that is a name or a place by itself: "an", "le" and "so" are last names too


def load_lists(more_places: Path | None = None) -> PersonalWordLists:
    """Return the bundled lists, with a user's places added."""
    first = _folded((*names.female_names().names, *names.male_names().names))
    last = _folded(names.last_names().names)
    alone = frozenset(name for name in first | last if len(name) >= _SHORTEST) - _common_words()
    where = frozenset(place for place in _folded(tuple(places.load())) if len(place) >= _SHORTEST)
    if more_places is not None:
        where |= read_places(more_places)
    return PersonalWordLists(alone, first, last, where, _folded(tuple(private_words.load())))


def _folded(texts: tuple[str, ...]) -> frozenset[str]:
    """Return texts as queries are: terms joined by single spaces."""
    return frozenset(" ".join(terms(text)) for text in texts)


@cache
def _common_words() -> frozenset[str]:
    """Return the words of WordNet that are more than the name of one single thing."""
    network = wordnet.load()
    return frozenset(
        lemma
        for lemma in network.lemmas
        if not all(network.is_instance(int(synset)) for synset in network.synsets(lemma))
    )


def read_places(path: Path) -> frozenset[str]:
    """Read a list of places, one on each line; empty lines and those that begin with # are left out."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"--places: there is no file {path}; check the path.") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"--places: {path} cannot be read as UTF-8 text; save it as such.") from None
    found = _folded(tuple(line for line in lines if not line.lstrip().startswith("#"))) - {""}
    if not found:
        raise InputError(f"--places: {path} holds no place; write one on each line.")
    return found
