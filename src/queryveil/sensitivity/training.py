"""Training naive Bayes with binary features, and judging it by cross-validation.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018, section 4: bag of words, binary
features, since queries are short and hardly repeat a word; 10-fold cross-validation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of
from queryveil.sensitivity.model import Model, probability
from queryveil.sensitivity.words import with_forms

FOLDS = 10
_DECIMALS = 4  # of a weight: what sums in another order differ by is cut off
_BINS = 10  # of the calibration


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled texts as sets of words; texts of one group are never split over training and judging."""

    features: tuple[frozenset[str], ...]
    is_sensitive: NDArray[np.bool_]  # (texts,)
    group: NDArray[np.int64]  # (texts,)
    importance: NDArray[np.float64]  # (texts,): how much a text counts in training, within its class


@dataclass(frozen=True)
class Setting:
    """How a model is trained."""

    unknown: float | None = None  # how likely a text without a known word is sensitive; None: as naive Bayes says
    smoothing: float = 1.0  # how many texts of each class every word is taken to have stood in besides


@dataclass(frozen=True)
class Bin:
    """Texts to which similar probabilities were given: how many, the mean of these, and how many are sensitive."""

    texts: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Judgement:
    """How well texts were told apart by models that had not seen them."""

    texts: int
    sensitive: int
    accuracy: float
    balanced_accuracy: float  # the mean of the shares of both classes that were told right
    precision: float
    recall: float
    calibration_error: float  # how far predicted and observed shares are apart, averaged over texts
    bins: tuple[Bin, ...]


def train(examples: Examples, setting: Setting = Setting(), *, name: str = "") -> Model:
    """Fit naive Bayes and return its word weights, inflected forms included."""
    words, matrix = _matrix(examples.features)
    weights, base = _fit(matrix, examples.is_sensitive, examples.importance, setting)
    table = with_forms(dict(zip(words, np.round(weights, _DECIMALS).tolist(), strict=True)))
    return Model(tuple(table), np.array(list(table.values())), round(base, _DECIMALS), name)


def _fit(
    matrix: Any, is_sensitive: NDArray[np.bool_], importance: NDArray[np.float64], setting: Setting
) -> tuple[NDArray[np.float64], float]:
    """Return what each word adds to the log-odds, and what these are without any word.

    Both classes weigh the same while words are counted: else smoothing, which adds as much to both, would make every
    word that a text lacks speak against the smaller class.
    """
    total = np.bincount(is_sensitive, importance, minlength=2)
    bayes = BernoulliNB(alpha=setting.smoothing)
    bayes.fit(matrix, is_sensitive, sample_weight=importance * (total.sum() / (2 * total))[is_sensitive.astype(int)])
    neutral, sensitive = bayes.feature_log_prob_
    absent = np.log1p(-np.exp(sensitive)) - np.log1p(-np.exp(neutral))
    if setting.unknown is None:
        base = float(np.log(np.mean(is_sensitive) / np.mean(~is_sensitive)) + absent.sum())
    else:
        base = float(np.log(setting.unknown / (1 - setting.unknown)))
    return sensitive - neutral - absent, base


def _matrix(features: Sequence[frozenset[str]]) -> tuple[list[str], Any]:
    """Return all words, sorted, and texts × words in compressed sparse rows of ones."""
    words = sorted(frozenset().union(*features))
    number = {word: i for i, word in enumerate(words)}
    rows = [sorted(number[word] for word in text) for text in features]
    indptr = indptr_of([len(row) for row in rows])
    ids = np.array([i for row in rows for i in row], np.int64)
    return words, csr_matrix((np.ones(len(ids)), ids, indptr), shape=(len(rows), len(words)))


def cross_validate(
    examples: Examples,
    setting: Setting = Setting(),
    *,
    rng: np.random.Generator,
    judged: NDArray[np.bool_] | None = None,
    progress: Progress = silent,
) -> Judgement:
    """Judge every text, or those marked, by a model trained on the folds that hold nothing of its group."""
    for label, is_so in (("not sensitive", ~examples.is_sensitive), ("sensitive", examples.is_sensitive)):
        count = len(np.unique(examples.group[is_so]))
        if count < FOLDS:
            raise InputError(
                f"{count} different texts are labelled {label}; {FOLDS}-fold cross-validation needs at least {FOLDS}."
            )
    _, matrix = _matrix(examples.features)
    fold = _folds(examples, rng)
    given = np.zeros(len(fold))
    for number in range(FOLDS):
        progress("cross-validation", number, FOLDS)
        here = fold == number
        weights, base = _fit(matrix[~here], examples.is_sensitive[~here], examples.importance[~here], setting)
        given[here] = probability(matrix[here] @ weights + base)
    progress("cross-validation", FOLDS, FOLDS)
    chosen = np.ones(len(fold), np.bool_) if judged is None else judged
    return judge(given[chosen], examples.is_sensitive[chosen])


def _folds(examples: Examples, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal the groups out to folds in random order, those with a sensitive text first: so every fold gets its share."""
    groups, number = np.unique(examples.group, return_inverse=True)
    has_sensitive = np.bincount(number, examples.is_sensitive) > 0
    order = rng.permutation(len(groups))
    order = order[np.argsort(~has_sensitive[order], kind="stable")]
    fold = np.empty(len(groups), np.int64)
    fold[order] = np.arange(len(groups)) % FOLDS
    return fold[number]


def judge(given: NDArray[np.float64], is_sensitive: NDArray[np.bool_]) -> Judgement:
    """Compare probabilities with labels; a text with at least one half is taken for sensitive."""
    taken = given >= 0.5
    recall = float(np.mean(taken[is_sensitive]))
    bins = _bins(given, is_sensitive)
    return Judgement(
        texts=len(given),
        sensitive=int(np.count_nonzero(is_sensitive)),
        accuracy=float(np.mean(taken == is_sensitive)),
        balanced_accuracy=(recall + float(np.mean(~taken[~is_sensitive]))) / 2,
        precision=float(np.mean(is_sensitive[taken])) if taken.any() else 0.0,
        recall=recall,
        calibration_error=sum(b.texts * abs(b.predicted - b.observed) for b in bins) / len(given),
        bins=bins,
    )


def _bins(given: NDArray[np.float64], is_sensitive: NDArray[np.bool_]) -> tuple[Bin, ...]:
    number = np.minimum((given * _BINS).astype(np.int64), _BINS - 1)
    return tuple(
        Bin(int(np.count_nonzero(here)), float(given[here].mean()), float(is_sensitive[here].mean()))
        for here in (number == i for i in range(_BINS))
        if here.any()
    )
