"""Lemmas of terms: the form under which a word stands in a network, found by simple morphology.

The order is that of WordNet's own `morphy`: the form itself, its irregular bases ("geese": "goose"), then suffixes
taken off for nouns, verbs and adjectives; a base counts only if it is known as that part of speech, so that a name
such as "kohler" does not become "kohl". Of a phrase the last word may be inflected, or any.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from queryveil.lexicons.wordnet import ADJECTIVE, NOUN, VERB, load_wordnet

_SUFFIXES = (  # what a form ends with, what its base ends with instead, the part of speech
    ("s", "", NOUN),
    ("ses", "s", NOUN),
    ("xes", "x", NOUN),
    ("zes", "z", NOUN),
    ("ches", "ch", NOUN),
    ("shes", "sh", NOUN),
    ("men", "man", NOUN),
    ("ies", "y", NOUN),
    ("s", "", VERB),
    ("ies", "y", VERB),
    ("es", "e", VERB),
    ("es", "", VERB),
    ("ed", "e", VERB),
    ("ed", "", VERB),
    ("ing", "e", VERB),
    ("ing", "", VERB),
    ("er", "", ADJECTIVE),
    ("est", "", ADJECTIVE),
    ("er", "e", ADJECTIVE),
    ("est", "e", ADJECTIVE),
)
_BY_LAST_LETTER = {
    letter: tuple(rule for rule in _SUFFIXES if rule[0][-1] == letter) for letter in {rule[0][-1] for rule in _SUFFIXES}
}
_SHORTEST_BASE = 2


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words that somebody knows: each word's number, and which parts of speech it can be."""

    numbers: Mapping[str, int]
    parts: NDArray[np.int8]  # (words,): bit p is set if the word can be part of speech p

    def has(self, word: str, part: int) -> bool:
        """Say whether a word is known as a part of speech."""
        number = self.numbers.get(word)
        return number is not None and bool(self.parts[number] >> part & 1)


@cache
def wordnet_lexicon() -> Lexicon:
    """Return the lemmas of WordNet."""
    wordnet = load_wordnet()
    bits = np.left_shift(1, wordnet.parts[wordnet.sense_synsets]).astype(np.int8)
    return Lexicon(wordnet.lemma_ids, np.bitwise_or.reduceat(bits, wordnet.sense_indptr[:-1]))


def folded(term: str) -> str:
    """Return a term in the spelling of lemmas: lower case, single spaces instead of underscores."""
    if term.isascii() and term.isalnum():
        return term.lower()  # the same, and most terms are like this
    return " ".join(term.replace("_", " ").casefold().split())


def lemmatize(term: str, lexicon: Lexicon | None = None) -> str | None:
    """Return the lemma of a term or phrase, None where the lexicon (WordNet's by default) has none."""
    lexicon = lexicon or wordnet_lexicon()
    if term in lexicon.numbers:
        return term
    form = folded(term)
    if form in lexicon.numbers:
        return form
    found = _base(form, lexicon)
    if found is None and " " in form:
        by_word = " ".join(_base(word, lexicon) or word for word in form.split())
        found = by_word if by_word in lexicon.numbers else None
    return found


def _base(form: str, lexicon: Lexicon) -> str | None:
    """Return the likeliest base form of an inflected form that the lexicon knows."""
    for base in load_wordnet().exceptions.get(form, ()):
        if base in lexicon.numbers:
            return base
    if form.endswith("ss"):
        return None
    for suffix, ending, part in _BY_LAST_LETTER.get(form[-1:], ()):
        if form.endswith(suffix) and len(form) - len(suffix) + len(ending) >= _SHORTEST_BASE:
            base = form[: len(form) - len(suffix)] + ending
            if lexicon.has(base, part):
                return base
    return None
