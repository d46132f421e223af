"""Labelled queries of a user: a CSV file with the columns query and label."""

import csv
from pathlib import Path

import numpy as np

from queryveil.core.errors import InputError
from queryveil.sensitivity.training import Examples
from queryveil.sensitivity.words import features

_LABELS = {
    **dict.fromkeys(("1", "true", "yes", "sensitive"), True),
    **dict.fromkeys(("0", "false", "no", "neutral", "not sensitive", "not-sensitive"), False),
}


def read_labels(path: Path) -> Examples:
    """Read labelled queries; queries with the same words are one group. Messages never repeat a query."""
    queries, labels = _rows(path)
    if len(set(labels)) < 2:
        which = "has no rows" if not labels else f"labels every query as {'' if labels[0] else 'not '}sensitive"
        raise InputError(f"{path} {which}; a model needs queries of both kinds.")
    texts = tuple(features(query) for query in queries)
    number: dict[frozenset[str], int] = {}
    group = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    return Examples(texts, np.array(labels, np.bool_), group, np.ones(len(texts)))


def _rows(path: Path) -> tuple[list[str], list[bool]]:
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
