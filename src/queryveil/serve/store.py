"""The server's state: records of logs and runs, and the SQLite database that keeps them.

Every write is one transaction, so a restart finds what was written. Deleted rows are overwritten, so that nothing of
them can be read from the files afterwards.
"""

import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from queryveil.core.errors import InputError

if TYPE_CHECKING:
    from queryveil.serve.run_specs import RunSpec

DATABASE_FILE = "state.sqlite"
_VERSION = 1  # of the tables; 0 are those before runs had tags
_SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")
_OLD_COLUMNS = "id, name, kind, log, release, spec, state, stage, done, total, error, created, started, ended"
_MIGRATION = f"""
ALTER TABLE runs RENAME TO old_runs;
{_SCHEMA}
INSERT INTO runs ({_OLD_COLUMNS}) SELECT {_OLD_COLUMNS} FROM old_runs ORDER BY rowid;
DROP TABLE old_runs;
"""
RunKind = Literal[
    "statistics", "anonymize", "verify", "measure", "attack", "datasheet", "index", "check", "attack_other"
]
RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
FINAL_STATES: tuple[RunState, ...] = ("done", "failed", "cancelled", "interrupted")
_LONGEST_NAME, _LONGEST_TAG, _LONGEST_NOTES = 100, 40, 4_000  # characters
_MOST_TAGS = 20
_JSON_COLUMNS = ("reading", "spec", "tags")


def lock_home(home: Path) -> int:
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


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database of a home folder, creating it or migrating it to the current tables."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its journal files the same mode
    try:
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        database.row_factory = sqlite3.Row
        for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            database.execute(f"PRAGMA {setting}")
        [version] = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise InputError(f"{path} was written by a newer queryveil; use that one, or give another --home.")
        has_tables = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone()
        script = _MIGRATION if has_tables and version < _VERSION else _SCHEMA
        database.executescript(f"BEGIN; {script} PRAGMA user_version = {_VERSION}; COMMIT;")
        erase_deleted(database)
    except sqlite3.DatabaseError:
        raise InputError(f"{path} is not a state file of queryveil; move it away, or give another --home.") from None
    return database


def erase_deleted(database: sqlite3.Connection) -> None:
    """Rewrite the database without what was deleted, and empty its write-ahead log."""
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class UnknownIdError(InputError):
    """No log, run or release has the given id, or it was deleted."""


class ConflictError(InputError):
    """The request conflicts with the current state: a name is taken, or a run is in the wrong state."""


class TooLargeError(InputError):
    """An upload is larger than the server takes."""


class QuotaError(InputError):
    """The disk or the queue of the server holds as much as it may."""


def now() -> str:
    """Return the current time in the stored format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """Return a random id."""
    return secrets.token_hex(6)


def checked_name(name: str) -> str:
    """Return a name with its white space collapsed, or raise if it is empty, too long or not printable."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise InputError(f"a name has 1 to {_LONGEST_NAME} characters; give another.", field="name")
    if not name.isprintable():
        sentence = "a name has no control characters and no marks that are not seen; type it again, or give another."
        raise InputError(sentence, field="name")
    return name


def _taken(what: str, name: str) -> ConflictError:
    return ConflictError(f"there is a {what} named {name} already; give another name.", field="name")


def checked_tags(tags: Iterable[str]) -> list[str]:
    """Return tags without repetition and white space around them, or raise if there are too many or one is too long."""
    found = list(dict.fromkeys(" ".join(tag.split()) for tag in tags if tag.strip()))
    if len(found) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG or not tag.isprintable() or "," in tag for tag in found):
        raise InputError(
            f"a run has at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters, without commas; change them.",
            field="tags",
        )
    return found


def checked_notes(notes: str) -> str:
    """Return notes without white space around them, or raise if they are too long."""
    notes = notes.replace("\r\n", "\n").strip()
    if len(notes) > _LONGEST_NOTES:
        raise InputError(f"notes have at most {_LONGEST_NOTES:,} characters; shorten them.", field="notes")
    return notes


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
    forgotten: str | None = None  # when the private folder of its release was deleted
    tags: list[str] = field(default_factory=list)
    notes: str = ""

    @classmethod
    def queued(cls, name: str, spec: "RunSpec", *, log: str | None = None, release: str | None = None) -> "RunRow":
        """Return a new run that waits for a worker."""
        return cls(name=checked_name(name), kind=spec.run_kind, log=log, release=release, spec=spec.to_json())

    @property
    def is_over(self) -> bool:
        """Return whether the run has reached a final state."""
        return self.state in FINAL_STATES

    @property
    def seconds(self) -> float | None:
        """Return how long the run took; None unless it has ended."""
        if self.started is None or self.ended is None:
            return None
        return round((datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.started)).total_seconds(), 3)


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
    def is_copy(self) -> bool:
        """Return whether the file is the server's own, which goes with the log."""
        return self.kind != "file"

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


@dataclass(frozen=True, kw_only=True)
class DraftRow(LogRow):
    """A log that was sent or chosen, and is looked at before it is added."""


Row = TypeVar("Row", LogRow, DraftRow, RunRow)
_TABLES: Mapping[type, str] = {LogRow: "logs", DraftRow: "drafts", RunRow: "runs"}
added_rows: ContextVar[list[LogRow | RunRow] | None] = ContextVar("added_rows", default=None)  # by the current request


class Store:
    """The tables of one home folder, which is locked against other servers."""

    def __init__(self, home: Path) -> None:
        self._lock = threading.RLock()
        self._home_lock = lock_home(home)
        try:
            self._database = open_database(home / DATABASE_FILE)
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

    @property
    def changes(self) -> int:
        """Return a number that grows with every change of a row."""
        return self._database.total_changes

    def log(self, log: str) -> LogRow:
        """Return a log by its id."""
        for row in self.logs(id=log):
            return row
        raise UnknownIdError("there is no such log, or it was deleted; choose another.", field="log")

    def logs(self, **filters: str | None) -> list[LogRow]:
        """Return the logs that match all filters by column, newest first; a filter of None matches all."""
        return [LogRow(**row) for row in self._select("logs", filters)]

    def draft(self, draft: str) -> DraftRow:
        """Return a draft by its id."""
        for row in self.drafts(id=draft):
            return row
        raise UnknownIdError("there is no such draft, or it was added or discarded; see the logs.", field="draft")

    def drafts(self, **filters: str | None) -> list[DraftRow]:
        """Return the drafts that match all filters by column, newest first; a filter of None matches all."""
        return [DraftRow(**row) for row in self._select("drafts", filters)]

    def run(self, run: str) -> RunRow:
        """Return a run by its id."""
        for row in self.runs(id=run):
            return row
        raise UnknownIdError("there is no such run, or it was deleted; choose another.", field="run")

    def runs(self, **filters: str | None) -> list[RunRow]:
        """Return the runs that match all filters by column, newest first; a filter of None matches all."""
        return [RunRow(**row) for row in self._select("runs", filters)]

    def add_all(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Insert several logs or runs, or none of them."""
        with self._transaction():
            return [self.add(row) for row in rows]

    def add(self, row: Row) -> Row:
        """Insert a log or a run, or raise if another log, or another run of its kind on the same log, has its name."""
        table = _TABLES[type(row)]
        values = {name: json.dumps(value) if name in _JSON_COLUMNS else value for name, value in vars(row).items()}
        marks = ", ".join("?" * len(values))
        try:
            self.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())
        except sqlite3.IntegrityError:
            raise _taken(table.removesuffix("s"), row.name) from None
        added = added_rows.get()
        if added is not None:
            added.append(row)
        return row

    def delete(self, *rows: LogRow | RunRow, forget: Sequence[RunRow] = ()) -> None:
        """Delete logs and runs and mark others as forgotten, in one transaction; their files are removed afterwards."""
        with self._transaction():
            for row in forget:
                self.execute("UPDATE runs SET forgotten = ? WHERE id = ? AND forgotten IS NULL", now(), row.id)
            for each in rows:
                self.execute(f"DELETE FROM {_TABLES[type(each)]} WHERE id = ?", each.id)

    def exchange(self, old: Sequence[LogRow | RunRow], new: Row) -> Row:
        """Put a log in the place of its draft, or a draft in that of its log and statistics, in one transaction."""
        with self._transaction():
            for each in old:
                self.execute(f"DELETE FROM {_TABLES[type(each)]} WHERE id = ?", each.id)
            return self.add(new)

    def change_draft(self, draft: str, *, name: str, reading: Mapping[str, str]) -> None:
        """Replace the name of a draft, and how it is read."""
        update = "UPDATE drafts SET name = ?, reading = ? WHERE id = ?"
        self.execute(update, checked_name(name), json.dumps(dict(reading)), draft)

    def erase_deleted(self) -> None:
        """Remove what was deleted from the database's files, too."""
        with self._lock:
            erase_deleted(self._database)

    def describe_run(
        self, run: str, *, name: str | None = None, tags: Sequence[str] | None = None, notes: str | None = None
    ) -> RunRow:
        """Rename a run, or replace its tags or its notes; return it."""
        row = self.run(run)
        changed = {
            "name": row.name if name is None else checked_name(name),
            "tags": json.dumps(row.tags if tags is None else checked_tags(tags)),
            "notes": row.notes if notes is None else checked_notes(notes),
        }
        try:
            update = ", ".join(f"{column} = ?" for column in changed)
            self.execute(f"UPDATE runs SET {update} WHERE id = ?", *changed.values(), run)
        except sqlite3.IntegrityError:
            raise ConflictError(
                f"there is a run named {changed['name']} already; give another name.", field="name"
            ) from None
        return self.run(run)

    def take_queued(self, kinds: Collection[str]) -> RunRow | None:
        """Move the oldest queued run of some kinds to `running` and return it; None if none is queued."""
        among = f"state = 'queued' AND kind IN ({', '.join('?' * len(kinds))})"
        oldest = f"(SELECT id FROM runs WHERE {among} ORDER BY rowid LIMIT 1)"
        rows = self.execute(
            f"UPDATE runs SET state = 'running', started = ?, stage = 'starting' WHERE id = {oldest} RETURNING *",
            now(),
            *kinds,
        )
        return RunRow(**rows[0]) if rows else None

    def update_progress(self, run: str, stage: str, done: int, total: int) -> None:
        """Write a run's progress."""
        self.execute("UPDATE runs SET stage = ?, done = ?, total = ? WHERE id = ?", stage, done, total, run)

    def end(self, run: str, state: RunState, error: str = "", *, only: RunState = "running") -> bool:
        """Move a run to a final state if it is in the state `only`; return whether it was."""
        ended = "UPDATE runs SET state = ?, error = ?, ended = ? WHERE id = ? AND state = ? RETURNING *"
        return bool(self.execute(ended, state, error, now(), run, only))

    def requeue(self, run: str) -> bool:
        """Queue a failed, cancelled or interrupted run again; return whether it was in one of these states."""
        again = (
            "UPDATE runs SET state = 'queued', stage = '', done = 0, total = 0, error = '', started = NULL,"
            " ended = NULL WHERE id = ? AND state IN ('failed', 'cancelled', 'interrupted') RETURNING *"
        )
        return bool(self.execute(again, run))

    def interrupt_running(self, error: str) -> None:
        """Mark all running runs as interrupted; queued ones stay in the queue."""
        update = "UPDATE runs SET state = 'interrupted', error = ?, ended = ? WHERE state = 'running'"
        self.execute(update, error, now())

    def _select(self, table: str, filters: Mapping[str, str | None]) -> list[dict[str, Any]]:
        given = {column: value for column, value in filters.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        query = f"SELECT * FROM {table} WHERE {where} ORDER BY rowid DESC"
        try:
            return self.execute(query, *given.values())
        except UnicodeEncodeError:  # a lone surrogate, which SQLite cannot store, so no row can match it
            return []

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Execute several statements as one transaction."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def execute(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Execute a statement, by default in a transaction of its own, and return the rows."""
        with self._lock:
            rows = [dict(row) for row in self._database.execute(query, values)]
        return [row | {name: json.loads(row[name]) for name in _JSON_COLUMNS if name in row} for row in rows]
