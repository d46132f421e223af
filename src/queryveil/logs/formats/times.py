"""Telling how a column of times is written."""

import re
from collections.abc import Iterable

from queryveil.logs.formats.base import TimeStyle

_NUMBER = re.compile(r"\d{9,14}(\.\d+)?")
_MILLISECONDS_FROM = 100_000_000_000  # as seconds this is the year 5138, as milliseconds 1973


def time_style(values: Iterable[object]) -> TimeStyle:
    """Return the style of the first value that is there: ISO 8601, or seconds or milliseconds since 1970."""
    for value in values:
        text = "" if value is None else str(value).strip()
        if text:
            if not _NUMBER.fullmatch(text):
                return "iso"
            return "milliseconds" if float(text) >= _MILLISECONDS_FROM else "seconds"
    return "iso"
