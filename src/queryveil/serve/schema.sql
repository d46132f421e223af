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
