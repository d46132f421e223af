"""The options of reading and cleaning a log, declared once for the command line, the Python API and the docs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from queryveil.core.errors import InputError
from queryveil.core.names import Flag, Integer, Parameter, Text, Value, Word, nearest

_DURATION = r"[1-9][0-9]{0,5}[smhd]"
ROLES = ("user", "query", "time", "rank", "url")

READING = (
    Parameter(
        "format",
        Text(r"[\w-]*", "the name of a log format (queryveil list formats)"),
        "how the log is laid out; guessed from its content when not given",
        "",
    ),
    Parameter(
        "columns",
        Text(r"|\s*\w+=[^=,]+(,\s*\w+=[^=,]+)*", "role=column pairs such as user=uid,query=q,time=ts"),
        "which column is the user, the query, the time, the rank and the url of a table",
        "",
    ),
    Parameter(
        "max_bad_lines",
        Text(r"[0-9]{1,15}|[0-9]{1,3}(\.[0-9]+)?%", "a number of lines, or a share such as 0.1%"),
        "how many unreadable lines are left out before the file is refused; a share allows at least 1",
        "0.1%",
    ),
    Parameter(
        "memory_limit",
        Text(r"[0-9]{1,9}(\.[0-9]+)?\s*[MG]B", "a size such as 500MB or 2GB"),
        "memory for reading and cleaning; what does not fit goes to a private temporary folder",
        "2GB",
    ),
)

CLEANING = (
    Parameter(
        "scrub",
        Flag(),
        "take out e-mail addresses, phone and card numbers, long digit runs and URLs with parameters",
        True,
    ),
    Parameter(
        "duplicates",
        Word(("merge", "keep")),
        "rows of equal user, query and time are one query with several clicks: merge or keep them",
        "merge",
    ),
    Parameter(
        "bots",
        Integer(minimum=0),
        "leave out users with a session of more than this many queries; 0 keeps everybody",
        100,
    ),
    Parameter(
        "bot_session",
        Word(("day", "gap")),
        "what a session is when bots are looked for: a calendar day, or queries without a gap",
        "day",
    ),
    Parameter(
        "session_gap",
        Text(_DURATION, "a duration such as 90s, 30m, 2h or 1d"),
        "a pause longer than this starts a new session",
        "30m",
    ),
    Parameter(
        "charset",
        Word(("letters", "paper")),
        "which characters make terms: all letters and digits, or the class of Burghardt et al.",
        "letters",
    ),
    Parameter(
        "stop_words",
        Word(("none", "english")),
        "common words to leave out: none, or Lucene's English list",
        "none",
    ),
    Parameter(
        "history",
        Text(rf"user|session|day|window:{_DURATION}", "user, session, day or window:DURATION such as window:7d"),
        "what one history is: all of a user's queries, or those of one session, day or time window",
        "user",
    ),
    Parameter(
        "partition_by",
        Text(r".*", "the name of a column"),
        "anonymise the rows of each value of this column (a country, a month) apart",
        "",
    ),
)


@dataclass(frozen=True)
class Reading:
    """How files are read; the fields are the parameters of `READING`."""

    format: str = ""
    columns: str = ""
    max_bad_lines: str = "0.1%"
    memory_limit: str = "2GB"

    def __post_init__(self) -> None:
        _check(READING, self)

    def column_roles(self) -> dict[str, str]:
        """Return role → column as given."""
        pairs = [pair.strip().split("=", 1) for pair in self.columns.split(",") if pair]
        roles = {role: column.strip() for role, column in pairs}
        for role in roles:
            if role not in ROLES:
                raise InputError(f"--columns: there is no role {role!r}; {nearest(role, ROLES)}")
        if len(roles) < len(pairs):
            raise InputError("--columns: a role is given twice; give each of user, query, time, rank, url once.")
        return roles

    def memory_bytes(self) -> int:
        """Return the memory limit in bytes."""
        size = self.memory_limit[:-2].strip()
        return int(float(size) * (1_000_000 if self.memory_limit.endswith("MB") else 1_000_000_000))

    def allowed_bad_lines(self, n_lines: int) -> int:
        """Return how many of so many lines may be bad."""
        if not self.max_bad_lines.endswith("%"):
            return int(self.max_bad_lines)
        return max(1, int(n_lines * float(self.max_bad_lines[:-1]) / 100))


@dataclass(frozen=True)
class Cleaning:
    """What is done to a log before anything else; the fields are the parameters of `CLEANING`."""

    scrub: bool = True
    duplicates: str = "merge"
    bots: int = 100
    bot_session: str = "day"
    session_gap: str = "30m"
    charset: str = "letters"
    stop_words: str = "none"
    history: str = "user"
    partition_by: str = ""

    def __post_init__(self) -> None:
        _check(CLEANING, self)

    def as_record(self) -> dict[str, Value]:
        """Return the options by name, for a manifest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_record(cls, record: Mapping[str, Value]) -> "Cleaning":
        """Read the options back from a manifest, ignoring what this version does not know."""
        known = {parameter.name for parameter in CLEANING}
        return cls(**{key: value for key, value in record.items() if key in known})  # type: ignore[arg-type]


def _check(parameters: tuple[Parameter, ...], options: Reading | Cleaning) -> None:
    for parameter in parameters:
        parameter.check(getattr(options, parameter.name), "--" + parameter.name.replace("_", "-"))


def seconds(duration: str) -> int:
    """Return the seconds of a duration such as 30m."""
    match = re.fullmatch(r"(\d+)([smhd])", duration)
    if match is None:
        raise InputError(f"{duration!r} is not a duration; write it like 90s, 30m, 2h or 7d.")
    return int(match.group(1)) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match.group(2)]
