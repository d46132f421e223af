"""Sensitivity models: the probability that a query is sensitive, from a table of word weights.

Naive Bayes with binary features is a sum: the log-odds of a query without a known word, plus a weight for every
distinct known word. So a model is a table of words and weights, and scoring needs neither scikit-learn nor the training
texts. A model file is a Parquet table whose metadata holds a version and a digest.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.core.arrow import parquet_bytes
from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.core.rows import FloatArray
from queryveil.histories.tokens import Tokenizer
from queryveil.lexicons import FOLDER
from queryveil.logs.characters import terms
from queryveil.sensitivity.lists import read_words

VERSION = "1"
BUNDLED = FOLDER / "sensitivity.parquet"
_SCHEMA = pa.schema({"word": pa.string(), "weight": pa.float64()})
_METADATA_KEYS = ("version", "name", "base", "sha256")  # each follows the prefix
_PREFIX = "queryveil.sensitivity."
_FEW_BYTES = 5_000  # starting numba costs as much as tokenizing this many bytes of text in plain Python


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """The probability that a query is sensitive, and what each of its known words contributes."""

    _shown = ("probability", "words", "unknown")
    probability: float
    base: float  # log-odds of a query without a known word
    words: tuple[tuple[str, float], ...]  # in the order of the query; what the word adds to the log-odds
    unknown: tuple[str, ...]  # words that the model does not know; they add nothing


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityModel(Brief):
    """Words in lower case and what each adds to the log-odds that a query is sensitive."""

    _shown = ("name", "words")
    words: tuple[str, ...]  # sorted
    weights: FloatArray  # (words,)
    base: float  # log-odds of a query without a known word
    name: str = ""  # what the model was trained on, in a few words

    @cached_property
    def _weight_of(self) -> Mapping[str, float]:
        return dict(zip(self.words, self.weights.tolist(), strict=True))

    @cached_property
    def _tokenizer(self) -> tuple[Tokenizer, FloatArray]:
        """Return a tokenizer that knows the words, and the weight of each by its number there."""
        tokenizer = Tokenizer(whole=True)
        rows, numbers = tokenizer.add(pa.array(self.words, pa.large_string()))
        weights = np.zeros(tokenizer.n_terms, np.float64)
        weights[numbers] = self.weights[rows]
        return tokenizer, weights

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
            return np.array([sum(weight for _, weight in self.split(text)[0]) for text in texts.to_pylist()], float)
        tokenizer, weights = self._tokenizer
        return tokenizer.weigh(texts, weights)

    def explain(self, query: str) -> Explanation:
        """Return the probability of a query and the weights of its words."""
        known, unknown = self.split(query)
        return Explanation(float(self.probabilities([query])[0]), self.base, known, unknown)

    def split(self, query: str) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
        """Return the distinct known words of a query with their weights, and the unknown ones."""
        words = tuple(dict.fromkeys(terms(query)))
        known = tuple((word, self._weight_of[word]) for word in words if word in self._weight_of)
        return known, tuple(word for word in words if word not in self._weight_of)

    def with_words(self, words: Mapping[str, float]) -> "SensitivityModel":
        """Return the model with added words; a query of one such word alone gets the given probability."""
        odds = {word: float(np.log(p / (1 - p))) - self.base for word, p in words.items()}
        table = dict(sorted({**self._weight_of, **odds}.items()))
        return replace(self, words=tuple(table), weights=np.array(list(table.values()), np.float64))


def probability(odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds, without overflow."""
    small = np.exp(-np.abs(odds))
    return np.where(odds >= 0, 1.0, small) / (1.0 + small)


def load_model(path: Path | None = None, words: Path | None = None) -> SensitivityModel:
    """Read a model file (by default the bundled model), and add a user's list of sensitive words."""
    model = read_model(BUNDLED if path is None else path)
    return model if words is None else model.with_words(read_words(words))


def model_bytes(model: SensitivityModel) -> bytes:
    """Return the bytes of a model file."""
    table = pa.table({"word": pa.array(model.words, pa.string()), "weight": model.weights}, schema=_SCHEMA)
    metadata = {"version": VERSION, "name": model.name, "base": repr(model.base), "sha256": _digest(model)}
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
        words, weights = tuple(columns["word"].to_pylist()), columns["weight"].to_numpy().copy()
        model = SensitivityModel(words, weights, float(metadata["base"] or ""), metadata["name"] or "")
        is_intact = metadata["sha256"] == _digest(model) and bool(np.isfinite([*weights, model.base]).all())
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        is_intact = False
    if not is_intact:
        raise InputError(f"{path} is damaged: it has not the digest that it gives; train the model anew.")
    return model


def _digest(model: SensitivityModel) -> str:
    digest = hashlib.sha256(f"{VERSION}\n{model.name}\n".encode() + struct.pack("<d", model.base))
    digest.update(model.weights.astype("<f8").tobytes())
    digest.update("\n".join(model.words).encode())
    return digest.hexdigest()
