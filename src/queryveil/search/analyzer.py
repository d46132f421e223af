"""Text analysis: documents, queries and profiles are turned into index terms by the same rules.

Text is folded and split into words like the terms of a log. Stop words are dropped, and an inflected form that WordNet
knows is replaced by its lemma ("islands": "island"), because a profile and a document seldom use the same form. The
analysis is idempotent: analyzing a term returns that term.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from queryveil.core.rows import Int32Array, IntArray, indptr_of
from queryveil.histories.tokens import Tokenizer
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.terms import fold
from queryveil.semantics.lemmas import lemmatize

# Stored in every index: an index that was built with other settings cannot be searched with these.
ANALYZER_SETTINGS: Mapping[str, object] = MappingProxyType(
    {"version": 1, "charset": "letters", "stop_words": "english", "forms": "lemmas"}
)
_DROPPED = -1


class Analyzer:
    """Turns one text at a time into index terms; it has no state."""

    def __init__(self, known_terms: Container[str] = ()) -> None:
        """Set terms that need no lookup in WordNet, which takes a while to load."""
        self._known_terms = known_terms

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, with repetitions."""
        return [term for word in fold(text).split() if (term := self.term(word))]

    def term(self, word: str) -> str:
        """Return the term of a word of folded text, or "" for a stop word."""
        if word in STOP_WORDS:
            return ""
        return word if word in self._known_terms else lemmatize(word) or word


@dataclass(frozen=True, eq=False)
class AnalyzedBatch:
    """The terms of a batch of texts."""

    lengths: IntArray  # (texts,): number of terms of each text
    term_ids: Int32Array  # (terms of all texts,): text by text, in order
    joined: list[str]  # (texts,): the terms of each text in order, separated by spaces


class BatchAnalyzer:
    """Turns batches of texts into numbered terms, analyzing each distinct word only once.

    Terms are numbered by first use, over all batches.
    """

    def __init__(self, terms: Iterable[str] = ()) -> None:
        """Start with terms that are already numbered."""
        self.terms = list(terms)
        self._id_of = {term: number for number, term in enumerate(self.terms)}
        self._analyzer = Analyzer()
        self._tokeniser = Tokenizer(str(ANALYZER_SETTINGS["charset"]), repeats=True)
        self._term_of_word: Int32Array = np.empty(0, np.int32)  # (distinct words,): term id, or _DROPPED

    def analyze(self, texts: Sequence[str]) -> AnalyzedBatch:
        """Return the terms of every text, in order and with repetitions."""
        rows, words = self._tokeniser.add(pa.array(texts, pa.large_string()))
        new_words = self._tokeniser.vocabulary()[len(self._term_of_word) :].to_pylist()
        found = np.array([self._term_id(word) for word in new_words], np.int32)
        self._term_of_word = np.concatenate((self._term_of_word, found))
        term_ids = self._term_of_word[words]
        is_kept = term_ids != _DROPPED
        lengths = np.bincount(rows[is_kept], minlength=len(texts))
        terms = [self.terms[term_id] for term_id in term_ids[is_kept].tolist()]
        joined = [" ".join(terms[begin:end]) for begin, end in pairwise(indptr_of(lengths).tolist())]
        return AnalyzedBatch(lengths, term_ids[is_kept], joined)

    def _term_id(self, word: str) -> int:
        term = self._analyzer.term(word)
        if not term:
            return _DROPPED
        term_id = self._id_of.setdefault(term, len(self.terms))
        if term_id == len(self.terms):
            self.terms.append(term)
        return term_id
