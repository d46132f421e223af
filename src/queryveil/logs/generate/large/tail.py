"""The long tail: terms that hardly anybody else types."""

import numpy as np

from queryveil.lexicons.names import female_names, last_names, male_names
from queryveil.lexicons.wordnet import load
from queryveil.logs.generate.invented import brand_names, coined, distinct, handles, model_numbers, site_names

_BATCH = 100_000


def tail_terms(n: int, rng: np.random.Generator) -> list[str]:
    """Make n rare terms of all sorts: slips of the finger, screen names, models, sites, rare words and families."""
    known = _known_words()
    return distinct(n, rng, lambda wanted, source: _batch(min(max(wanted, 1_000), _BATCH), known, source))


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
    words = (word for word in load().lemmas if word.isascii() and word.isalpha() and len(word) > 3)
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
