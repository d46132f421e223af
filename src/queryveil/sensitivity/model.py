"""Sensitivity models: the probability that a query is sensitive, from a table of weights of words and phrases.

Naive Bayes with binary features is a sum: the log-odds of a query without a known word, plus a weight for every
distinct known word. The default model, which learnt from queries, also has weights of phrases, of a known word and the
next one, divides the sum by a power of the number of words, and lets weights below zero count for less where others are
above it: "mississippi prisons" is as sensitive as "prisons". So a model is a table, and scoring needs neither
scikit-learn nor word vectors nor the training texts. A model file is a Parquet table whose metadata holds a version and
a digest.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.core.arrow import parquet_bytes
from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.core.rows import FloatArray, indptr_of_sorted
from queryveil.histories.tokens import Tokenizer
from queryveil.kernels.tokens import Phrases
from queryveil.lexicons import FOLDER
from queryveil.logs.terms import terms
from queryveil.sensitivity.lists import read_words

VERSION = "3"
BUNDLED = FOLDER / "query-sensitivity.parquet"
BAYES = FOLDER / "sensitivity.parquet"  # naive Bayes, as Carpineto and Romano publish it
_NAMED = {"bayes": BAYES}  # bundled models by the names that may stand for their paths
_SCHEMA = pa.schema({"word": pa.string(), "weight": pa.float64()})
_METADATA_KEYS = ("version", "name", "base", "exponent", "halving", "sha256")  # each follows the prefix
_NUMBERS = ("base", "exponent", "halving")  # of a model, and of its metadata
_PREFIX = "queryveil.sensitivity."
_FEW_BYTES = 5_000  # starting numba costs as much as tokenizing this many bytes of text in plain Python


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """The probability that a query is sensitive, and what each of its known words contributes."""

    _shown = ("probability", "topic", "words", "unknown")
    probability: float
    base: float  # log-odds of a query without a known word
    words: tuple[tuple[str, float], ...]  # in the order of the query, then phrases; what each adds to the log-odds
    unknown: tuple[str, ...]  # words that the model does not know; they add nothing
    topic: str = ""  # what the query is about, if it is sensitive


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityModel(Brief):
    """Words in lower case and what each adds to the log-odds that a query is sensitive."""

    _shown = ("name", "words", "phrases")
    words: tuple[str, ...]  # sorted
    weights: FloatArray  # (words,)
    base: float  # log-odds of a query without a known word
    name: str = ""  # what the model was trained on, in a few words
    phrases: tuple[str, ...] = ()  # two known words with a space between them, sorted
    phrase_weights: FloatArray = field(default_factory=lambda: np.empty(0))  # (phrases,)
    exponent: float = 0.0  # the sum of weights is divided by this power of the number of known words
    halving: float = np.inf  # the sum of the weights above zero at which those below zero count half

    @cached_property
    def _weight_of(self) -> Mapping[str, float]:
        texts, weights = (*self.words, *self.phrases), (*self.weights.tolist(), *self.phrase_weights.tolist())
        return dict(zip(texts, weights, strict=True))

    @cached_property
    def _tokenizer(self) -> tuple[Tokenizer, FloatArray, Phrases]:
        """Return a tokenizer that knows the words, and the weights of words and phrases by their numbers there."""
        tokenizer = Tokenizer(whole=True)
        rows, numbers = tokenizer.add(pa.array(self.words, pa.large_string()))
        weights = np.zeros(tokenizer.n_terms, np.float64)
        weights[numbers] = self.weights[rows]
        number = dict(zip(self.words, numbers.tolist(), strict=True))
        pairs = np.array([[number[word] for word in phrase.split(" ")] for phrase in self.phrases], np.int64)
        first, second = pairs.reshape(-1, 2).T
        order = np.argsort(first, kind="stable")
        indptr = indptr_of_sorted(first[order], tokenizer.n_terms)
        return tokenizer, weights, Phrases(indptr, second[order].astype(np.int32), self.phrase_weights[order])

    def probabilities(self, queries: Sequence[str]) -> FloatArray:
        """Return the probability that each query is sensitive."""
        return probability(self._added(queries) + self.base)

    def sensitivities(self, queries: Sequence[str]) -> FloatArray:
        """Return the same for measures: 0 for a query of which no word is known, and above 0 for every other."""
        added = self._added(queries)
        return np.where(added == 0, 0.0, probability(added + self.base))

    def _added(self, queries: Sequence[str]) -> FloatArray:
        """Return what the words of each query add to the log-odds; 0 if no word says anything."""
        texts = pa.array(queries, pa.large_string())
        if (pc.sum(pc.binary_length(texts)).as_py() or 0) < _FEW_BYTES:
            found = np.array([self._weigh(text) for text in texts.to_pylist()], float).reshape(-1, 3)
            sums, counts = found[:, :2], found[:, 2]
        else:
            tokenizer, weights, phrases = self._tokenizer
            sums, counts = tokenizer.weigh(texts, weights, phrases)
        speaking_for, against = sums.T
        total = speaking_for + against / (1.0 + speaking_for / self.halving)
        return np.asarray(total / np.maximum(counts, 1) ** self.exponent)

    def _weigh(self, text: str) -> tuple[float, float, int]:
        """Return the sums of weights above and below zero and the number of known words, as the kernel adds up."""
        sums, count, before = [0.0, 0.0], 0, ""
        for word in dict.fromkeys(terms(text)):
            if word in self._weight_of:
                for weight in (self._weight_of[word], self._weight_of.get(f"{before} {word}", 0.0)):
                    sums[weight < 0] += weight
                count, before = count + 1, word
        return sums[0], sums[1], count

    def explain(self, query: str) -> Explanation:
        """Return the probability of a query and the weights of its words."""
        known, unknown = self.split(query)
        return Explanation(float(self.probabilities([query])[0]), self.base, known, unknown)

    def split(self, query: str) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
        """Return what the distinct known words and the phrases of a query add, and the unknown words."""
        words = tuple(dict.fromkeys(terms(query)))
        known = [word for word in words if word in self._weight_of]
        phrases = (" ".join(pair) for pair in pairwise(known))
        found = (*known, *(phrase for phrase in phrases if phrase in self._weight_of))
        share = max(1, len(known)) ** -self.exponent
        weights = [self._weight_of[text] for text in found]
        eased = 1.0 / (1.0 + sum(weight for weight in weights if weight > 0) / self.halving)
        added = [share * weight * (eased if weight < 0 else 1.0) for weight in weights]
        return tuple(zip(found, added, strict=True)), tuple(word for word in words if word not in self._weight_of)

    def with_words(self, words: Mapping[str, float]) -> "SensitivityModel":
        """Return the model with added words; a query of one such word alone gets at least the given probability."""
        known = dict(zip(self.words, self.weights.tolist(), strict=True))
        given = {word: float(np.log(p / (1 - p))) - self.base for word, p in words.items()}
        return self.with_weights({word: max(weight, known.get(word, weight)) for word, weight in given.items()})

    def with_weights(self, weights: Mapping[str, float]) -> "SensitivityModel":
        """Return the model with added words, each of which adds a given weight."""
        table = dict(sorted({**dict(zip(self.words, self.weights.tolist(), strict=True)), **weights}.items()))
        return replace(self, words=tuple(table), weights=np.array(list(table.values()), np.float64))


def probability(odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds, without overflow."""
    small = np.exp(-np.abs(odds))
    return np.where(odds >= 0, 1.0, small) / (1.0 + small)


def load_model(path: Path | None = None, words: Path | None = None) -> SensitivityModel:
    """Read a model file (by default the bundled model, `bayes` the naive one), and add a user's sensitive words."""
    model = read_model(BUNDLED if path is None else path if path.exists() else _NAMED.get(str(path), path))
    return model if words is None else model.with_words(read_words(words))


def model_bytes(model: SensitivityModel) -> bytes:
    """Return the bytes of a model file."""
    weights = np.concatenate((model.weights, model.phrase_weights))
    table = pa.table({"word": pa.array([*model.words, *model.phrases], pa.string()), "weight": weights}, schema=_SCHEMA)
    numbers = {key: repr(float(getattr(model, key))) for key in _NUMBERS}
    metadata = {"version": VERSION, "name": model.name, **numbers, "sha256": _digest(model)}
    return parquet_bytes(
        table.replace_schema_metadata({_PREFIX + key: metadata[key] for key in _METADATA_KEYS}),
        compression_level=19,
        dictionary_pagesize_limit=1 << 20,
        use_dictionary=["weight"],
        column_encoding={"word": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
    )


def is_model(path: Path) -> bool:
    """Return whether a file is a model of any version, damaged or not."""
    try:
        return (_PREFIX + "version").encode() in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def read_model(path: Path) -> SensitivityModel:
    """Read a model file; refuse one of another version or with a wrong digest."""
    if not path.is_file():
        raise InputError(f"there is no sensitivity model {path}; check the path.")
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException):
        raise InputError(f"{path} is not a sensitivity model, or it is damaged; train the model anew.") from None
    found = {key.decode(): value.decode(errors="replace") for key, value in (table.schema.metadata or {}).items()}
    metadata = {key: found.get(_PREFIX + key) for key in _METADATA_KEYS}
    if metadata["version"] is None:
        raise InputError(f"{path} is not a sensitivity model; make one with queryveil sensitivity train.")
    if metadata["version"] != VERSION:
        raise InputError(
            f"{path} is a sensitivity model of version {metadata['version']}, and this queryveil reads version "
            f"{VERSION}; train it anew."
        )
    try:
        columns = table.select(_SCHEMA.names).cast(_SCHEMA)
        texts, weights = columns["word"].to_pylist(), columns["weight"].to_numpy().copy()
        n_words = sum(" " not in text for text in texts)
        words, phrases = tuple(texts[:n_words]), tuple(texts[n_words:])
        base, *others = (float(metadata[key] or "") for key in _NUMBERS)
        name = metadata["name"] or ""
        model = SensitivityModel(words, weights[:n_words], base, name, phrases, weights[n_words:], *others)
        is_finite = bool(np.isfinite([*weights, base, model.exponent]).all() and model.halving > 0)
        is_intact = metadata["sha256"] == _digest(model) and is_finite
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        is_intact = False
    if not is_intact:
        raise InputError(f"{path} is damaged: it has not the digest that it gives; train the model anew.")
    return model


def _digest(model: SensitivityModel) -> str:
    digest = hashlib.sha256(f"{VERSION}\n{model.name}\n".encode())
    digest.update(struct.pack("<3d", *(getattr(model, key) for key in _NUMBERS)))
    digest.update(np.concatenate((model.weights, model.phrase_weights)).astype("<f8").tobytes())
    digest.update("\n".join((*model.words, *model.phrases)).encode())
    return digest.hexdigest()
