"""The layout of a log file: which column is the user, the query, the time …, and how its times are written."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from queryveil.core.errors import LogError
from queryveil.core.names import Declaration, nearest
from queryveil.logs.files import Sample

# stored: the column has a type for times; offset: ISO 8601 with offsets from UTC
TimeStyle = Literal[
    "none", "iso", "offset", "excite", "stored", "seconds", "milliseconds", "microseconds", "nanoseconds"
]

# Role → column names that it is recognised by, the first that the table has
USUAL_NAMES = {
    "person": ("user", "user_id", "userid", "anonid", "client_id", "person", "uid"),
    "query": ("query", "user_query", "q", "keywords", "search", "term", "terms"),
    "time": ("time", "timestamp", "querytime", "query_time", "datetime", "date", "ts"),
    "rank": ("rank", "itemrank", "position"),
    "url": ("url", "clickurl", "click_url"),
}

_NUMBER = re.compile(r"(\d+)(\.\d*)?")
_COMPACT_TIME = re.compile(r"\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d){2}")  # yymmddhhmmss
_OFFSET = re.compile(r".*\d\d:\d\d.*[+-]\d\d(:?\d\d)?", re.DOTALL)
UNIX_TIMES: tuple[TimeStyle, ...] = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_INSPECTED_TIMES = 1_000


@dataclass(frozen=True)
class Layout:
    """Where the rows and columns of one file are: everything that an engine needs to read it.

    Without the role `person`, every row is a different person. Column names are keys for `json`.
    """

    shape: Literal["delimited", "lines", "json", "parquet"]
    roles: Mapping[str, str]  # "person", "query", "time", "rank", "url", "part" → column
    columns: tuple[str, ...] = ()  # all columns in file order (`json`: the keys in the sample)
    delimiter: str = ""
    quote: str = ""
    header: bool = False
    time: TimeStyle = "none"


@dataclass(frozen=True)
class Format(Declaration):
    """A log format: how to recognise it, and how to find its layout."""

    recognise: Callable[[Sample], bool] = field(default=lambda sample: False, repr=False)
    layout: Callable[[Sample, Mapping[str, str]], Layout] | None = field(default=None, repr=False)
    holds_baskets: bool = False  # a line is a set of items rather than a query


def find_roles(where: str, names: Sequence[str], given: Mapping[str, str], *, shown: bool = False) -> dict[str, str]:
    """Return role → column by the names given, else by usual names; a user and a query are required.

    Error messages contain column names only if `shown`: the first line of a text file that has no header may be
    somebody's query.
    """
    roles = usual_roles(names)
    for role, column in given.items():
        if column not in names:
            raise LogError(f"{where}: there is no column {column!r} for {role}; {_hint(column, names, shown)}")
        roles["person" if role == "user" else role] = column
    for role, word in (("person", "user"), ("query", "query")):
        if role not in roles:
            listed = f" ({', '.join(names[:8])})" if shown else ""
            raise LogError(
                f"{where}: none of the {len(names)} column names{listed} is that of a {word}, such as "
                f"{' or '.join(USUAL_NAMES[role][:3])}; name it with --columns {word}=COLUMN, or check the header "
                "and the delimiter."
            )
    for role, column in roles.items():
        if names.count(column) > 1:
            raise LogError(f"{where}: two columns have the name of the {role}; rename one of them.")
    return roles


def with_partition(layout: Layout, column: str, where: str) -> Layout:
    """Return the layout with the column by which the log is partitioned among its roles; it must exist once."""
    if not column:
        return layout
    if layout.shape == "lines":
        raise LogError(f"{where}: a log of baskets has no columns to partition by; leave --partition-by out.")
    if layout.columns.count(column) != 1:
        hint = _hint(column, layout.columns, shown=layout.shape == "parquet")
        raise LogError(f"{where}: there is no single column {column!r} to partition by; {hint}")
    return replace(layout, roles={**layout.roles, "part": column})


def _hint(column: str, names: Sequence[str], shown: bool) -> str:
    if shown:
        return nearest(column, names)
    return f"compare it with the {len(names)} column names of the file (case matters)."


def usual_roles(names: Iterable[str]) -> dict[str, str]:
    """Return role → column for the columns with usual names."""
    by_lower = {name.strip().lower(): name for name in names}
    found = {role: [by_lower[name] for name in usual if name in by_lower] for role, usual in USUAL_NAMES.items()}
    return {role: columns[0] for role, columns in found.items() if columns}


def time_style(values: Iterable[object]) -> TimeStyle:
    """Return how times are written: ISO 8601, with or without offsets from UTC, as yymmddhhmmss, or as Unix time.

    The first value decides whether they are Unix times; one offset among the first thousand means offsets. Twelve
    digits are milliseconds of the years from 1973 to 2001, unless all of the first thousand are valid as yymmddhhmmss.
    """
    texts = (str(value).strip() for value in values if value is not None)
    present = list(islice((text for text in texts if text), _INSPECTED_TIMES))
    if present and all(map(_COMPACT_TIME.fullmatch, present)):
        return "excite"
    number = _NUMBER.fullmatch(present[0]) if present else None
    if number is not None:
        # seconds have 9 or 10 digits, which begin in 1973 and end in 2286; each finer unit has three more
        unit, n_more = divmod(len(number.group(1)) - 9, 3)
        return UNIX_TIMES[unit] if 0 <= unit < len(UNIX_TIMES) and n_more < 2 else "iso"
    return "offset" if any(_OFFSET.fullmatch(text) for text in present) else "iso"
