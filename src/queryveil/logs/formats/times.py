"""Telling how a column of times is written."""

import re
from collections.abc import Iterable
from itertools import islice

from queryveil.logs.formats.base import TimeStyle

_NUMBER = re.compile(r"(\d+)(\.\d*)?")
_OFFSET = re.compile(r".*\d\d:\d\d.*[+-]\d\d(:?\d\d)?", re.DOTALL)
# A count since 1970 by the length of its whole part: 9 digits of seconds begin in 1973, 10 end in 2286.
_BY_DIGITS: dict[int, TimeStyle] = {
    9: "seconds", 10: "seconds", 12: "milliseconds", 13: "milliseconds",
    15: "microseconds", 16: "microseconds", 18: "nanoseconds", 19: "nanoseconds",
}  # fmt: skip
_LOOKED_AT = 1_000


def time_style(values: Iterable[object]) -> TimeStyle:
    """Return how times are written: ISO 8601, with or without offsets from UTC, or a count since 1970.

    The first value that is there tells a count; one with an offset among the first thousand is enough for offsets.
    """
    texts = (str(value).strip() for value in values if value is not None)
    present = list(islice((text for text in texts if text), _LOOKED_AT))
    number = _NUMBER.fullmatch(present[0]) if present else None
    if number is not None:
        return _BY_DIGITS.get(len(number.group(1)), "iso")
    return "offset" if any(_OFFSET.fullmatch(text) for text in present) else "iso"
