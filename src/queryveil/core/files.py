"""Atomic writing of files, private temporary folders that are removed even after a kill, and folders in memory.

A workspace is a folder that its process keeps locked. The lock ends with the process, so whoever can lock a workspace
knows that nobody works in it. A workspace that was just made and is not locked yet may be removed by others: it is
empty, and its maker sees that it is gone and makes another.
"""

import fcntl
import io
import os
import secrets
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from queryveil.core.errors import InputError, OutputError

MANIFEST_FILE = "manifest.json"  # a folder that has it is a release
PREFIX = ".queryveil-"
_LOCK, _SEARCHED = "lock", 1 << 24  # bytes that are searched for the title of a page
_ATTEMPTS, _PAUSE = 25, 0.02  # seconds; whoever removes abandoned ones holds a lock for less
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, repr=False)
class MemoryPath:
    """A folder in memory, or a file in one; it has the methods of `Path` that read a release and its private folder."""

    label: str  # of the folder, for messages
    name: str = ""  # of the file
    files: dict[str, bytes] = field(default_factory=dict, compare=False)

    def __truediv__(self, name: str) -> "MemoryPath":
        return MemoryPath(self.label, name, self.files)

    def __str__(self) -> str:
        return f"{self.label}/{self.name}" if self.name else self.label

    def __repr__(self) -> str:
        return f"<{self}>"

    def is_dir(self) -> bool:
        """Return whether this is the folder."""
        return not self.name

    def is_file(self) -> bool:
        """Return whether this is a file that was written."""
        return self.name in self.files

    def exists(self) -> bool:
        """Return whether this is the folder or a file that was written."""
        return self.is_dir() or self.is_file()

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        if not self.is_file():
            raise FileNotFoundError(2, "No such file", str(self))
        return self.files[self.name]

    def read_text(self) -> str:
        """Return the content of the file as text."""
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> None:
        """Replace the content of the file."""
        self.files[self.name] = data

    def open(self, **options: Any) -> IO[str]:
        """Open the file as text; the options are those of `io.TextIOWrapper`."""
        return io.TextIOWrapper(io.BytesIO(self.read_bytes()), **options)


Folder = Path | MemoryPath  # where a release or its private folder is


def folder_of(location: Any) -> Any:
    """Return a text as a path, and anything else, such as a folder in memory, as it is."""
    return Path(location) if isinstance(location, str) else location


Recover = Callable[[Path], None]  # moves what a workspace holds to its final place


@contextmanager
def workspace(parent: Path, name: str, recover: Recover | None = None) -> Iterator[Path]:
    """Make a private folder in `parent` and keep it locked; at the end recover and remove it, even after an error."""
    interrupts = Interrupts()
    interrupts.defer()
    with ExitStack() as stack:
        stack.callback(interrupts.resume)
        folder, lock = _claim(parent, name, recover)
        stack.callback(_discard, folder, lock, recover)
        stack.callback(interrupts.defer)
        interrupts.resume()
        yield folder


def scratch(purpose: str, parent: Path | None = None) -> AbstractContextManager[Path]:
    """Make a workspace with a random name in a folder, by default the system's temporary one."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(parent.glob(f"{PREFIX}{purpose}-*"))
    return workspace(parent, f"{purpose}-{secrets.token_hex(8)}")


def remove_abandoned(folders: Iterable[Path], recover: Recover | None = None) -> None:
    """Recover and remove those of our own workspaces that nobody has locked; if that fails, the next run tries again.

    In a folder that everybody can write to, another user could plant a workspace that makes us move files.
    """
    with suppress(OSError):  # `folders` may be a glob that cannot be listed
        for folder in list(folders):
            with suppress(OSError):
                status = folder.lstat()
                is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
                if is_own and (lock := _lock(folder)) is not None:
                    _discard(folder, lock, recover)


def _claim(parent: Path, name: str, recover: Recover | None) -> tuple[Path, int]:
    """Make and lock a workspace; an abandoned one of the same name is removed first."""
    folder = parent / f"{PREFIX}{name}"
    try:
        for attempt in range(_ATTEMPTS):
            time.sleep(_PAUSE if attempt else 0)
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                remove_abandoned([folder], recover)
                continue
            try:
                lock = _lock(folder)
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            if lock is not None:
                return folder, lock
    except OSError as error:
        raise OutputError(f"cannot write in the folder {parent}: {error.strerror}; choose another place.") from None
    raise OutputError(f"another run is writing to the same place in {parent}; wait for it, or choose another place.")


def _lock(folder: Path) -> int | None:
    """Return the lock of a workspace, or None if another process has it or has just removed the folder."""
    try:
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), (folder / _LOCK).lstat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _discard(folder: Path, lock: int, recover: Recover | None) -> None:
    try:
        if recover is not None:
            recover(folder)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def refuse_inside_release(path: Path) -> None:
    """Refuse to write into the folder of a release, where it would be published with it."""
    around = next((folder for folder in path.resolve().parents if (folder / MANIFEST_FILE).is_file()), None)
    if around is not None:
        raise OutputError(f"{path} would lie inside the release {around} and spoil it; choose another place.")


def check_new_file(out: Path, *, overwrite: bool) -> None:
    """Raise an error before any work is done if a file cannot or must not be written."""
    refuse_inside_release(out)
    if out.is_dir():
        raise OutputError(f"{out} is a folder; give the name of a file.")
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists already; choose another name, or replace it with --force.")
    if not out.parent.is_dir():
        raise OutputError(f"cannot write {out}: there is no folder {out.parent}; make it first.")
    refuse_unwritable(out)


def refuse_unwritable(place: Path) -> None:
    """Refuse a place in a folder that the user may not write to."""
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {place}: the folder {place.parent} is not yours to write; choose another.")


def check_replaceable(out: Path, what: str, is_ours: str | Callable[[Path], bool], *, overwrite: bool) -> None:
    """Refuse like `check_new_file`; of the files that exist, only one of ours may be replaced, never a log.

    One of ours passes a test, or holds a text such as the title of a page.
    """
    check_new_file(out, overwrite=overwrite)
    if out.exists() and not (_holds(out, is_ours) if isinstance(is_ours, str) else is_ours(out)):
        raise OutputError(f"{out} is not {what}, so --force does not replace it; choose another name.")


def _holds(path: Path, text: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return text.encode() in stream.read(_SEARCHED)


def read_input(path: Path, flag: str) -> bytes:
    """Return the content of a file that an option names."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{flag}: {path} cannot be read: {error.strerror}; check the path.") from None


@contextmanager
def write_errors_as_sentences(out: Path, remedy: str) -> Iterator[None]:
    """Replace the system's errors while something is written by a sentence that names the target."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror or error}; {remedy}.") from None


def write_new_file(out: Path, data: bytes, *, overwrite: bool, mode: int = 0o644) -> None:
    """Write a file atomically: in a workspace next to it, then renamed."""
    check_new_file(out, overwrite=overwrite)
    with write_errors_as_sentences(out, "choose another place"), scratch("file", out.parent) as folder:
        write_file(folder / "new", data, mode)
        (folder / "new").replace(out)


def write_file(path: Folder, data: bytes, mode: int = 0o644) -> None:
    """Write a file under a temporary name, sync it to disk, then rename it; one in memory is just kept."""
    with open_new(path, mode) as stream:
        stream.write(data)


@contextmanager
def open_new(path: Folder, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a file to be written piece by piece, as `write_file` writes one."""
    if isinstance(path, MemoryPath):
        yield (kept := io.BytesIO())
        path.write_bytes(kept.getvalue())
        return
    temporary = path.with_name(f"{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def sync_folder(path: Path) -> None:
    """Sync a folder's entries to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass
class Interrupts:
    """Defers SIGINT and SIGTERM while something must not be left half done.

    Only Python's main thread handles signals, so in other threads nothing is deferred. Blocking signals for one thread
    would not suffice: a thread of a library may receive the signal, and the main thread is interrupted all the same.
    """

    _handlers: dict[int, Callable[[int, FrameType | None], Any]] = field(default_factory=dict)
    _pending: int | None = None

    def defer(self) -> None:
        """Defer interrupts from now on."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and number not in self._handlers:
                self._handlers[number] = handler
                signal.signal(number, self._record)

    def resume(self, *, deliver: bool = True) -> None:
        """Stop deferring; an interrupt that came meanwhile is handled now, or dropped."""
        handlers, pending, self._handlers, self._pending = self._handlers, self._pending, {}, None
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if pending is not None and deliver:
            handlers[pending](pending, None)

    def _record(self, number: int, frame: FrameType | None) -> None:
        self._pending = number
