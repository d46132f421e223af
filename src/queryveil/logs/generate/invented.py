"""Words that stand in no dictionary: made-up sites, brands, towns and model numbers."""

from collections.abc import Callable
from functools import cache
from itertools import islice

import numpy as np

from queryveil.lexicons.wordnet import NOUN, load_wordnet

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "cr", "dr", "fl", "gr", "sp", "st", "tr")
_VOWELS = tuple("aaeeiioou")
_CODAS = ("", "", "", "", "l", "n", "r", "s", "x")
_STARTS = ("my", "e", "go", "all", "the", "i", "super", "just", "net", "pro", "ez", "best")
_ENDS = ("net", "online", "world", "mart", "space", "zone", "central", "shop", "web", "city", "direct", "link", "spot")
_BRAND_ENDS = (
    "tek",
    "co",
    "matic",
    "ex",
    "sonic",
    "craft",
    "ware",
    "line",
    "ia",
    "max",
    "tron",
    "bilt",
    "flex",
    "ette",
)
_TOWN_ENDS = ("ville", "ton", "burg", "field", "wood", "dale", "port", " springs", " city", " falls", " park", " hills")
_MODEL_LETTERS = tuple("abcdefgklmnprstvxz")

_COMMON = 900  # the most familiar short nouns make the compounds


def site_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of web sites: mostly compounds of common words, else coined words."""
    return distinct(n, rng, _site_batch)


def brand_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of brands: coined words, and common words with an ending that sounds technical."""
    return distinct(n, rng, _brand_batch)


def town_names(n: int, last_names: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Make n names of small towns after the families that founded them."""
    founders = rng.integers(len(last_names), size=n).tolist()
    ends = rng.integers(len(_TOWN_ENDS), size=n).tolist()
    return [last_names[founder] + _TOWN_ENDS[end] for founder, end in zip(founders, ends, strict=True)]


def model_numbers(n: int, rng: np.random.Generator) -> list[str]:
    """Make n model numbers, such as dv8000 or x41."""
    letters = _pick(_MODEL_LETTERS, 2 * n, rng)
    lengths = rng.integers(1, 3, size=n).tolist()
    numbers = (rng.integers(1, 100, size=n) * 10 ** rng.integers(0, 3, size=n)).tolist()
    return [
        "".join(letters[2 * at : 2 * at + length]) + str(number)
        for at, (length, number) in enumerate(zip(lengths, numbers, strict=True))
    ]


def handles(first_names: list[str], rng: np.random.Generator) -> list[str]:
    """Make a screen name from each first name, such as jennyball87 or lakemark4."""
    nouns = _pick(_short_nouns(), len(first_names), rng)
    numbers = rng.integers(1, 2_010, size=len(first_names)).tolist()
    orders = rng.integers(2, size=len(first_names)).tolist()
    parts = zip(first_names, nouns, numbers, orders, strict=True)
    return [(f"{name}{noun}{number}", f"{noun}{name}{number}")[order] for name, noun, number, order in parts]


def coined(n: int, rng: np.random.Generator) -> list[str]:
    """Coin n words of two syllables, some of three."""
    syllables = [
        onset + vowel + coda
        for onset, vowel, coda in zip(
            _pick(_ONSETS, 3 * n, rng), _pick(_VOWELS, 3 * n, rng), _pick(_CODAS, 3 * n, rng), strict=True
        )
    ]
    lengths = rng.choice((2, 2, 2, 3), size=n).tolist()
    return ["".join(syllables[3 * at : 3 * at + length]) for at, length in enumerate(lengths)]


def _site_batch(n: int, rng: np.random.Generator) -> list[str]:
    nouns = _short_nouns()
    first, second = _pick(nouns, n, rng), _pick(nouns, n, rng)
    starts, ends, words = _pick(_STARTS, n, rng), _pick(_ENDS, n, rng), coined(n, rng)
    sorts = zip(starts, first, second, ends, words, rng.integers(4, size=n).tolist(), strict=True)
    return [(first + second, start + first, first + end, word)[sort] for start, first, second, end, word, sort in sorts]


def _brand_batch(n: int, rng: np.random.Generator) -> list[str]:
    nouns, ends, words = _pick(_short_nouns(), n, rng), _pick(_BRAND_ENDS, n, rng), coined(n, rng)
    sorts = rng.integers(2, size=n).tolist()
    return [(word, noun + end)[sort] for noun, end, word, sort in zip(nouns, ends, words, sorts, strict=True)]


@cache
def _short_nouns() -> tuple[str, ...]:
    """Return the most familiar short nouns."""
    wordnet = load_wordnet()
    first = wordnet.sense_synsets[wordnet.sense_indptr[:-1]]
    nouns = np.flatnonzero(wordnet.parts[first] == NOUN)
    nouns = nouns[np.argsort(-wordnet.gloss_counts[nouns], kind="stable")]
    words = (wordnet.lemmas[lemma] for lemma in nouns.tolist())
    return tuple(islice((word for word in words if word.isalpha() and 3 <= len(word) <= 6), _COMMON))


def _pick(choices: tuple[str, ...], n: int, rng: np.random.Generator) -> list[str]:
    return [choices[at] for at in rng.integers(len(choices), size=n).tolist()]


def distinct(n: int, rng: np.random.Generator, make: Callable[[int, np.random.Generator], list[str]]) -> list[str]:
    """Make words until n differ, in the order in which they came."""
    found: dict[str, None] = {}
    while len(found) < n:
        found.update(dict.fromkeys(make(n - len(found), rng)))
    return list(islice(found, n))
