"""Words as features: inflected forms of one word are one feature, and a table of weights lists them all."""

from collections.abc import Iterator, Mapping

from queryveil.lexicons.stop_words import ENGLISH
from queryveil.lexicons.wordnet import NOUN, VERB, load
from queryveil.logs.characters import terms
from queryveil.semantics.lemmas import lemmatize, wordnet_lexicon

_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"


def features(text: str) -> frozenset[str]:
    """Return the base forms of a text's words, without stop words: a text has each or has it not."""
    return frozenset(base_of(word) for word in terms(text) if word not in ENGLISH)


def base_of(word: str) -> str:
    """Return the base form of a word, the word itself where WordNet does not know it."""
    return lemmatize(word) or word


def with_forms(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of base forms and of their inflected forms, in the order of the words.

    A form that is a word by itself ("news", "arms") keeps its own weight, or has none.
    """
    table = dict(weights)
    known = wordnet_lexicon().numbers
    for word in sorted(weights):
        for form in _forms(word):
            if form not in known:
                table.setdefault(form, weights[word])
    for form, bases in load().exceptions.items():
        if form not in known and bases[0] in weights:
            table.setdefault(form, weights[bases[0]])
    return dict(sorted(table.items()))


def _forms(word: str) -> Iterator[str]:
    """Yield the regular forms of a word: of a noun its plural, of a verb all; of an unknown word the plural."""
    lexicon = wordnet_lexicon()
    if lexicon.has(word, NOUN) or lexicon.has(word, VERB) or word not in lexicon.numbers:
        yield _with_s(word)
    if lexicon.has(word, VERB):
        stem = word[:-1] if word.endswith("e") else word
        is_y = word.endswith("y") and word[-2:-1] not in _VOWELS
        yield (word[:-1] + "i" if is_y else stem) + "ed"
        yield stem + "ing"


def _with_s(word: str) -> str:
    if word.endswith(_SIBILANTS):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"
