"""Lemmas of terms, found by simple morphology.

The order is that of WordNet's own `morphy`: the form itself, its irregular base forms ("geese": "goose"), then suffix
rules for nouns, verbs and adjectives; a base form counts only if it is known as that part of speech, so that a name
such as "kohler" does not become "kohl". Any word of a phrase may be inflected.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from queryveil.lexicons.wordnet import ADJECTIVE, NOUN, VERB, load_wordnet

_SUFFIXES = tuple(  # suffix of the form, suffix of the base form, part of speech; the first rule that fits wins
    (*rule.partition("/")[::2], part)
    for part, rules in (
        (NOUN, "s/ ses/s xes/x zes/z ches/ch shes/sh men/man ies/y"),
        (VERB, "s/ ies/y es/e es/ ed/e ed/ ing/e ing/"),
        (ADJECTIVE, "er/ est/ er/e est/e"),
    )
    for rule in rules.split()
)
_ENDINGS = tuple(suffix for suffix, _, _ in _SUFFIXES)
_SHORTEST_BASE = 2


@dataclass(frozen=True, eq=False)
class LemmaIndex:
    """The known lemmas: the number and the parts of speech of each."""

    numbers: Mapping[str, int]
    parts: NDArray[np.int8]  # (lemmas,): bit p is set if the lemma can be part of speech p

    def has(self, word: str, part: int) -> bool:
        """Return whether a word is known as a part of speech."""
        number = self.numbers.get(word)
        return number is not None and bool(self.parts[number] >> part & 1)


@cache
def wordnet_lemmas() -> LemmaIndex:
    """Return the lemmas of WordNet."""
    wordnet = load_wordnet()
    bits = np.left_shift(1, wordnet.parts[wordnet.sense_synsets]).astype(np.int8)
    return LemmaIndex(wordnet.lemma_ids, np.bitwise_or.reduceat(bits, wordnet.sense_indptr[:-1]))


def fold_lemma(term: str) -> str:
    """Return a term in the spelling of lemmas: lower case, single spaces instead of underscores."""
    if term.isascii() and term.isalnum():
        return term.lower()  # the same result for most terms, faster
    return " ".join(term.replace("_", " ").casefold().split())


def lemmatize(term: str, known: LemmaIndex | None = None) -> str | None:
    """Return the lemma of a term or phrase, None if it is not among the known lemmas (by default WordNet's)."""
    known = known or wordnet_lemmas()
    if term in known.numbers:
        return term
    form = fold_lemma(term)
    if form != term and form in known.numbers:
        return form
    found = _base_form(form, known)
    if found is None and " " in form:
        by_word = " ".join(_base_form(word, known) or word for word in form.split())
        found = by_word if by_word in known.numbers else None
    return found


def _base_form(form: str, known: LemmaIndex) -> str | None:
    """Return the first known base form of an inflected form."""
    for base in load_wordnet().exceptions.get(form, ()):
        if base in known.numbers:
            return base
    if form.endswith("ss") or not form.endswith(_ENDINGS):
        return None
    for suffix, ending, part in _SUFFIXES:
        if form.endswith(suffix) and len(form) - len(suffix) + len(ending) >= _SHORTEST_BASE:
            base = form[: len(form) - len(suffix)] + ending
            if known.has(base, part):
                return base
    return None
