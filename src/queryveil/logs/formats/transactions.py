"""Baskets: one line per person, its items separated by white space."""

import re
from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.formats.base import Format, Layout
from queryveil.logs.sample import Sample

_BASKET = re.compile(r"\s*\d+(\s+\d+)*\s*")


def recognise(sample: Sample) -> bool:
    """Look for lines of numbers only; baskets of words cannot be told from plain text and must be named."""
    return bool(sample.lines) and all(_BASKET.fullmatch(line) for line in sample.lines)


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout: each line is one person's one query."""
    if columns:
        raise LogError(f"{sample.path}: baskets have no columns; leave --columns out, or name another --format.")
    return Layout("lines", {"query": "line"})


TRANSACTIONS = Format(
    name="transactions",
    purpose="one basket per line, items separated by white space; each line is a person",
    recognise=recognise,
    layout=layout,
    holds_baskets=True,
)
