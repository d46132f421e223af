"""Writing a release: staged beside its place, verified there, then put in place whole.

Private folder first, then data, then report, manifest last of all; each file by temporary name, fsync, rename. While
a private folder stands and its release does not yet, it carries a mark with the release's digest; the next run takes
away a folder whose mark was left by a kill.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.errors import OutputError, ReleaseError
from queryveil.files import publish, sweep, sync_folder, workspace, write_file
from queryveil.release import manifest as manifests
from queryveil.release.private import RUN, check_apart, parquet_bytes

_PART_ROWS = 5_000_000
_PENDING = "pending"


@dataclass(frozen=True)
class Staging:
    """Folders in which a release and its private folder are made ready."""

    release: Path
    private: Path | None
    _out: Path
    _out_workspace: Path
    _private_out: Path | None
    _private_workspace: Path | None

    def commit(self, content_sha256: str) -> None:
        """Put the private folder and then the release in their places."""
        if self.private and self._private_out and self._private_workspace:
            write_file(self.private / _PENDING, content_sha256.encode(), 0o600)
            sync_folder(self.private)
            publish(self.private, self._private_out, self._private_workspace)
        sync_folder(self.release)
        publish(self.release, self._out, self._out_workspace)
        if self._private_out:
            (self._private_out / _PENDING).unlink()


@contextmanager
def staging(out: Path, private: Path | None, *, force: bool) -> Iterator[Staging]:
    """Check the places, sweep what a killed run left, and make the folders to write into."""
    check_places(out, private, force=force)
    with ExitStack() as stack:
        try:
            out_workspace = stack.enter_context(workspace(out.parent, "release"))
            (out_workspace / "new" / "data").mkdir(parents=True)
            private_workspace = None
            if private is not None:
                private_workspace = stack.enter_context(workspace(private.parent, "private"))
                (private_workspace / "new").mkdir(mode=0o700)
            yield Staging(
                out_workspace / "new",
                private_workspace / "new" if private_workspace else None,
                out,
                out_workspace,
                private,
                private_workspace,
            )
        except OSError as error:
            raise OutputError(f"cannot write {out}: {error.strerror or error}; nothing was released.") from None


def check_places(out: Path, private: Path | None, *, force: bool) -> None:
    """Refuse places that cannot or must not be written, before any work is done."""
    if private is not None:
        check_apart(private, out)
    for place, needed in ((out, manifests.NAME), (private, RUN)):
        if place is not None:
            _check_parent(place)
            _settle(place, out)
            _check_free(place, needed, force=force)


def _check_parent(place: Path) -> None:
    if not place.parent.is_dir():
        raise OutputError(f"cannot write {place}: there is no folder {place.parent}; make it first.")


def _settle(place: Path, out: Path) -> None:
    """Take away what a killed run left at and beside a place, and put back what it had moved aside."""
    mark = place / _PENDING
    if mark.is_file() and (place / RUN).is_file():
        try:
            stands = manifests.load(out)["content_sha256"] == mark.read_text()
        except ReleaseError:
            stands = False
        if stands:
            mark.unlink()
        else:
            shutil.rmtree(place)
    sweep(place.parent)


def _check_free(place: Path, needed: str, *, force: bool) -> None:
    if not place.exists():
        return
    if not force:
        raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
    if not place.is_dir() or (any(place.iterdir()) and not (place / needed).is_file()):
        raise OutputError(f"{place} exists and was not made by queryveil, so --force does not replace it.")


def write_data(folder: Path, rows: pa.Table) -> list[dict[str, Any]]:
    """Write the rows as Parquet parts and return each one's path, digest and number of rows."""
    files = []
    for number, start in enumerate(range(0, max(rows.num_rows, 1), _PART_ROWS)):
        part = rows.slice(start, _PART_ROWS)
        path = f"data/part-{number:05d}.parquet"
        data = parquet_bytes(part)
        write_file(folder / path, data)
        files.append({"path": path, "sha256": hashlib.sha256(data).hexdigest(), "rows": part.num_rows})
    sync_folder(folder / "data")
    return files


def write_report(folder: Path, page: str) -> dict[str, Any]:
    """Write the report and return its path and digest."""
    data = page.encode()
    write_file(folder / "report.html", data)
    return {"path": "report.html", "sha256": hashlib.sha256(data).hexdigest()}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest: from now on the folder is a release."""
    write_file(folder / manifests.NAME, manifests.encode(manifest))
