"""The long tail: terms that hardly anybody else types, each made up when somebody types it."""

from collections.abc import Iterable

import numpy as np

from queryveil.lexicons.word_lists import female_names, last_names, male_names
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate.invented import brand_names, coined, handles, model_numbers, site_names

_BATCH = 12_000


class Tail:
    """An endless supply of rare terms, none of them twice and none that is known otherwise."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._seen = set(taken)
        self._known = _known_words()
        self._ready: list[str] = []

    def take(self, n: int, rng: np.random.Generator) -> list[str]:
        """Return n terms: slips of the finger, screen names, models, sites, rare words and families."""
        while len(self._ready) < n:
            made = dict.fromkeys(_batch(_BATCH, self._known, rng))
            fresh = [term for term in made if term not in self._seen]
            self._seen.update(fresh)
            self._ready += fresh
        taken, self._ready = self._ready[:n], self._ready[n:]
        return taken


def _batch(n: int, known: list[str], rng: np.random.Generator) -> list[str]:
    """Make a mixture, the sorts shuffled."""
    first = [*female_names().names, *male_names().names]
    sixth = n // 6
    owners = [first[at] for at in rng.integers(len(first), size=sixth).tolist()]
    mixed = [
        *_slips([known[at] for at in rng.integers(len(known), size=2 * sixth).tolist()], rng),
        *(known[at] for at in rng.integers(len(known), size=sixth).tolist()),
        *handles(owners, rng),
        *model_numbers(sixth // 3, rng),
        *coined(sixth // 3, rng),
        *site_names(sixth, rng),
        *brand_names(sixth // 3, rng),
    ]
    return [mixed[at] for at in rng.permutation(len(mixed)).tolist()]


def _known_words() -> list[str]:
    """Return the words of the dictionary and the families, each once."""
    words = (word for word in load_wordnet().lemmas if word.isascii() and word.isalpha() and len(word) > 3)
    return list(dict.fromkeys((*words, *last_names().names)))


def _slips(words: list[str], rng: np.random.Generator) -> list[str]:
    """Drop a letter of each word, type one twice, or swap two."""
    sorts = rng.integers(3, size=len(words)).tolist()
    luck = rng.random(len(words)).tolist()
    return [
        _slip(word, sort, 1 + int(share * (len(word) - 2)))
        for word, sort, share in zip(words, sorts, luck, strict=True)
    ]


def _slip(word: str, sort: int, at: int) -> str:
    if sort == 0:
        return word[:at] + word[at + 1 :]
    if sort == 1:
        return word[:at] + word[at - 1 : at] + word[at:]
    return word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
