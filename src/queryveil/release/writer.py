"""Writing a release: staged beside its place, verified there, then put in place whole.

Private folder first, then data, then report, manifest last of all; each file by temporary name, fsync, rename. The
private folder gets to its place before the release does, and is taken back if the release does not follow.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from queryveil.core.arrow import parquet_bytes
from queryveil.core.errors import OutputError
from queryveil.core.files import Interrupts, sync_folder, write_file
from queryveil.kinds.private_folder import RUN, PrivateFolder, check_apart
from queryveil.release import places
from queryveil.release.manifest import NAME, FileEntry

PART_ROWS = 5_000_000


@dataclass(frozen=True)
class WrittenRows:
    """The data files of a release, and the digest of their rows."""

    columns: tuple[str, ...]
    content_sha256: str
    files: tuple[FileEntry, ...]


class StagedRelease(Protocol):
    """A release that is being written; nothing of it is visible until it is committed."""

    @property
    def private(self) -> Path | None:
        """The folder of this machine to write who is behind it into; None where none is wanted."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the release as a whole."""

    def commit(self, content_sha256: str) -> None:
        """Put the private folder and then the release in their places."""


@dataclass(frozen=True)
class Target:
    """A folder in the making: its place, and the workspace beside it."""

    place: Path
    workspace: Path

    @property
    def new(self) -> Path:
        """Return the folder to write into."""
        return self.workspace / places.NEW


@dataclass(frozen=True)
class Staging:
    """Folders in which a release and its private folder are made ready."""

    force: bool
    _release: Target
    _private: Target | None
    _interrupts: Interrupts

    @property
    def release(self) -> Path:
        """Return the folder to write the release into."""
        return self._release.new

    @property
    def private(self) -> Path | None:
        """Return the folder to write who is behind it into."""
        return self._private.new if self._private else None

    @property
    def work(self) -> Path:
        """Return a folder for what is computed on the way: private, and gone with the run."""
        return self._release.workspace / "work"

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the release as a whole; the manifest makes the folder a release."""
        write_file(self.release / name, data)

    def commit(self, content_sha256: str) -> None:
        """Put the private folder and then the release in their places; an interrupt comes too late now."""
        self._interrupts.hold()
        if self._private:
            self._put_private(self._private, content_sha256)
        sync_folder(self.release)
        places.put(self._release.workspace, self._release.place, force=self.force)

    def _put_private(self, private: Target, content_sha256: str) -> None:
        PrivateFolder(private.new).bind(content_sha256)
        sync_folder(private.new)
        decider = self._release.place / NAME
        journal = places.journal_of(private.new, RUN, private.place, decider, self.release / NAME)
        journal.write(private.workspace)
        places.put(private.workspace, private.place, force=self.force)


@contextmanager
def staging(out: Path, private: Path | None, *, force: bool) -> Iterator[Staging]:
    """Check the places, sweep what a killed run left, and make the folders to write into."""
    check_places(out, private, force=force)
    interrupts = Interrupts()
    with ExitStack() as stack:
        stack.callback(interrupts.forget)
        try:
            release = Target(named(out), stack.enter_context(places.beside(named(out))))
            (release.new / "data").mkdir(parents=True)
            secret = None
            if private is not None:
                secret = Target(named(private), stack.enter_context(places.beside(named(private))))
                secret.new.mkdir(mode=0o700)
            yield Staging(force, release, secret, interrupts)
        except OSError as error:
            raise OutputError(f"cannot write {out}: {error.strerror or error}; nothing was released.") from None


def check_places(out: Path, private: Path | None, *, force: bool) -> None:
    """Refuse places that cannot or must not be written, before any work is done."""
    if private is not None:
        check_apart(private, out)
    for place, needed in ((out, NAME), (private, RUN)):
        if place is not None:
            check_place(place, needed, force=force)


def check_place(place: Path, needed: str, *, force: bool) -> None:
    """Refuse a place where no folder can or must be written; one that may be replaced holds the file `needed`."""
    _check_parent(named(place))
    places.sweep(named(place).parent)
    _check_free(named(place), needed, force=force)


def named(place: Path) -> Path:
    """Return a place by a path that ends in its name, which `.` and `..` do not."""
    return place.resolve() if place.name in ("", "..") else place


def _check_parent(place: Path) -> None:
    if place.parent.exists() and not place.parent.is_dir():
        raise OutputError(f"cannot write {place}: {place.parent} is a file, not a folder; choose another place.")
    if not place.parent.is_dir():
        raise OutputError(f"cannot write {place}: there is no folder {place.parent}; make it first.")
    around = next((folder for folder in place.resolve().parents if (folder / NAME).is_file()), None)
    if around is not None:
        raise OutputError(f"{place} would lie inside the release {around} and spoil it; choose another place.")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {place}: the folder {place.parent} is not yours to write; choose another.")


def _check_free(place: Path, needed: str, *, force: bool) -> None:
    if places.is_taken(place):
        raise OutputError(f"another run is writing {place}; wait for it, or choose another place.")
    if not os.path.lexists(place):
        return
    if not force:
        raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
    if not place.is_dir() or place.is_symlink() or (any(place.iterdir()) and not (place / needed).is_file()):
        raise OutputError(f"{place} was not made by queryveil, so --force does not replace it; choose another place.")


def write_data(staged: Staging, rows: pa.Table) -> Iterator[FileEntry]:
    """Write the rows as Parquet files and yield what the manifest says about each."""
    for number, start in enumerate(range(0, max(rows.num_rows, 1), PART_ROWS)):
        part = rows.slice(start, PART_ROWS)
        path, data = data_file(number), parquet_bytes(part)
        staged.write(path, data)
        yield file_entry(path, data, part.num_rows)
    sync_folder(staged.release / "data")


def data_file(number: int) -> str:
    """Return the name of a data file."""
    return f"data/part-{number:05d}.parquet"


def file_entry(path: str, data: bytes, rows: int | None = None) -> FileEntry:
    """Return what the manifest says about a file."""
    return FileEntry(path, hashlib.sha256(data).hexdigest(), rows)
