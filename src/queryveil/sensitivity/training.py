"""Trains a sensitivity model from labelled texts: naive Bayes with binary features, evaluated by cross-validation.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018, section 4: bag of words, binary
features, since queries are short and hardly repeat a word; 10-fold cross-validation. All inflected forms of a word are
one feature; a table of weights lists every form.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import BoolArray, FloatArray, IntArray
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.lexicons.wordnet import NOUN, VERB, load_wordnet
from queryveil.logs.terms import terms
from queryveil.semantics.lemmas import lemmatize, wordnet_lemmas
from queryveil.sensitivity.model import SensitivityModel, probability

FOLDS = 10
_DECIMALS = 4  # of a weight: rounds off the differences of sums in another order
_BINS = 10  # of the calibration

_LABELS = {
    **dict.fromkeys(("1", "true", "yes", "sensitive"), True),
    **dict.fromkeys(("0", "false", "no", "neutral", "not sensitive", "not-sensitive"), False),
}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled texts as sets of words; cross-validation never splits the texts of a group over folds."""

    features: tuple[frozenset[str], ...]
    is_sensitive: BoolArray  # (texts,)
    group: IntArray  # (texts,)
    importance: FloatArray  # (texts,): the weight of a text in training, within its class


def read_labels(path: Path) -> Examples:
    """Read labelled queries from a CSV file; queries with the same words are a group. Errors never quote a query."""
    queries, labels = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            if not {"query", "label"} <= set(reader.fieldnames or ()):
                raise InputError(f"{path} has not the columns query and label in its first line; add them.")
            for row in reader:
                label = _LABELS.get((row["label"] or "").strip().lower())
                if label is None:
                    raise InputError(
                        f"{path}, line {reader.line_num}: a label is 1 or 0, sensitive or neutral; correct that line."
                    )
                queries.append(row["query"])
                labels.append(label)
    except FileNotFoundError:
        raise InputError(f"there is no file of labels {path}; check the path.") from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} cannot be read as a CSV file in UTF-8; save it as such.") from None
    if len(set(labels)) < 2:
        which = "has no rows" if not labels else f"labels every query as {'' if labels[0] else 'not '}sensitive"
        raise InputError(f"{path} {which}; a model needs queries of both kinds.")
    texts = tuple(features(query) for query in queries)
    number: dict[frozenset[str], int] = {}
    group = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    return Examples(texts, np.array(labels, np.bool_), group, np.ones(len(texts)))


def features(text: str) -> frozenset[str]:
    """Return the base forms of a text's words, without stop words."""
    return frozenset(base_form(word) for word in terms(text) if word not in STOP_WORDS)


def base_form(word: str) -> str:
    """Return the base form of a word, or the word itself if WordNet does not know it."""
    return lemmatize(word) or word


def with_inflections(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of base forms and of their inflected forms, sorted by word.

    A form that is a word by itself ("news", "arms") keeps its own weight, or has none.
    """
    table = dict(weights)
    known = wordnet_lemmas().numbers
    for word in sorted(weights):
        for form in _inflections(word):
            if form not in known:
                table.setdefault(form, weights[word])
    for form, bases in load_wordnet().exceptions.items():
        if form not in known and bases[0] in weights:
            table.setdefault(form, weights[bases[0]])
    return dict(sorted(table.items()))


def _inflections(word: str) -> Iterator[str]:
    """Yield the regular forms of a word: the plural of a noun or an unknown word, all forms of a verb."""
    lexicon = wordnet_lemmas()
    is_y = word.endswith("y") and word[-2:-1] not in _VOWELS
    if lexicon.has(word, NOUN) or lexicon.has(word, VERB) or word not in lexicon.numbers:
        yield word[:-1] + "ies" if is_y else word + ("es" if word.endswith(_SIBILANTS) else "s")
    if lexicon.has(word, VERB):
        stem = word[:-1] if word.endswith("e") else word
        yield (word[:-1] + "i" if is_y else stem) + "ed"
        yield stem + "ing"


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained."""

    unknown: float | None = None  # the probability of a text without a known word; None: as naive Bayes says
    smoothing: float = 1.0  # additive smoothing: texts of each class added to the count of every word


@dataclass(frozen=True)
class CalibrationBin:
    """Texts with similar predicted probabilities: how many, the mean prediction, and the share that is sensitive."""

    texts: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class ClassifierScores:
    """How well texts were classified by models that were not trained on them."""

    texts: int
    sensitive: int
    accuracy: float
    balanced_accuracy: float  # the mean of the recalls of both classes
    precision: float
    recall: float
    calibration_error: float  # the difference between predicted and observed shares, averaged over texts
    bins: tuple[CalibrationBin, ...]


def train(examples: Examples, options: TrainingOptions = TrainingOptions(), *, name: str = "") -> SensitivityModel:
    """Fit naive Bayes and return its word weights, inflected forms included."""
    words, occurrences = _number_words(examples.features)
    weights, base = _fit(occurrences, examples, np.ones(len(examples.group), np.bool_), options)
    every = with_inflections(dict(zip(words, np.round(weights, _DECIMALS).tolist(), strict=True)))
    table = {word: weight for word, weight in every.items() if " " not in word}
    return SensitivityModel(tuple(table), np.array(list(table.values())), round(base, _DECIMALS), name)


class WordOccurrences(NamedTuple):
    """Which text contains which word, by numbers."""

    text: IntArray  # (occurrences,)
    word: IntArray  # (occurrences,)


def _fit(
    occurrences: WordOccurrences, examples: Examples, is_used: BoolArray, options: TrainingOptions
) -> tuple[FloatArray, float]:
    """Return what each word adds to the log-odds, and the log-odds without any word, from the texts that are used.

    Both classes get the same total weight: otherwise smoothing, which adds equally to both, would make every absent
    word count against the smaller class.
    """
    is_sensitive, importance = examples.is_sensitive, examples.importance * is_used
    text, word = occurrences
    n_words = int(word.max(initial=-1)) + 1
    log_probability = []
    for in_class in (~is_sensitive, is_sensitive):
        share = importance * in_class * importance.sum() / (2 * importance[in_class].sum())
        count = np.bincount(word, share[text], minlength=n_words)
        log_probability.append(np.log((count + options.smoothing) / (share.sum() + 2 * options.smoothing)))
    neutral, sensitive = log_probability
    absent = np.log1p(-np.exp(sensitive)) - np.log1p(-np.exp(neutral))
    if options.unknown is None:
        odds = np.count_nonzero(is_sensitive & is_used) / np.count_nonzero(~is_sensitive & is_used)
        return sensitive - neutral - absent, float(np.log(odds) + absent.sum())
    return sensitive - neutral - absent, float(np.log(options.unknown / (1 - options.unknown)))


def _number_words(features: Sequence[frozenset[str]]) -> tuple[list[str], WordOccurrences]:
    """Return all words, sorted, and which texts contain them."""
    words = sorted(frozenset().union(*features))
    number = {word: i for i, word in enumerate(words)}
    ids = np.array([i for text in features for i in sorted(number[word] for word in text)], np.int64)
    return words, WordOccurrences(np.repeat(np.arange(len(features)), [len(text) for text in features]), ids)


def cross_validate(
    examples: Examples,
    options: TrainingOptions = TrainingOptions(),
    *,
    rng: np.random.Generator,
    scored: BoolArray | None = None,
    progress: Progress = silent,
) -> ClassifierScores:
    """Classify every text by a model trained on the other folds; score all texts, or those marked in `scored`."""
    for label, in_class in (("not sensitive", ~examples.is_sensitive), ("sensitive", examples.is_sensitive)):
        count = len(np.unique(examples.group[in_class]))
        if count < FOLDS:
            raise InputError(
                f"{count} different texts are labelled {label}; {FOLDS}-fold cross-validation needs at least {FOLDS}."
            )
    _, occurrences = _number_words(examples.features)
    fold = _folds(examples, rng)
    predicted = np.zeros(len(fold))
    for number in range(FOLDS):
        progress("cross-validation", number, FOLDS)
        here = fold == number
        weights, base = _fit(occurrences, examples, ~here, options)
        log_odds = base + np.bincount(occurrences.text, weights[occurrences.word], minlength=len(fold))
        predicted[here] = probability(log_odds[here])
    progress("cross-validation", FOLDS, FOLDS)
    rows = slice(None) if scored is None else scored
    return score_predictions(predicted[rows], examples.is_sensitive[rows])


def _folds(examples: Examples, rng: np.random.Generator) -> IntArray:
    """Assign groups to folds in random order, those with a sensitive text first, so that every fold gets its share."""
    groups, number = np.unique(examples.group, return_inverse=True)
    has_sensitive = np.bincount(number, examples.is_sensitive) > 0
    order = rng.permutation(len(groups))
    order = order[np.argsort(~has_sensitive[order], kind="stable")]
    fold = np.empty(len(groups), np.int64)
    fold[order] = np.arange(len(groups)) % FOLDS
    return fold[number]


def score_predictions(predicted: FloatArray, is_sensitive: BoolArray) -> ClassifierScores:
    """Compare probabilities with labels; a text with a probability of at least one half is classified as sensitive."""
    is_positive = predicted >= 0.5
    recall = float(np.mean(is_positive[is_sensitive]))
    number = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    bins = tuple(
        CalibrationBin(int(np.count_nonzero(here)), float(predicted[here].mean()), float(is_sensitive[here].mean()))
        for here in (number == i for i in range(_BINS))
        if here.any()
    )
    return ClassifierScores(
        texts=len(predicted),
        sensitive=int(np.count_nonzero(is_sensitive)),
        accuracy=float(np.mean(is_positive == is_sensitive)),
        balanced_accuracy=(recall + float(np.mean(~is_positive[~is_sensitive]))) / 2,
        precision=float(np.mean(is_sensitive[is_positive])) if is_positive.any() else 0.0,
        recall=recall,
        calibration_error=sum(b.texts * abs(b.predicted - b.observed) for b in bins) / len(predicted),
        bins=bins,
    )
