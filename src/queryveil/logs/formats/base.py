"""What every log format declares: how to recognise it, and where its columns are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from queryveil.core.names import Declaration
from queryveil.logs.sample import Sample

# stored: the column holds times, not texts; offset: ISO 8601 with offsets from UTC
TimeStyle = Literal[
    "none", "iso", "offset", "excite", "stored", "seconds", "milliseconds", "microseconds", "nanoseconds"
]


@dataclass(frozen=True)
class Layout:
    """Where the rows and columns of one file are: all that an engine needs to read it.

    There is no role `person` where every row is a person of its own. The roles are column names (keys for `json`).
    """

    shape: Literal["delimited", "lines", "json", "parquet"]
    roles: Mapping[str, str]  # "person", "query", "time", "rank", "url", "part" → column
    columns: tuple[str, ...] = ()  # all columns in file order (`json`: the keys that were met)
    delimiter: str = ""
    quote: str = ""
    header: bool = False
    time: TimeStyle = "none"


@dataclass(frozen=True)
class Format(Declaration):
    """A log format."""

    recognise: Callable[[Sample], bool] = field(default=lambda sample: False, repr=False)
    layout: Callable[[Sample, Mapping[str, str]], Layout] | None = field(default=None, repr=False)
    holds_baskets: bool = False  # a line is a set of items rather than a query
