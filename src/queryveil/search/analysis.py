"""The terms of many documents at once: the analyser's own rules, applied to each different word only once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.rows import indptr_of, row_numbers_of
from queryveil.histories.tokens import Tokeniser
from queryveil.search.analyser import ANALYSER, Analyser
from queryveil.search.vectors import Counts

_LEFT_OUT = -1


@dataclass(frozen=True, eq=False)
class Analysed:
    """The terms of a batch of texts, one after the other."""

    lengths: NDArray[np.int64]  # (texts,): how many terms each has
    terms: NDArray[np.int32]  # numbers of terms
    joined: list[str]  # (texts,): the terms of each in order, with a space between them


class BatchAnalyser:
    """Turns batches of texts into numbered terms; numbers go by first use, over all batches."""

    def __init__(self, terms: Iterable[str] = ()) -> None:
        """Begin with terms that have their numbers already."""
        self.terms = list(terms)
        self._numbers = {term: number for number, term in enumerate(self.terms)}
        self._analyser = Analyser()
        self._tokeniser = Tokeniser(str(ANALYSER["charset"]), repeats=True)
        self._term_of: NDArray[np.int32] = np.empty(0, np.int32)  # (words,): the term of every word met so far

    def analyse(self, texts: Sequence[str]) -> Analysed:
        """Return the terms of every text, in order and with repetitions."""
        rows, words = self._tokeniser.add(pa.array(texts, pa.large_string()))
        self._learn(self._tokeniser.vocabulary()[len(self._term_of) :].to_pylist())
        terms = self._term_of[words]
        is_kept = terms != _LEFT_OUT
        lengths = np.bincount(rows[is_kept], minlength=len(texts))
        return Analysed(lengths, terms[is_kept], self._joined(lengths, terms[is_kept]))

    def _learn(self, words: Sequence[str]) -> None:
        """Find the terms of new words, which have the tokeniser's next numbers."""
        found = [self._number(word) for word in words]
        self._term_of = np.concatenate((self._term_of, np.array(found, np.int32)))

    def _number(self, word: str) -> int:
        term = self._analyser.term(word)
        if not term:
            return _LEFT_OUT
        number = self._numbers.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number

    def _joined(self, lengths: NDArray[np.int64], terms: NDArray[np.int32]) -> list[str]:
        by_number = self.terms
        texts = [by_number[number] for number in terms.tolist()]
        return [" ".join(texts[begin:end]) for begin, end in pairwise(indptr_of(lengths).tolist())]


class Counting:
    """Gathers how often documents use terms, batch by batch."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]] = []
        # of each batch: the number of pairs of every document, and ids and counts of the pairs

    def take_over(self, counts: Counts) -> None:
        """Begin with documents that were counted before."""
        self._parts.append((np.diff(counts.indptr), counts.ids, counts.counts))

    def add(self, rows: NDArray[np.int64], terms: NDArray[np.int32], n_documents: int) -> None:
        """Count a batch from the document and the term of every occurrence."""
        keys, counts = np.unique(rows << 32 | terms, return_counts=True)
        lengths = np.bincount(keys >> 32, minlength=n_documents)
        self._parts.append((lengths, (keys & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))

    def finish(self, by_number: Sequence[str]) -> tuple[list[str], Counts]:
        """Return the terms, sorted, and the counts over their places; the terms are given by number."""
        order = sorted(range(len(by_number)), key=by_number.__getitem__)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        lengths, ids, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        ids = place[ids]
        sorting = np.argsort(row_numbers_of(lengths) << 32 | ids)
        indptr = indptr_of(lengths)
        return [by_number[number] for number in order], Counts(indptr, ids[sorting], counts[sorting])
