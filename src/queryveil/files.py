"""Folders and files that appear whole or not at all, and whose leftovers are swept after a kill.

A `Workspace` is a private temporary folder that its process holds locked. The lock ends with the process, however
it ends, so whoever can take the lock of a workspace knows that it is a leftover.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from queryveil.errors import OutputError

PREFIX = ".queryveil-"
_LOCK = "lock"


@contextmanager
def workspace(parent: Path, purpose: str) -> Iterator[Path]:
    """Make a private folder in `parent`, hold it locked, and remove it at the end whatever happens."""
    sweep(parent)
    folder = parent / f"{PREFIX}{purpose}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise OutputError(f"cannot write in the folder {parent}: {error.strerror}; choose another place.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """Make a workspace among the system's temporary files."""
    with workspace(Path(tempfile.gettempdir()), purpose) as folder:
        yield folder


def sweep(parent: Path) -> None:
    """Remove the workspaces in `parent` whose process is gone, putting back what was moved aside in them."""
    with suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*"):
            if folder.is_dir() and not folder.is_symlink() and _is_abandoned(folder):
                restore(folder)
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Say whether nobody holds the folder's lock; a folder whose lock is not made yet is being born."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def aside(folder: Path, target: Path) -> Path:
    """Return the place in a workspace to which an old `target` is moved while its successor is put in place."""
    return folder / "aside" / target.name


def restore(folder: Path) -> None:
    """Put back what stands aside in a workspace if its successor never stood."""
    with suppress(OSError):
        for old in (folder / "aside").iterdir():
            target = folder.parent / old.name
            if not target.exists():
                old.rename(target)


def publish(staged: Path, target: Path, folder: Path) -> None:
    """Put a finished folder in its place in one step; an older one goes aside first, and back if that fails."""
    old = aside(folder, target)
    if target.exists():
        old.parent.mkdir(exist_ok=True)
        target.rename(old)
    try:
        staged.rename(target)
    except OSError:
        restore(folder)
        raise
    sync_folder(target.parent)


def write_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file under a temporary name, force it to disk, then give it its name."""
    temporary = path.with_name(f"{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def sync_folder(path: Path) -> None:
    """Force a folder's entries to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
