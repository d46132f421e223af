"""Labelled texts for training: a user's CSV file of queries, and words as features.

All inflected forms of a word are one feature; a table of weights lists every form.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.lexicons.wordnet import NOUN, VERB, load_wordnet
from queryveil.logs.characters import terms
from queryveil.semantics.lemmas import lemmatize, wordnet_lemmas

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
    is_sensitive: NDArray[np.bool_]  # (texts,)
    group: NDArray[np.int64]  # (texts,)
    importance: NDArray[np.float64]  # (texts,): the weight of a text in training, within its class


def read_labels(path: Path) -> Examples:
    """Read labelled queries from a CSV file; queries with the same words are a group. Errors never quote a query."""
    queries, labels = _read_rows(path)
    if len(set(labels)) < 2:
        which = "has no rows" if not labels else f"labels every query as {'' if labels[0] else 'not '}sensitive"
        raise InputError(f"{path} {which}; a model needs queries of both kinds.")
    texts = tuple(features(query) for query in queries)
    number: dict[frozenset[str], int] = {}
    group = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    return Examples(texts, np.array(labels, np.bool_), group, np.ones(len(texts)))


def _read_rows(path: Path) -> tuple[list[str], list[bool]]:
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
                        f"{path}, line {reader.line_num}: a label is 1 or 0, sensitive or neutral; mend that line."
                    )
                queries.append(row["query"])
                labels.append(label)
    except FileNotFoundError:
        raise InputError(f"there is no file of labels {path}; check the path.") from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} cannot be read as a CSV file in UTF-8; save it as such.") from None
    return queries, labels


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
    if lexicon.has(word, NOUN) or lexicon.has(word, VERB) or word not in lexicon.numbers:
        yield _with_s(word)
    if lexicon.has(word, VERB):
        stem = word[:-1] if word.endswith("e") else word
        is_y = word.endswith("y") and word[-2:-1] not in _VOWELS
        yield (word[:-1] + "i" if is_y else stem) + "ed"
        yield stem + "ing"


def _with_s(word: str) -> str:
    if word.endswith(_SIBILANTS):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"
