"""The SQLite database in a server's home folder, and the lock on that folder.

Deleted rows are overwritten, so that nothing of them can be read from the files afterwards.
"""

import fcntl
import os
import sqlite3
from pathlib import Path

from queryveil.core.errors import InputError

DATABASE_FILE = "state.sqlite"
_VERSION = 1  # of the tables; 0 are those before runs had tags
_SCHEMA = """
CREATE TABLE IF NOT EXISTS logs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL,
    reading TEXT NOT NULL, market TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS drafts (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL,
    reading TEXT NOT NULL, market TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, log TEXT, release TEXT, spec TEXT NOT NULL,
    state TEXT NOT NULL, stage TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL, error TEXT NOT NULL,
    created TEXT NOT NULL, started TEXT, ended TEXT, forgotten TEXT, tags TEXT NOT NULL DEFAULT '[]',
    notes TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS sessions (
    digest TEXT PRIMARY KEY, role TEXT NOT NULL, token TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, role TEXT NOT NULL, who TEXT NOT NULL,
    address TEXT NOT NULL, action TEXT NOT NULL, log TEXT, run TEXT, person INTEGER
);
CREATE TRIGGER IF NOT EXISTS audit_is_not_changed BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER IF NOT EXISTS audit_is_not_deleted BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE UNIQUE INDEX IF NOT EXISTS run_names ON runs (kind, coalesce(log, ''), name);
"""
_OLD_COLUMNS = "id, name, kind, log, release, spec, state, stage, done, total, error, created, started, ended"
_MIGRATION = f"""
ALTER TABLE runs RENAME TO old_runs;
{_SCHEMA}
INSERT INTO runs ({_OLD_COLUMNS}) SELECT {_OLD_COLUMNS} FROM old_runs ORDER BY rowid;
DROP TABLE old_runs;
"""


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
