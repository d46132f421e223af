"""Files that are sent, the folder of a run, and the removal of what a server that was killed left behind.

Rows are the journal: the row of a log or a run is written after its files and deleted before them, several rows in one
transaction, so what has no row, or belongs to a run that has not ended well, is left over.
"""

import fcntl
import json
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path, PurePath
from typing import BinaryIO

from queryveil.core.errors import InputError
from queryveil.core.files import PREFIX, write_file
from queryveil.serve.settings import Settings, bytes_of
from queryveil.serve.store import QuotaError, Store, TooLargeError

_LONGEST_NAME = 200  # characters
_CHUNK = 1 << 20  # bytes
DISK_FULL = "the file would fill the {} that this server may use; delete some runs, or start with a larger --max-disk."
RELEASE, PRIVATE, INDEX, UPLOAD = "release", "private", "index", "upload"
RESULT = "result.json"  # what the run found
DATASHEET = "datasheet.html"
TEMPORARY = "tmp"
_PUBLIC = ("verdict", "manifest", "scores", "seconds")  # what of the result stays when the private folder goes
LOGS, RUNS = "logs", "runs"  # in the home folder
_ID = re.compile(r"[0-9a-f]{12}")  # nothing else in these folders is ours
_WORKERS_LOCK = "workers"
_PATIENCE, _PAUSE = 30.0, 0.05  # seconds for which a start waits for the workers of a killed server; between two looks


def upload_name(filename: str) -> str:
    """Return the name under which a file that was sent is kept: without folders and unprintable characters."""
    last_part = PurePath(filename.replace("\\", "/")).name
    return "".join(c for c in last_part if c.isprintable()).lstrip(".")[:_LONGEST_NAME] or "upload"


def store_upload(path: Path, stream: BinaryIO, settings: Settings) -> None:
    """Copy what is sent to a new private file, or raise once it exceeds the limit of uploads or the disk's."""
    most, left_on_disk = settings.largest_upload, settings.check_disk()
    copied = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := stream.read(_CHUNK):
            copied += len(chunk)
            if copied > most:
                raise TooLargeError(too_large(most), field="file")
            if copied > left_on_disk:
                raise QuotaError(DISK_FULL.format(settings.max_disk), field="file")
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())


def check_unpacked(path: Path, filename: str, most: str) -> None:
    """Raise if a compressed file is larger, unpacked, than the server takes; it is unpacked no further than that."""
    if unpacked_exceeds(path, bytes_of(most)):
        raise TooLargeError(
            f"{filename} is larger than {most} when it is unpacked, which is the most "
            "that this server takes; send it in parts, or start the server with a larger --max-unpacked.",
            field="file",
        )


def unpacked_exceeds(path: Path, most: int) -> bool:
    """Return whether the content of a compressed file or of a Parquet file is larger than a number of bytes."""
    from queryveil.logs.files import open_decompressed, take_sample

    sample = take_sample(path)
    if sample.is_parquet:
        from queryveil.logs.formats.table import parquet_file

        with parquet_file(path) as file:
            groups = (file.metadata.row_group(n).total_byte_size for n in range(file.metadata.num_row_groups))
            return bool(sum(groups) > most)
    if sample.compression == "none":
        return False
    size = 0
    with open_decompressed(path, sample.compression) as stream:
        while size <= most and (chunk := stream.read(_CHUNK)):
            size += len(chunk)
    return size > most


def too_large(most: int) -> str:
    """Return the sentence that refuses an upload larger than the limit."""
    return (
        f"the file is larger than the {most / 1_000_000:,.0f} MB that this server takes; put it into the server's "
        "folder (--folder), or start the server with a larger --max-upload."
    )


def clear_folder(folder: Path) -> None:
    """Make the folder of a run that begins, without what an earlier attempt left; what was sent stays."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name == UPLOAD:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def remove(folder: Path) -> None:
    """Remove a folder and all that is in it, or raise if something stays."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def forget_files(folder: Path) -> None:
    """Remove from a run's folder who is behind its release: the private folder, and what the method says of the log."""
    result = folder / RESULT
    if result.exists():
        record = json.loads(result.read_text())
        kept = {name: record[name] for name in _PUBLIC if name in record}
        write_file(result, json.dumps(kept, ensure_ascii=False).encode(), 0o600)
    remove(folder / PRIVATE)


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
