"""Texts in no dictionary: names of sites, brands and towns, model numbers, misspelled words, direct identifiers.

No identifier can belong to anybody: addresses are at example.com, telephone numbers in the range 555-0100 to 555-0199
that is reserved for fiction, and long numbers begin with 000, which neither social security nor card numbers do.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import islice
from types import MappingProxyType

import numpy as np

from queryveil.lexicons.word_lists import load_names
from queryveil.lexicons.wordnet import NOUN, load_wordnet
from queryveil.logs.generate.shape import Slot

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "cr", "dr", "fl", "gr", "sp", "st", "tr")
_VOWELS = "aaeeiioou"
_CODAS = ("", "", "", "", "l", "n", "r", "s", "x")
_SITE_STARTS, _SITE_ENDS, _BRAND_ENDS, _TOWN_ENDS = (
    text.split(",")
    for text in (
        "my,e,go,all,the,i,super,just,net,pro,ez,best",
        "net,online,world,mart,space,zone,central,shop,web,city,direct,link,spot",
        "tek,co,matic,ex,sonic,craft,ware,line,ia,max,tron,bilt,flex,ette",
        "ville,ton,burg,field,wood,dale,port, springs, city, falls, park, hills",
    )
)
_MODEL_LETTERS = "abcdefgklmnprstvxz"

_MakeNames = Callable[[int, np.random.Generator], list[str]]

_COMMON = 900  # the most familiar short nouns make the compounds
_RARE_BATCH = 12_000

IDENTIFIERS: Mapping[Slot, Callable[[str, str, int], str]] = MappingProxyType(
    {
        Slot.EMAIL: lambda first, last, number: f"{first}.{last}{number % 100}@example.com",
        Slot.TELEPHONE: lambda first, last, number: f"{200 + number % 700}-555-01{number // 1000 % 100:02}",
        Slot.SOCIAL_SECURITY: lambda first, last, number: f"000-{number % 100:02}-{number // 100 % 10_000:04}",
        Slot.CARD: lambda first, last, number: f"000{number:013}",
    }
)

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    letter: row[max(at - 1, 0) : at] + row[at + 1 : at + 2] for row in _KEYBOARD for at, letter in enumerate(row)
}
# Shorter words are rarely misspelled, and would not be readable
_LONG_WORD, _ANY_WORD = (re.compile(rf"(?<!\S)[a-z]{{{shortest},}}(?!\S)") for shortest in (4, 1))


def pick(choices: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    """Draw n of the choices, each equally likely."""
    return [choices[at] for at in rng.integers(len(choices), size=n).tolist()]


def _distinct(make: _MakeNames) -> _MakeNames:
    """Call a function that makes n names until n of them are different; keep the order in which they were made."""

    @wraps(make)
    def make_distinct(n: int, rng: np.random.Generator) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < n:
            found.update(dict.fromkeys(make(n - len(found), rng)))
        return list(islice(found, n))

    return make_distinct


@_distinct
def site_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of web sites: mostly compounds of common words, else coined words."""
    nouns = _short_nouns()
    first, second = pick(nouns, n, rng), pick(nouns, n, rng)
    starts, ends, words = pick(_SITE_STARTS, n, rng), pick(_SITE_ENDS, n, rng), coined_words(n, rng)
    sorts = zip(starts, first, second, ends, words, rng.integers(4, size=n).tolist(), strict=True)
    return [(first + second, start + first, first + end, word)[sort] for start, first, second, end, word, sort in sorts]


@_distinct
def brand_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of brands: coined words, and common words with an ending that sounds technical."""
    nouns, ends, words = pick(_short_nouns(), n, rng), pick(_BRAND_ENDS, n, rng), coined_words(n, rng)
    sorts = rng.integers(2, size=n).tolist()
    return [(word, noun + end)[sort] for noun, end, word, sort in zip(nouns, ends, words, sorts, strict=True)]


def town_names(n: int, families: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Make n names of small towns after the families that founded them."""
    founders, ends = pick(families, n, rng), pick(_TOWN_ENDS, n, rng)
    return [founder + end for founder, end in zip(founders, ends, strict=True)]


def model_numbers(n: int, rng: np.random.Generator) -> list[str]:
    """Make n model numbers, such as dv8000 or x41."""
    letters = "".join(pick(_MODEL_LETTERS, 2 * n, rng))
    lengths = rng.integers(1, 3, size=n).tolist()
    numbers = (rng.integers(1, 100, size=n) * 10 ** rng.integers(0, 3, size=n)).tolist()
    return [f"{letters[2 * at : 2 * at + lengths[at]]}{numbers[at]}" for at in range(n)]


def screen_names(first_names: list[str], rng: np.random.Generator) -> list[str]:
    """Make a screen name from each first name, such as jennyball87 or lakemark4."""
    nouns = pick(_short_nouns(), len(first_names), rng)
    numbers = rng.integers(1, 2_010, size=len(first_names)).tolist()
    orders = rng.integers(2, size=len(first_names)).tolist()
    parts = zip(first_names, nouns, numbers, orders, strict=True)
    return [(f"{name}{noun}{number}", f"{noun}{name}{number}")[order] for name, noun, number, order in parts]


def coined_words(n: int, rng: np.random.Generator) -> list[str]:
    """Coin n words of two syllables, some of three."""
    parts = [pick(choices, 3 * n, rng) for choices in (_ONSETS, _VOWELS, _CODAS)]
    syllables = ["".join(syllable) for syllable in zip(*parts, strict=True)]
    lengths = rng.choice((2, 2, 2, 3), size=n).tolist()
    return ["".join(syllables[3 * at : 3 * at + lengths[at]]) for at in range(n)]


def direct_identifiers(slot: Slot, names: Iterable[tuple[str, str]], rng: np.random.Generator) -> list[str]:
    """Make a direct identifier of one of the slots in IDENTIFIERS for each first and last name."""
    return [IDENTIFIERS[slot](first, last, int(rng.integers(10**13))) for first, last in names]


def misspell(
    texts: Sequence[str], rng: np.random.Generator, *, word: re.Pattern[str] = _LONG_WORD, n_slips: int = 4
) -> list[str]:
    """Make one of the first kinds of slip (drop, double, swap, replace) in the first match of `word` in each text."""
    slips, uniforms = rng.integers(n_slips, size=len(texts)).tolist(), rng.random(len(texts)).tolist()
    return [_misspell(text, word.search(text), *how) for text, *how in zip(texts, slips, uniforms, strict=True)]


def _misspell(text: str, word: re.Match[str] | None, slip: int, uniform: float) -> str:
    """Make one slip after the first letter of a word, which is rarely wrong; `uniform` in [0, 1) decides where."""
    if word is None:
        return text
    at = word.start() + 1 + int(uniform * (len(word.group()) - 2))
    before, letter, after = text[:at], text[at : at + 1], text[at + 1 :]
    if slip == 0:
        return before + after
    if slip == 1:
        return before + text[at - 1] + letter + after
    if slip == 2:
        return before + after[:1] + letter + after[1:]
    near = _NEIGHBOURS[letter]
    return before + near[int(uniform * 997) % len(near)] + after


class RareTerms:
    """An endless supply of rare terms, all different from each other and from the terms in use."""

    def __init__(self, in_use: Iterable[str]) -> None:
        self._seen = set(in_use)
        words = (word for word in load_wordnet().lemmas if word.isascii() and word.isalpha() and len(word) > 3)
        self._known = list(dict.fromkeys((*words, *load_names("last"))))
        self._ready: list[str] = []

    def take(self, n: int, rng: np.random.Generator) -> list[str]:
        """Return the next n terms."""
        while len(self._ready) < n:
            made = dict.fromkeys(_rare_batch(_RARE_BATCH, self._known, rng))
            fresh = [term for term in made if term not in self._seen]
            self._seen.update(fresh)
            self._ready += fresh
        taken, self._ready = self._ready[:n], self._ready[n:]
        return taken


@cache
def _short_nouns() -> tuple[str, ...]:
    """Return the most familiar short nouns."""
    wordnet = load_wordnet()
    first = wordnet.sense_synsets[wordnet.sense_indptr[:-1]]
    nouns = np.flatnonzero(wordnet.parts[first] == NOUN)
    nouns = nouns[np.argsort(-wordnet.gloss_counts[nouns], kind="stable")]
    words = (wordnet.lemmas[lemma] for lemma in nouns.tolist())
    return tuple(islice((word for word in words if word.isalpha() and 3 <= len(word) <= 6), _COMMON))


def _rare_batch(n: int, known: list[str], rng: np.random.Generator) -> list[str]:
    """Make a shuffled mixture of misspelled words, rare words and names, screen names, models, sites and brands."""
    sixth = n // 6
    owners = pick([*load_names("female"), *load_names("male")], sixth, rng)
    mixed = [
        *misspell(pick(known, 2 * sixth, rng), rng, word=_ANY_WORD, n_slips=3),
        *pick(known, sixth, rng),
        *screen_names(owners, rng),
        *model_numbers(sixth // 3, rng),
        *coined_words(sixth // 3, rng),
        *site_names(sixth, rng),
        *brand_names(sixth // 3, rng),
    ]
    return [mixed[at] for at in rng.permutation(len(mixed)).tolist()]
