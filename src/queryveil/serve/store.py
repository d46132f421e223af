"""What the server knows, in SQLite: logs and runs. Every write is one transaction; a restart finds what was written."""

import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError

NAME = "state.sqlite"
OVER = ("done", "failed", "cancelled", "interrupted")
_LONGEST_NAME = 100  # characters
_JSON = ("reading", "spec")  # columns that hold records

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
    """There is nothing, or nothing any more, under an id."""


class ConflictError(InputError):
    """It cannot be done now: a name is taken, or a run is not in the state for it."""


@dataclass(frozen=True)
class LogRow:
    """A log that was added."""

    id: str
    name: str
    kind: str  # demo, upload or file
    path: str
    filename: str  # as its owner calls it
    reading: Mapping[str, str]  # format and columns, where they were given
    market: str  # the path of a table of what its terms are worth; empty where there is none
    created: str

    @property
    def size(self) -> int | None:
        """Return the bytes of the file; None where it is not there (yet)."""
        try:
            return Path(self.path).stat().st_size
        except OSError:
            return None


@dataclass(frozen=True)
class RunRow:
    """A run: what was asked for, how far it is, and how it ended."""

    id: str
    name: str
    kind: str  # statistics, anonymize, verify, measure, attack or index
    log: str | None
    release: str | None  # the run that made the release which this one looks at
    spec: Mapping[str, Any]
    state: str  # queued, running, or one of OVER
    stage: str
    done: int
    total: int
    error: str
    created: str
    started: str | None
    ended: str | None

    @property
    def is_over(self) -> bool:
        """Say whether nothing more will happen to it by itself."""
        return self.state in OVER


def now() -> str:
    """Return the time as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """Return an id that says nothing."""
    return secrets.token_hex(6)


def checked_name(name: str) -> str:
    """Return a name without the spaces around it, if it can be shown in a line."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a name has 1 to {_LONGEST_NAME} characters in one line; give another.", field="name")
    return name


class Store:
    """The tables of one home folder, which no other server may use at the same time."""

    def __init__(self, home: Path) -> None:
        self._lock = threading.RLock()
        self._holder = _hold(home)
        try:
            self._database = _open(home / NAME)
        except BaseException:
            os.close(self._holder)
            raise

    def close(self) -> None:
        """Give the folder up."""
        with self._lock:
            self._database.close()
            if self._holder >= 0:
                os.close(self._holder)
            self._holder = -1

    def log(self, log: str) -> LogRow:
        """Return a log."""
        for row in self._read("SELECT * FROM logs WHERE id = ?", log):
            return LogRow(**row)
        raise UnknownIdError("there is no such log, or it was deleted; choose another.", field="log")

    def logs(self) -> list[LogRow]:
        """Return all logs, the newest first."""
        return [LogRow(**row) for row in self._read("SELECT * FROM logs ORDER BY rowid DESC")]

    def add_log(self, row: LogRow) -> LogRow:
        """Add a log under a name of its own."""
        self._insert("logs", row, f"there is a log named {row.name} already; give another name.")
        return row

    def delete_log(self, log: str) -> None:
        """Forget a log; its files are `Logs.delete`'s affair."""
        self._write("DELETE FROM logs WHERE id = ?", log)

    def run(self, run: str) -> RunRow:
        """Return a run."""
        for row in self._read("SELECT * FROM runs WHERE id = ?", run):
            return RunRow(**row)
        raise UnknownIdError("there is no such run, or it was deleted; choose another.", field="run")

    def runs(self, log: str | None = None, kind: str | None = None, release: str | None = None) -> list[RunRow]:
        """Return the runs on a log, of a kind, on a release, or all; the newest first."""
        wanted = {"log": log, "kind": kind, "release": release}
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        rows = self._read(f"SELECT * FROM runs WHERE {where} ORDER BY rowid DESC", *given.values())
        return [RunRow(**row) for row in rows]

    def add_run(self, row: RunRow) -> RunRow:
        """Add a run under a name that no run of its kind has."""
        self._insert("runs", row, f"there is a run named {row.name} already; give another name.")
        return row

    def delete_run(self, run: str) -> None:
        """Forget a run; its files are `Jobs.delete`'s affair."""
        self._write("DELETE FROM runs WHERE id = ?", run)

    def take_queued(self) -> RunRow | None:
        """Return the run that has waited longest, which is running from now on; None where none waits."""
        oldest = "(SELECT id FROM runs WHERE state = 'queued' ORDER BY rowid LIMIT 1)"
        rows = self._write(
            f"UPDATE runs SET state = 'running', started = ?, stage = 'starting' WHERE id = {oldest} RETURNING *",
            now(),
        )
        return RunRow(**rows[0]) if rows else None

    def note_progress(self, run: str, stage: str, done: int, total: int) -> None:
        """Write down how far a run is."""
        self._write("UPDATE runs SET stage = ?, done = ?, total = ? WHERE id = ?", stage, done, total, run)

    def end(self, run: str, state: str, error: str = "", *, only: str = "running") -> bool:
        """Write down how a run ended, if it was in the state from which it ends so; say whether it was."""
        ended = "UPDATE runs SET state = ?, error = ?, ended = ? WHERE id = ? AND state = ? RETURNING *"
        return bool(self._write(ended, state, error, now(), run, only))

    def queue_again(self, run: str) -> bool:
        """Let a run that did not succeed wait once more; say whether it was such a run."""
        again = (
            "UPDATE runs SET state = 'queued', stage = '', done = 0, total = 0, error = '', started = NULL,"
            " ended = NULL WHERE id = ? AND state IN ('failed', 'cancelled', 'interrupted') RETURNING *"
        )
        return bool(self._write(again, run))

    def interrupt_all(self, sentence: str) -> None:
        """Mark what was queued or running: nobody works on it any more."""
        self._write(
            "UPDATE runs SET state = 'interrupted', error = ?, ended = ? WHERE state IN ('queued', 'running')",
            sentence,
            now(),
        )

    def _insert(self, table: str, row: LogRow | RunRow, taken: str) -> None:
        columns = [field.name for field in fields(row)]
        values = [json.dumps(value) if isinstance(value := getattr(row, name), Mapping) else value for name in columns]
        places = ", ".join("?" * len(columns))
        try:
            self._write(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", *values)
        except sqlite3.IntegrityError:
            raise ConflictError(taken, field="name") from None

    def _read(self, query: str, *values: object) -> list[dict[str, Any]]:
        try:
            with self._lock:
                return [_record(row) for row in self._database.execute(query, values)]
        except UnicodeEncodeError:  # half a character, which nothing here is called by
            return []

    def _write(self, query: str, *values: object) -> list[dict[str, Any]]:
        with self._lock, _transaction(self._database):
            return [_record(row) for row in self._database.execute(query, values)]


def _record(row: sqlite3.Row) -> dict[str, Any]:
    return {name: json.loads(row[name]) if name in _JSON else row[name] for name in row.keys()}  # noqa: SIM118


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _hold(home: Path) -> int:
    """Make the private folder where it is missing, and keep other servers out of it."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
        holder = os.open(home / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(f"--home: cannot keep state in {home}: {error.strerror}; give another folder.") from None
    try:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(holder)
        raise InputError(f"another server keeps its state in {home}; stop it, or give another --home.") from None
    return holder


def _open(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # the files that SQLite puts beside it get its mode
    try:
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_SCHEMA)
    except sqlite3.DatabaseError:
        raise InputError(f"{path} is not a state file of queryveil; move it away, or give another --home.") from None
    return database
