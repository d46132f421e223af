"""Texts in no dictionary: names of sites, brands and towns, model numbers, misspelled words, direct identifiers.

No identifier can belong to anybody: addresses are at example.com, telephone numbers in the range 555-0100 to 555-0199
that is reserved for fiction, and long numbers begin with 000, which neither social security nor card numbers do.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice
from types import MappingProxyType

import numpy as np

from queryveil.lexicons.word_lists import female_names, last_names, male_names
from queryveil.lexicons.wordnet import NOUN, load_wordnet
from queryveil.logs.generate.patterns import Slot


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


_ONSETS = (*"bcdfghjklmnprstvwz", "br", "cr", "dr", "fl", "gr", "sp", "st", "tr")
_VOWELS = tuple("aaeeiioou")
_CODAS = ("", "", "", "", "l", "n", "r", "s", "x")
_SITE_STARTS = _list("my,e,go,all,the,i,super,just,net,pro,ez,best")
_SITE_ENDS = _list("net,online,world,mart,space,zone,central,shop,web,city,direct,link,spot")
_BRAND_ENDS = _list("tek,co,matic,ex,sonic,craft,ware,line,ia,max,tron,bilt,flex,ette")
_TOWN_ENDS = _list("ville,ton,burg,field,wood,dale,port, springs, city, falls, park, hills")
_MODEL_LETTERS = tuple("abcdefgklmnprstvxz")

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
_LONG_WORD = re.compile(r"(?<!\S)[a-z]{4,}(?!\S)")  # shorter words are rarely misspelled, and would not be readable


def site_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of web sites: mostly compounds of common words, else coined words."""
    return _distinct(n, rng, _site_batch)


def brand_names(n: int, rng: np.random.Generator) -> list[str]:
    """Make n names of brands: coined words, and common words with an ending that sounds technical."""
    return _distinct(n, rng, _brand_batch)


def town_names(n: int, families: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Make n names of small towns after the families that founded them."""
    founders, ends = _pick(families, n, rng), _pick(_TOWN_ENDS, n, rng)
    return [founder + end for founder, end in zip(founders, ends, strict=True)]


def model_numbers(n: int, rng: np.random.Generator) -> list[str]:
    """Make n model numbers, such as dv8000 or x41."""
    letters = _pick(_MODEL_LETTERS, 2 * n, rng)
    lengths = rng.integers(1, 3, size=n).tolist()
    numbers = (rng.integers(1, 100, size=n) * 10 ** rng.integers(0, 3, size=n)).tolist()
    return [
        "".join(letters[2 * at : 2 * at + length]) + str(number)
        for at, (length, number) in enumerate(zip(lengths, numbers, strict=True))
    ]


def screen_names(first_names: list[str], rng: np.random.Generator) -> list[str]:
    """Make a screen name from each first name, such as jennyball87 or lakemark4."""
    nouns = _pick(_short_nouns(), len(first_names), rng)
    numbers = rng.integers(1, 2_010, size=len(first_names)).tolist()
    orders = rng.integers(2, size=len(first_names)).tolist()
    parts = zip(first_names, nouns, numbers, orders, strict=True)
    return [(f"{name}{noun}{number}", f"{noun}{name}{number}")[order] for name, noun, number, order in parts]


def coined_words(n: int, rng: np.random.Generator) -> list[str]:
    """Coin n words of two syllables, some of three."""
    syllables = [
        onset + vowel + coda
        for onset, vowel, coda in zip(
            _pick(_ONSETS, 3 * n, rng), _pick(_VOWELS, 3 * n, rng), _pick(_CODAS, 3 * n, rng), strict=True
        )
    ]
    lengths = rng.choice((2, 2, 2, 3), size=n).tolist()
    return ["".join(syllables[3 * at : 3 * at + length]) for at, length in enumerate(lengths)]


def direct_identifiers(slot: Slot, names: Iterable[tuple[str, str]], rng: np.random.Generator) -> list[str]:
    """Make a direct identifier of one of the slots in IDENTIFIERS for each first and last name."""
    return [IDENTIFIERS[slot](first, last, int(rng.integers(10**13))) for first, last in names]


def misspell_words(words: list[str], rng: np.random.Generator) -> list[str]:
    """Drop, double or swap a letter of each word."""
    return [_misspell(*arguments) for arguments in zip(words, *_draw_slips(len(words), 3, rng), strict=True)]


def misspell_phrases(phrases: list[str], rng: np.random.Generator) -> list[str]:
    """Drop, double, swap or replace a letter of the first long word of each phrase; leave phrases without one as is."""
    typed = []
    for phrase, slip, uniform in zip(phrases, *_draw_slips(len(phrases), 4, rng), strict=True):
        match = _LONG_WORD.search(phrase)
        if match:
            phrase = phrase[: match.start()] + _misspell(match.group(), slip, uniform) + phrase[match.end() :]
        typed.append(phrase)
    return typed


def _draw_slips(n: int, n_kinds: int, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    """Draw the kind of slip in n words, and where in the word it happens."""
    return rng.integers(n_kinds, size=n).tolist(), rng.random(n).tolist()


def _misspell(word: str, slip: int, uniform: float) -> str:
    """Make one slip after the first letter, which is rarely wrong; `uniform` in [0, 1) decides where."""
    at = 1 + int(uniform * (len(word) - 2))
    if slip == 0:
        return word[:at] + word[at + 1 :]
    if slip == 1:
        return word[:at] + word[at - 1 : at] + word[at:]
    if slip == 2:
        return word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
    near = _NEIGHBOURS[word[at]]
    return word[:at] + near[int(uniform * 997) % len(near)] + word[at + 1 :]


class RareTerms:
    """An endless supply of rare terms, all different from each other and from the terms in use."""

    def __init__(self, in_use: Iterable[str]) -> None:
        self._seen = set(in_use)
        self._known = _known_words()
        self._ready: list[str] = []

    def take(self, n: int, rng: np.random.Generator) -> list[str]:
        """Return the next n terms."""
        while len(self._ready) < n:
            made = dict.fromkeys(_batch(_RARE_BATCH, self._known, rng))
            fresh = [term for term in made if term not in self._seen]
            self._seen.update(fresh)
            self._ready += fresh
        taken, self._ready = self._ready[:n], self._ready[n:]
        return taken


def _site_batch(n: int, rng: np.random.Generator) -> list[str]:
    nouns = _short_nouns()
    first, second = _pick(nouns, n, rng), _pick(nouns, n, rng)
    starts, ends, words = _pick(_SITE_STARTS, n, rng), _pick(_SITE_ENDS, n, rng), coined_words(n, rng)
    sorts = zip(starts, first, second, ends, words, rng.integers(4, size=n).tolist(), strict=True)
    return [(first + second, start + first, first + end, word)[sort] for start, first, second, end, word, sort in sorts]


def _brand_batch(n: int, rng: np.random.Generator) -> list[str]:
    nouns, ends, words = _pick(_short_nouns(), n, rng), _pick(_BRAND_ENDS, n, rng), coined_words(n, rng)
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


def _distinct(n: int, rng: np.random.Generator, make: Callable[[int, np.random.Generator], list[str]]) -> list[str]:
    """Make words until n are different, in the order in which they were made."""
    found: dict[str, None] = {}
    while len(found) < n:
        found.update(dict.fromkeys(make(n - len(found), rng)))
    return list(islice(found, n))


def _batch(n: int, known: list[str], rng: np.random.Generator) -> list[str]:
    """Make a shuffled mixture of misspelled words, rare words and names, screen names, models, sites and brands."""
    first = [*female_names().names, *male_names().names]
    sixth = n // 6
    owners = [first[at] for at in rng.integers(len(first), size=sixth).tolist()]
    mixed = [
        *misspell_words([known[at] for at in rng.integers(len(known), size=2 * sixth).tolist()], rng),
        *(known[at] for at in rng.integers(len(known), size=sixth).tolist()),
        *screen_names(owners, rng),
        *model_numbers(sixth // 3, rng),
        *coined_words(sixth // 3, rng),
        *site_names(sixth, rng),
        *brand_names(sixth // 3, rng),
    ]
    return [mixed[at] for at in rng.permutation(len(mixed)).tolist()]


def _known_words() -> list[str]:
    """Return the words of the dictionary and the last names, each once."""
    words = (word for word in load_wordnet().lemmas if word.isascii() and word.isalpha() and len(word) > 3)
    return list(dict.fromkeys((*words, *last_names().names)))
