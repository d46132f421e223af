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
from queryveil.kernels import uncompiled
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
    def _table(self) -> pa.Array:
        return pa.array(self.words, pa.large_string())

    def probabilities(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of every query to be sensitive; each different word is looked up once."""
        rows, terms, words = _cut(queries)
        added = np.bincount(rows, self._weights_of(words)[terms], minlength=len(queries)).astype(np.float64)
        return probability(added + self.base)

    def _weights_of(self, words: pa.Array) -> NDArray[np.float64]:
        """Return the weight of every word, 0 of those that the model does not know."""
        place = pc.fill_null(pc.index_in(words, self._table), len(self.words)).to_numpy()
        weights: NDArray[np.float64] = np.append(self.weights, 0.0)[place]
        return weights

    def explain(self, query: str) -> Explanation:
        """Say which words of a query weigh how much."""
        _, _, words = _cut([query])
        is_known = pc.is_in(words, self._table)
        known = words.filter(is_known)
        return Explanation(
            float(self.probabilities([query])[0]),
            self.base,
            tuple(zip(known.to_pylist(), self._weights_of(known).tolist(), strict=True)),
            tuple(words.filter(pc.invert(is_known)).to_pylist()),
        )

    def with_words(self, words: Mapping[str, float]) -> "Model":
        """Return the model with words that make a query, by themselves, sensitive with the given probabilities."""
        odds = {word: float(np.log(p / (1 - p))) - self.base for word, p in words.items()}
        table = dict(sorted({**dict(zip(self.words, self.weights.tolist(), strict=True)), **odds}.items()))
        return replace(self, words=tuple(table), weights=np.array(list(table.values()), np.float64))


def _cut(queries: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32], pa.Array]:
    """Return the row and the word's number of every different word of a query, and the words by number."""
    texts = pa.array(queries, pa.large_string())
    tokeniser = Tokeniser()
    is_little = (pc.sum(pc.binary_length(texts)).as_py() or 0) < _FEW_BYTES
    with uncompiled(is_little), np.errstate(over="ignore"):  # a product of hashing wraps
        rows, terms = tokeniser.add(texts)
    return rows, terms, tokeniser.vocabulary()


def probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of log-odds, without overflow."""
    small = np.exp(-np.abs(odds))
    return np.where(odds >= 0, 1.0, small) / (1.0 + small)


def load_model(path: Path | None = None, words: Path | None = None) -> Model:
    """Read a model file, or the bundled model, and add a user's list of sensitive words."""
    record = read_model(BUNDLED if path is None else path)
    model = Model(record.words, record.weights, record.base, record.name)
    return model if words is None else model.with_words(read_words(words))
