"""What a server that was killed left behind, and its removal before the next one begins.

Rows are the journal: the row of a log or a run is written after its files and deleted before them, several rows in one
transaction, so what has no row, or belongs to a run that has not ended well, is left over.
"""

import fcntl
import os
import re
import shutil
import time
from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.core.files import PREFIX
from queryveil.serve.run_files import TEMPORARY, UPLOAD, forget_files, remove
from queryveil.serve.store import Store

LOGS, RUNS = "logs", "runs"  # in the home folder
_ID = re.compile(r"[0-9a-f]{12}")  # nothing else in these folders is ours
_WORKERS_LOCK = "workers"
_PATIENCE, _PAUSE = 30.0, 0.05  # seconds for which a start waits for the workers of a killed server; between two looks


def remove_leftovers(home: Path, store: Store) -> None:
    """Remove files and folders that belong to no log and to no run that is done; finish what was being forgotten."""
    _await_workers(home)
    shutil.rmtree(home / TEMPORARY, ignore_errors=True)
    logs = {log.id for log in (*store.logs(), *store.drafts())}
    done = {run.id: run for run in store.runs(state="done")}
    queued = {run.id for run in store.runs(state="queued")}
    for folder in _own_folders(home / LOGS):
        if folder.name in logs:
            _remove_temporary(folder)
        else:
            remove(folder)
    for folder in _own_folders(home / RUNS):
        run = done.get(folder.name)
        if run is None:
            _remove_all(folder, besides=(UPLOAD,) if folder.name in queued else ())
            continue
        _remove_temporary(folder)
        if run.forgotten is not None:
            forget_files(folder)


def join_workers(home: Path) -> None:
    """Hold a lock for as long as this process lives, for which the next server waits before it sweeps."""
    fcntl.flock(os.open(home / _WORKERS_LOCK, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_SH)


def _await_workers(home: Path) -> None:
    """Wait until no worker of an earlier server is left; they end by themselves a few seconds after it."""
    lock = os.open(home / _WORKERS_LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    until = time.monotonic() + _PATIENCE
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    sentence = (
                        f"runs of an earlier server still write into {home}; end them, or wait, then start again."
                    )
                    raise InputError(sentence) from None
                time.sleep(_PAUSE)
    finally:
        os.close(lock)


def _remove_all(folder: Path, besides: tuple[str, ...]) -> None:
    """Remove the folder of a run, except for the file that was sent with it and is still needed."""
    for path in folder.iterdir():
        if path.name not in besides:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _own_folders(parent: Path) -> list[Path]:
    try:
        return [folder for folder in parent.iterdir() if _ID.fullmatch(folder.name)]
    except FileNotFoundError:
        return []


def _remove_temporary(folder: Path) -> None:
    """Remove what was being written in the folder of a log or a run."""
    for path in [folder / TEMPORARY, *folder.glob(f"{PREFIX}*"), *folder.glob("*.tmp")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
