"""The records that the server keeps of logs and runs, and the rules of their names."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from queryveil.core.errors import InputError

if TYPE_CHECKING:
    from queryveil.serve.run_specs import RunSpec

RunKind = Literal["statistics", "anonymize", "verify", "measure", "attack", "index"]
RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
FINAL_STATES: tuple[RunState, ...] = ("done", "failed", "cancelled", "interrupted")
_LONGEST_NAME = 100  # characters


def now() -> str:
    """Return the current time in the stored format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """Return a random id."""
    return secrets.token_hex(6)


def checked_name(name: str) -> str:
    """Return a name with its white space collapsed, or raise if it is empty, too long or not printable."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a name has 1 to {_LONGEST_NAME} characters in one line; give another.", field="name")
    return name


def free_name(wanted: str, taken: set[str]) -> str:
    """Return the wanted name, with a number appended if it is taken."""
    names = (wanted if number == 1 else f"{wanted} {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run: what was requested, how far it has got, and how it ended."""

    id: str
    name: str
    kind: RunKind
    log: str | None
    release: str | None  # the run that made the release which this one examines
    spec: Mapping[str, Any]  # as JSON
    state: RunState
    stage: str
    done: int
    total: int
    error: str
    created: str
    started: str | None
    ended: str | None

    @classmethod
    def queued(cls, name: str, spec: "RunSpec", *, log: str | None = None, release: str | None = None) -> "RunRow":
        """Return a new run that waits for a worker."""
        return cls(
            id=new_id(),
            name=checked_name(name),
            kind=spec.run_kind,
            log=log,
            release=release,
            spec=spec.to_json(),
            state="queued",
            stage="",
            done=0,
            total=0,
            error="",
            created=now(),
            started=None,
            ended=None,
        )

    @property
    def is_over(self) -> bool:
        """Return whether the run has reached a final state."""
        return self.state in FINAL_STATES


@dataclass(frozen=True, kw_only=True)
class LogRow:
    """A log that was added."""

    id: str = field(default_factory=new_id)
    name: str
    kind: Literal["demo", "upload", "file"]
    path: str
    filename: str  # as its owner calls it
    reading: Mapping[str, str]  # format and columns, where they were given
    market: str = ""  # the path of a table of what its terms are worth; empty if there is none
    created: str = field(default_factory=now)

    @property
    def market_path(self) -> Path | None:
        """Return the path of the market table, if there is one."""
        return Path(self.market) if self.market else None

    @property
    def size(self) -> int | None:
        """Return the size of the file in bytes; None while it does not exist."""
        try:
            return Path(self.path).stat().st_size
        except OSError:
            return None
