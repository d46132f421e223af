"""A sensitivity model: what each word adds to the log-odds that a query is sensitive.

Naive Bayes with binary features comes down to a sum: the log-odds of a query without a known word, plus a weight for
each known word of the query, whatever the number of times it stands there. So a model is a table of words and
weights, and scoring needs neither scikit-learn nor the texts it was trained on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.histories.tokens import Tokeniser
from queryveil.logs.characters import terms
from queryveil.sensitivity.files import BUNDLED, read_model, read_words

_FEW_BYTES = 5_000  # starting numba costs as much as cutting so many bytes of text in plain Python


@dataclass(frozen=True)
class Explanation:
    """Why a query is as sensitive as it is: what it starts from, and what each of its known words adds."""

    probability: float
    base: float  # log-odds of a query without a known word
    words: tuple[tuple[str, float], ...]  # in the order of the query; what the word adds to the log-odds
    unknown: tuple[str, ...]  # words that the model does not know, which add nothing


@dataclass(frozen=True, eq=False)
class Model:
    """Words in lower case, what each adds to the log-odds that a query is sensitive, and where these start."""

    words: tuple[str, ...] = field(repr=False)  # sorted
    weights: NDArray[np.float64]  # (words,)
    base: float
    name: str = ""  # what it was made from, in a few words

    @cached_property
    def _weight_of(self) -> Mapping[str, float]:
        return dict(zip(self.words, self.weights.tolist(), strict=True))

    @cached_property
    def _known(self) -> tuple[Tokeniser, NDArray[np.float64]]:
        """Return a tokeniser that knows the words, and what each weighs by its number there."""
        known = Tokeniser(whole=True)
        rows, numbers = known.add(pa.array(self.words, pa.large_string()))
        weights = np.zeros(known.n_terms, np.float64)
        weights[numbers] = self.weights[rows]
        return known, weights

    def probabilities(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of every query to be sensitive."""
        texts = pa.array(queries, pa.large_string())
        if (pc.sum(pc.binary_length(texts)).as_py() or 0) < _FEW_BYTES:
            added = np.array([sum(weight for _, weight in self._found(text)[0]) for text in texts.to_pylist()], float)
        else:
            known, weights = self._known
            added = known.weigh(texts, weights)
        return probability(added + self.base)

    def explain(self, query: str) -> Explanation:
        """Say which words of a query weigh how much."""
        known, unknown = self._found(query)
        return Explanation(float(self.probabilities([query])[0]), self.base, known, unknown)

    def _found(self, query: str) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
        """Return the different words of a query that are known with their weights, and those that are not."""
        words = tuple(dict.fromkeys(terms(query)))
        known = tuple((word, self._weight_of[word]) for word in words if word in self._weight_of)
        return known, tuple(word for word in words if word not in self._weight_of)

    def with_words(self, words: Mapping[str, float]) -> "Model":
        """Return the model with words that make a query, by themselves, sensitive with the given probabilities."""
        odds = {word: float(np.log(p / (1 - p))) - self.base for word, p in words.items()}
        table = dict(sorted({**self._weight_of, **odds}.items()))
        return replace(self, words=tuple(table), weights=np.array(list(table.values()), np.float64))


def probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of log-odds, without overflow."""
    small = np.exp(-np.abs(odds))
    return np.where(odds >= 0, 1.0, small) / (1.0 + small)


def load_model(path: Path | None = None, words: Path | None = None) -> Model:
    """Read a model file, or the bundled model, and add a user's list of sensitive words."""
    record = read_model(BUNDLED if path is None else path)
    model = Model(record.words, record.weights, record.base, record.name)
    return model if words is None else model.with_words(read_words(words))
