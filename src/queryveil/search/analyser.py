"""From text to index terms, the same for documents, queries and profiles.

Characters and words are those of terms everywhere in queryveil; stop words go, and a word that WordNet knows by an
inflected form becomes its lemma ("islands": "island"), since a profile and a document seldom use the same form.
A term is its own lemma, so analysing one changes nothing.
"""

from collections.abc import Container, Mapping
from types import MappingProxyType

from queryveil.lexicons.stop_words import ENGLISH
from queryveil.logs.characters import fold
from queryveil.semantics.lemmas import lemmatize

# What an index was made with; an index of another analyser cannot be searched with this one.
ANALYSER: Mapping[str, object] = MappingProxyType(
    {"version": 1, "charset": "letters", "stop_words": "english", "forms": "lemmas"}
)


class Analyser:
    """Turns texts into index terms; it keeps nothing of them."""

    def __init__(self, known: Container[str] = ()) -> None:
        """Take terms that are known to be terms: they need no look into WordNet, which takes a while to read."""
        self._known = known

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, with repetitions."""
        return [term for word in fold(text).split() if (term := self.term(word))]

    def term(self, word: str) -> str:
        """Return the term of a word that was cut out of a folded text, "" where it is left out."""
        if word in ENGLISH:
            return ""
        return word if word in self._known else lemmatize(word) or word
