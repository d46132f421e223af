"""The server's state: records of logs and runs, and the SQLite database that keeps them.

Every write is one transaction, so a restart finds what was written.
"""

import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from queryveil.core.errors import InputError

if TYPE_CHECKING:
    from queryveil.serve.run_specs import RunSpec

RunKind = Literal["statistics", "anonymize", "verify", "measure", "attack", "index"]
RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
FINAL_STATES: tuple[RunState, ...] = ("done", "failed", "cancelled", "interrupted")
_LONGEST_NAME = 100  # characters
DATABASE_FILE = "state.sqlite"
_JSON_COLUMNS = ("reading", "spec")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS logs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL,
    reading TEXT NOT NULL, market TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, log TEXT, release TEXT, spec TEXT NOT NULL,
    state TEXT NOT NULL, stage TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL, error TEXT NOT NULL,
    created TEXT NOT NULL, started TEXT, ended TEXT, UNIQUE (kind, name)
);
"""


class UnknownIdError(InputError):
    """No log, run or release has the given id, or it was deleted."""


class ConflictError(InputError):
    """The request conflicts with the current state: a name is taken, or a run is in the wrong state."""


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

    id: str = field(default_factory=new_id)
    name: str
    kind: RunKind
    log: str | None
    release: str | None  # the run that made the release which this one examines
    spec: Mapping[str, Any]  # as JSON
    state: RunState = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    created: str = field(default_factory=now)
    started: str | None = None
    ended: str | None = None

    @classmethod
    def queued(cls, name: str, spec: "RunSpec", *, log: str | None = None, release: str | None = None) -> "RunRow":
        """Return a new run that waits for a worker."""
        return cls(name=checked_name(name), kind=spec.run_kind, log=log, release=release, spec=spec.to_json())

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


Row = TypeVar("Row", LogRow, RunRow)


class Store:
    """The tables of one home folder, which is locked against other servers."""

    def __init__(self, home: Path) -> None:
        self._lock = threading.RLock()
        self._home_lock = _lock_home(home)
        try:
            self._database = _open_database(home / DATABASE_FILE)
        except BaseException:
            os.close(self._home_lock)
            raise

    def close(self) -> None:
        """Close the database and unlock the folder."""
        with self._lock:
            self._database.close()
            if self._home_lock >= 0:
                os.close(self._home_lock)
            self._home_lock = -1

    def log(self, log: str) -> LogRow:
        """Return a log by its id."""
        for row in self.logs(id=log):
            return row
        raise UnknownIdError("there is no such log, or it was deleted; choose another.", field="log")

    def logs(self, **filters: str | None) -> list[LogRow]:
        """Return the logs that match all filters by column, newest first; a filter of None matches all."""
        return [LogRow(**row) for row in self._select("logs", filters)]

    def run(self, run: str) -> RunRow:
        """Return a run by its id."""
        for row in self.runs(id=run):
            return row
        raise UnknownIdError("there is no such run, or it was deleted; choose another.", field="run")

    def runs(self, **filters: str | None) -> list[RunRow]:
        """Return the runs that match all filters by column, newest first; a filter of None matches all."""
        return [RunRow(**row) for row in self._select("runs", filters)]

    def add(self, row: Row) -> Row:
        """Insert a log or a run, or raise if another log, or another run of its kind, has its name."""
        what = "log" if isinstance(row, LogRow) else "run"
        columns = [field.name for field in fields(row)]
        values = [json.dumps(value) if isinstance(value := getattr(row, name), Mapping) else value for name in columns]
        marks = ", ".join("?" * len(columns))
        try:
            self._execute(f"INSERT INTO {what}s ({', '.join(columns)}) VALUES ({marks})", *values)
        except sqlite3.IntegrityError:
            sentence = f"there is a {what} named {row.name} already; give another name."
            raise ConflictError(sentence, field="name") from None
        return row

    def delete(self, row: LogRow | RunRow) -> None:
        """Delete a log or a run; `Logs.delete` and `RunManager.delete` remove its files."""
        table = "logs" if isinstance(row, LogRow) else "runs"
        self._execute(f"DELETE FROM {table} WHERE id = ?", row.id)

    def take_queued(self) -> RunRow | None:
        """Move the oldest queued run to `running` and return it; None if no run is queued."""
        oldest = "(SELECT id FROM runs WHERE state = 'queued' ORDER BY rowid LIMIT 1)"
        rows = self._execute(
            f"UPDATE runs SET state = 'running', started = ?, stage = 'starting' WHERE id = {oldest} RETURNING *", now()
        )
        return RunRow(**rows[0]) if rows else None

    def update_progress(self, run: str, stage: str, done: int, total: int) -> None:
        """Write a run's progress."""
        self._execute("UPDATE runs SET stage = ?, done = ?, total = ? WHERE id = ?", stage, done, total, run)

    def end(self, run: str, state: RunState, error: str = "", *, only: RunState = "running") -> bool:
        """Move a run to a final state if it is in the state `only`; return whether it was."""
        ended = "UPDATE runs SET state = ?, error = ?, ended = ? WHERE id = ? AND state = ? RETURNING *"
        return bool(self._execute(ended, state, error, now(), run, only))

    def requeue(self, run: str) -> bool:
        """Queue a failed, cancelled or interrupted run again; return whether it was in one of these states."""
        again = (
            "UPDATE runs SET state = 'queued', stage = '', done = 0, total = 0, error = '', started = NULL,"
            " ended = NULL WHERE id = ? AND state IN ('failed', 'cancelled', 'interrupted') RETURNING *"
        )
        return bool(self._execute(again, run))

    def interrupt_all(self, error: str) -> None:
        """Mark all queued and running runs as interrupted."""
        unfinished = "state IN ('queued', 'running')"
        self._execute(f"UPDATE runs SET state = 'interrupted', error = ?, ended = ? WHERE {unfinished}", error, now())

    def _select(self, table: str, filters: Mapping[str, str | None]) -> list[dict[str, Any]]:
        given = {column: value for column, value in filters.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        query = f"SELECT * FROM {table} WHERE {where} ORDER BY rowid DESC"
        try:
            return self._execute(query, *given.values())
        except UnicodeEncodeError:  # a lone surrogate, which SQLite cannot store, so no row can match it
            return []

    def _execute(self, query: str, *values: object) -> list[dict[str, Any]]:
        with self._lock:  # every statement is a transaction of its own
            rows = [dict(row) for row in self._database.execute(query, values)]
        return [row | {name: json.loads(row[name]) for name in _JSON_COLUMNS if name in row} for row in rows]


def _lock_home(home: Path) -> int:
    """Create the private folder if it is missing, lock it against other servers, and return the lock's descriptor."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
        descriptor = os.open(home / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(f"--home: cannot keep state in {home}: {error.strerror}; give another folder.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(f"another server keeps its state in {home}; stop it, or give another --home.") from None
    return descriptor


def _open_database(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its journal files the same mode
    try:
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_SCHEMA)
    except sqlite3.DatabaseError:
        raise InputError(f"{path} is not a state file of queryveil; move it away, or give another --home.") from None
    return database
