"""The store: state survives a restart, and its folder is private and locked."""

import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.serve.run_specs import AnonymizeSpec, VerifySpec
from queryveil.serve.store import DATABASE_FILE, ConflictError, LogRow, RunRow, Store, UnknownIdError, checked_name

LOG = LogRow(
    id="l1", name="one", kind="upload", path="/somewhere", filename="one.tsv", reading={"format": "aol"}, created="2026"
)


def queued(name: str) -> RunRow:
    return RunRow.queued(name, AnonymizeSpec(method="km(k=2, m=2)"), log="l1")


def test_rows_survive_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    store.add(LOG)
    first, second = store.add(queued("a")), store.add(queued("b"))
    store.close()
    store = Store(tmp_path / "home")
    assert store.log("l1") == LOG
    assert store.runs() == [second, first]
    assert store.runs(log="l1", kind="verify") == []
    store.close()


def test_run_changes_state_only_from_the_expected_state(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    first, second = store.add(queued("a")), store.add(queued("b"))
    taken = store.take_queued(["anonymize"])
    assert taken is not None
    assert (taken.id, taken.state) == (first.id, "running")
    store.update_progress(first.id, "reading", 1, 3)
    assert not store.end(first.id, "cancelled", only="queued")
    assert store.end(second.id, "cancelled", "why", only="queued")
    assert store.end(first.id, "done")
    assert not store.end(first.id, "failed")
    assert store.take_queued(["anonymize"]) is None
    found = store.run(first.id)
    assert (found.state, found.stage, found.done, found.total, found.is_over) == ("done", "reading", 1, 3, True)
    assert not store.requeue(first.id)
    assert store.requeue(second.id)
    assert store.run(second.id) == replace(second, state="queued")
    store.interrupt_running("stopped")
    assert store.run(second.id).state == "queued"
    assert store.take_queued(["statistics"]) is None
    assert store.take_queued(["statistics", "anonymize"]) is not None
    store.interrupt_running("stopped")
    assert store.run(second.id).state == "interrupted"
    assert store.run(first.id).state == "done"
    store.close()


def test_names_are_unique(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    store.add(LOG)
    store.add(queued("a"))
    with pytest.raises(ConflictError, match="there is a log named one already; give another name"):
        store.add(replace(LOG, id="l2"))
    with pytest.raises(ConflictError, match="there is a run named a already; give another name") as raised:
        store.add(queued("a"))
    assert raised.value.field == "name"
    store.add(RunRow.queued("a", VerifySpec()))
    store.add(replace(queued("a"), log="l2"))  # names are unique among the runs of one kind on one log
    store.delete(LOG)
    for unknown in ("l1", "\ud800", ""):
        with pytest.raises(UnknownIdError, match="no such log"):
            store.log(unknown)
    with pytest.raises(UnknownIdError, match="no such run"):
        store.run("r")
    store.close()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\x00b", "a\x1b[31m", "\ud800", "right \u200f to left"])
def test_unprintable_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"a name has (1 to 100|no control) characters"):
        checked_name(name)
    assert checked_name("  my \n run ") == "my run"


def test_home_is_locked_and_private(tmp_path: Path) -> None:
    home = tmp_path / "in" / "home"
    store = Store(home)
    with pytest.raises(InputError, match="another server keeps its state"):
        Store(home)
    store.add(LOG)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    store.close()
    Store(home).close()


def test_unusable_homes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot keep state in"):
        Store(tmp_path / "file" / "home")
    (tmp_path / DATABASE_FILE).write_text("no database" * 100)
    with pytest.raises(InputError, match="is not a state file of queryveil"):
        Store(tmp_path)
    (tmp_path / DATABASE_FILE).unlink()
    Store(tmp_path).close()  # the lock was released


def test_state_of_an_older_version_is_migrated_and_of_a_newer_one_refused(tmp_path: Path) -> None:
    columns = "name, kind, log, release, spec, state, stage, done, total, error, created, started, ended"
    with sqlite3.connect(tmp_path / DATABASE_FILE) as old:
        old.execute(f"CREATE TABLE runs (id TEXT PRIMARY KEY, {columns}, UNIQUE (kind, name))")
        for run in "zya":
            values = (run, run, "verify", "l", None, "{}", "done", "", 0, 0, "", "2026", None, None)
            old.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(values))})", values)
    old.close()
    for _ in range(2):
        store = Store(tmp_path)
        assert [(run.name, run.tags, run.notes, run.forgotten) for run in store.runs()] == [
            (name, [], "", None) for name in "ayz"
        ]
        store.close()
    with sqlite3.connect(tmp_path / DATABASE_FILE) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(InputError, match="was written by a newer queryveil; use that one, or give another --home"):
        Store(tmp_path)
