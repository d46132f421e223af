"""Baskets (transactions): one line per person, items separated by white space."""

import re
from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.layout import Format, Layout

_BASKET = re.compile(r"\s*\d+(\s+\d+)*\s*")


def recognise(sample: Sample) -> bool:
    """Return whether all lines consist of numbers; baskets of words look like any text, so they must be named."""
    return bool(sample.lines) and all(_BASKET.fullmatch(line) for line in sample.lines)


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout: each line is the only query of a person."""
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
