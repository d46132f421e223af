"""Options of reading and cleaning a log."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.names import Flag, Integer, Text, Word, nearest
from queryveil.core.options import OptionGroup, option

_DURATION = r"[1-9][0-9]{0,5}[smhd]"
ROLES = ("user", "query", "time", "rank", "url")


@dataclass(frozen=True)
class ColumnRoles(Text):
    """Which column is the user, the query …: a text, or in Python a mapping."""

    pattern: str = r"|\s*\w+=[^=,]+(,\s*\w+=[^=,]+)*"
    form: str = "role=column pairs such as user=uid,query=q,time=ts"
    annotation = str | Mapping[str, str]

    def convert(self, value: Any) -> Any:
        """Return a mapping as text."""
        return ",".join(f"{role}={name}" for role, name in value.items()) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """How the files of a log are read."""

    panel = "Input"
    format: str = option(
        "",
        Text(r"[\w-]*", "the name of a log format (queryveil list formats)"),
        "how the log is laid out; guessed from its content when not given",
    )
    columns: str = option(
        "",
        ColumnRoles(),
        "which column is the user, the query, the time, the rank and the url of a table",
    )
    encoding: str = option(
        "utf-8",
        Text(r"[\w.:-]+", "a name that Python knows, such as latin-1, cp1252 or utf-16"),
        "the character encoding of text files",
    )
    max_bad_lines: str = option(
        "0.1%",
        Text(r"[0-9]{1,15}|[0-9]{1,3}(\.[0-9]+)?%", "a number of lines, or a share such as 0.1%"),
        "how many unreadable lines are left out before the file is refused; a share allows at least 1",
    )
    memory_limit: str = option(
        "2GB",
        Text(r"[0-9]{1,9}(\.[0-9]+)?\s*[MG]B", "a size such as 500MB or 2GB"),
        "memory for reading and cleaning; what does not fit goes to a private temporary folder",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            "".encode(self.encoding)
        except LookupError:
            raise InputError(
                f"--encoding: there is no text encoding {self.encoding!r}; name one such as latin-1, cp1252 or utf-16.",
                field="encoding",
            ) from None

    @property
    def is_utf8(self) -> bool:
        """Return whether text files are read as they are."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")

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
        """Return how many lines may be bad in a log of `n_lines` lines."""
        if not self.max_bad_lines.endswith("%"):
            return int(self.max_bad_lines)
        return max(1, int(n_lines * float(self.max_bad_lines[:-1]) / 100))


@dataclass(frozen=True)
class CleaningOptions(OptionGroup):
    """How a log is cleaned before histories are built."""

    panel = "Cleaning"
    scrub: bool = option(
        True,
        Flag(),
        "take out e-mail, network and street addresses, handles, users' home pages, phone and card numbers, long digit "
        "runs and URLs with parameters",
    )
    duplicates: str = option(
        "merge",
        Word(("merge", "keep")),
        "rows of equal user, query and time are one query with several clicks: merge or keep them",
    )
    bots: int = option(
        100, Integer(minimum=0), "leave out users with a session of more than this many queries; 0 keeps everybody"
    )
    bot_session: str = option(
        "day",
        Word(("day", "gap")),
        "what a session is when bots are looked for: a calendar day, or queries without a gap",
    )
    session_gap: str = option(
        "30m", Text(_DURATION, "a duration such as 90s, 30m, 2h or 1d"), "a pause longer than this starts a new session"
    )
    charset: str = option(
        "letters",
        Word(("letters", "paper")),
        "Which characters make terms: all letters and digits, or the class of Burghardt et al.",
    )
    stop_words: str = option(
        "none", Word(("none", "english")), "common words to leave out: none, or Lucene's English list"
    )
    history: str = option(
        "user",
        Text(rf"user|session|day|window:{_DURATION}", "user, session, day or window:DURATION such as window:7d"),
        "what one history is: all of a user's queries, or those of one session, day or time window",
    )
    partition_by: str = option(
        "",
        Text(r".*", "the name of a column"),
        "anonymise the rows of each value of this column (a country, a month) apart",
    )


def seconds(duration: str) -> int:
    """Return the seconds of a duration such as 30m."""
    match = re.fullmatch(r"(\d+)([smhd])", duration)
    if match is None:
        raise InputError(f"{duration!r} is not a duration; write it like 90s, 30m, 2h or 7d.")
    return int(match.group(1)) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match.group(2)]
