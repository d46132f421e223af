"""Writing a release: staged next to its target, verified there, then moved into place; or kept in memory.

Private folder, data, report, then the manifest; each file by temporary name, fsync, rename. The
private folder gets to its target before the release does, and is withdrawn if the release does not follow.
"""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from queryveil.core.arrow import parquet_bytes
from queryveil.core.errors import OutputError
from queryveil.core.files import Folder, Interrupts, MemoryPath, sync_folder, write_errors_as_sentences, write_file
from queryveil.kinds.private_folder import RUN_FILE, bind
from queryveil.release.atomic_folder import NEW, move_into_place, open_workspace, prepare_target, write_journal
from queryveil.release.manifest import MANIFEST_FILE, FileEntry, Manifest
from queryveil.release.reader import content_digest

PART_ROWS = 5_000_000
DATA_FILE = "data/part-{:05d}.parquet"


@dataclass(frozen=True)
class WrittenRows:
    """The data files of a release, and the digest of their rows."""

    columns: tuple[str, ...]
    content_sha256: str = ""
    files: tuple[FileEntry, ...] = ()


@dataclass(frozen=True)
class MemoryStaging:
    """Folders in memory in which a release and its private folder are kept."""

    release: Folder
    private: Folder | None  # None where no private folder is wanted

    def write(self, name: str, data: bytes, rows: int | None = None) -> FileEntry:
        """Write a file of the release and return what the manifest says about it; `rows` are those of a data file."""
        write_file(self.release / name, data)
        return FileEntry(name, hashlib.sha256(data).hexdigest(), rows)

    def commit(self, manifest: Manifest) -> None:
        """Record in the private folder which release it belongs to."""
        if self.private is not None:
            bind(self.private, manifest.content_sha256, manifest.field_digests())


@dataclass(frozen=True)
class Staging(MemoryStaging):
    """Folders in workspaces of this machine in which a release and its private folder are written.

    Nothing of them is visible until they are committed.
    """

    release: Path
    private: Path | None
    work: Path  # for intermediate results: private, and removed with the run
    _out: Path
    _private_out: Path | None
    _force: bool
    _interrupts: Interrupts

    def commit(self, manifest: Manifest) -> None:
        """Move the private folder and then the release to their targets; from now on an interrupt comes too late."""
        self._interrupts.defer()
        super().commit(manifest)
        sync_folder(self.release / "data")
        if self.private is not None and self._private_out is not None:
            sync_folder(self.private)
            write_journal(
                self.private.parent,
                self._private_out,
                RUN_FILE,
                self._out / MANIFEST_FILE,
                self.release / MANIFEST_FILE,
            )
            move_into_place(self.private.parent, self._private_out, force=self._force)
        sync_folder(self.release)
        move_into_place(self.release.parent, self._out, force=self._force)


def open_staging(
    out: Folder, private: Folder | None, *, force: bool
) -> "AbstractContextManager[Staging] | AbstractContextManager[MemoryStaging]":
    """Return where a release is written: next to its target, which must be writable, or in memory to stay there."""
    if isinstance(out, MemoryPath) or isinstance(private, MemoryPath):
        return nullcontext(MemoryStaging(out, private))
    prepare_targets(out, private, force=force)
    return staging(out, private, force=force)


@contextmanager
def staging(out: Path, private: Path | None, *, force: bool) -> Iterator[Staging]:
    """Check the targets, recover what a killed run left, and make the folders to write into."""
    target, private_target = prepare_targets(out, private, force=force)
    interrupts = Interrupts()
    with ExitStack() as stack:
        stack.callback(interrupts.resume, deliver=False)
        with write_errors_as_sentences(out, "nothing was released"):
            workspace = stack.enter_context(open_workspace(target))
            (workspace / NEW / "data").mkdir(parents=True)
            secret = None
            if private_target is not None:
                secret = stack.enter_context(open_workspace(private_target)) / NEW
                secret.mkdir(mode=0o700)
            yield Staging(workspace / NEW, secret, workspace / "work", target, private_target, force, interrupts)


def prepare_targets(out: Path, private: Path | None, *, force: bool) -> tuple[Path, Path | None]:
    """Refuse folders that cannot or must not be written, before any work is done; return their paths."""
    if private is None:
        return prepare_target(out, MANIFEST_FILE, force=force), None
    inner, outer = private.resolve(), out.resolve()
    if inner == outer or outer in inner.parents:
        raise OutputError(f"the private folder {private} would lie inside the release {out}; put it elsewhere.")
    if inner in outer.parents:
        raise OutputError(f"the release {out} would lie inside the private folder {private}; put it elsewhere.")
    return prepare_target(out, MANIFEST_FILE, force=force), prepare_target(private, RUN_FILE, force=force)


def write_rows(staged: MemoryStaging, rows: pa.Table) -> WrittenRows:
    """Write the rows of a release as Parquet files."""
    starts = range(0, max(rows.num_rows, 1), PART_ROWS)
    parts = [rows.slice(start, PART_ROWS) for start in starts]
    files = [staged.write(DATA_FILE.format(i), parquet_bytes(part), part.num_rows) for i, part in enumerate(parts)]
    names = tuple(rows.column_names)
    return WrittenRows(names, content_digest(names, (rows,)), tuple(files))
