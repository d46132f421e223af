"""Training naive Bayes with binary features, and judging it by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB

from queryveil.sensitivity.model import Model
from queryveil.sensitivity.words import with_forms

_DECIMALS = 4  # of a weight: what sums in another order differ by is cut off
_BINS = 10


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled texts as sets of words; texts of one group are never split over training and judging."""

    features: tuple[frozenset[str], ...]
    is_sensitive: NDArray[np.bool_]  # (texts,)
    group: NDArray[np.int64]  # (texts,)
    importance: NDArray[np.float64]  # (texts,): how much a text counts

    def of(self, places: NDArray[np.int64]) -> "Examples":
        """Return some of the examples."""
        return Examples(
            tuple(self.features[i] for i in places.tolist()),
            self.is_sensitive[places],
            self.group[places],
            self.importance[places],
        )


def train(examples: Examples, *, smoothing: float = 1.0, name: str = "") -> Model:
    """Fit naive Bayes, both classes being taken for equally likely, and return its word weights."""
    words = sorted(frozenset().union(*examples.features))
    matrix = _matrix(examples.features, {word: i for i, word in enumerate(words)})
    bayes = BernoulliNB(alpha=smoothing, class_prior=[0.5, 0.5])
    bayes.fit(matrix, examples.is_sensitive, sample_weight=examples.importance)
    neutral, sensitive = bayes.feature_log_prob_
    absent = np.log1p(-np.exp(sensitive)) - np.log1p(-np.exp(neutral))
    weights = np.round(sensitive - neutral - absent, _DECIMALS)
    table = with_forms(dict(zip(words, weights.tolist(), strict=True)))
    return Model(tuple(table), np.array(list(table.values())), round(float(absent.sum()), _DECIMALS), name)


def _matrix(features: Sequence[frozenset[str]], number: dict[str, int]) -> csr_matrix:
    rows = [sorted(number[word] for word in text if word in number) for text in features]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    ids = np.array([i for row in rows for i in row], np.int64)
    return csr_matrix((np.ones(len(ids)), ids, indptr), shape=(len(rows), len(number)))
