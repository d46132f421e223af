"""The logs of a server: the demo log, uploads in the private folder, and files of the folder that it may read."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import resolve
from queryveil.serve.jobs import RunManager
from queryveil.serve.run_specs import StatisticsSpec, source_of
from queryveil.serve.settings import Settings
from queryveil.serve.store import LogRow, RunRow, Store, checked_name, new_id

MOST_FILES = 1_000  # of the folder that are listed
_CHUNK = 1 << 20  # bytes
_NO_READING: Mapping[str, str] = {}


@dataclass(frozen=True)
class GuessedLayout:
    """The layout of a file, as the command line guesses it."""

    format: str
    columns: tuple[str, ...]  # of the file
    roles: Mapping[str, str]  # user, query, time, rank, url → column


class Logs:
    """Adds, lists and deletes logs; adding a log starts a run that computes its statistics."""

    def __init__(self, settings: Settings, store: Store, jobs: RunManager) -> None:
        self._settings, self._store, self._jobs = settings, store, jobs

    def add_demo(self, name: str) -> LogRow:
        """Add the demo log, which the first run that needs it generates."""
        row = self._new_row(name, "demo", "demo.tsv", _NO_READING)
        return self._add(replace(row, market=str(Path(row.path).with_name("market.csv"))))

    def add_upload(
        self, name: str, filename: str, stream: BinaryIO, reading: Mapping[str, str] = _NO_READING
    ) -> LogRow:
        """Store an uploaded log, or raise if it is too large or cannot be read as a log."""
        last_part = PurePath(filename.replace("\\", "/")).name
        filename = "".join(c for c in last_part if c.isprintable())[:200] or "upload"
        row = self._new_row(name, "upload", filename, reading)
        try:
            _copy(stream, Path(row.path), self._settings.largest_upload)
            self._check_readable(row)
            return self._add(row)
        except BaseException:
            shutil.rmtree(Path(row.path).parent, ignore_errors=True)
            raise

    def add_file(self, name: str, relative_path: str, reading: Mapping[str, str] = _NO_READING) -> LogRow:
        """Add a file of the server's folder without copying it."""
        path, name = str(self._settings.file(relative_path)), checked_name(name)
        row = LogRow(name=name, kind="file", path=path, filename=relative_path, reading=_given(reading))
        self._check_readable(row)
        return self._add(row)

    def delete(self, log: str) -> None:
        """Delete a log and the server's copy of it; unfinished runs on it fail, releases stay."""
        row = self._store.log(log)
        self._store.delete(row)
        self._jobs.end_runs_on(log)
        if row.kind != "file":
            shutil.rmtree(Path(row.path).parent, ignore_errors=True)

    def files(self) -> list[tuple[str, int]]:
        """Return the relative paths and sizes of the files in the server's folder."""
        if self._settings.folder is None:
            return []
        found = []
        for relative in _walk(self._settings.folder):
            try:
                found.append((relative, self._settings.file(relative).stat().st_size))
            except (InputError, OSError):
                continue
            if len(found) == MOST_FILES:
                break
        return sorted(found)

    def guess(self, path: Path, reading: Mapping[str, str] = _NO_READING) -> GuessedLayout:
        """Return the layout of a file, or raise if it cannot be read as a log."""
        from queryveil.engines.local.files import find_files

        [found] = find_files(source_of(path, _given(reading)))
        roles = {("user" if role == "person" else role): column for role, column in found.layout.roles.items()}
        return GuessedLayout(found.format, found.layout.columns, roles)

    def statistics(self, log: str) -> RunRow | None:
        """Return the run that computes the statistics of a log."""
        return next(iter(self._store.runs(log=log, kind="statistics")), None)

    def _new_row(self, name: str, kind: Literal["demo", "upload"], filename: str, reading: Mapping[str, str]) -> LogRow:
        """Return the row of a log that is kept in a new private folder, and create that folder."""
        log = new_id()
        folder = self._settings.state_folder / "logs" / log
        name, path, reading = checked_name(name), str(folder / "log"), _given(reading)
        row = LogRow(id=log, name=name, kind=kind, path=path, filename=filename, reading=reading)
        folder.mkdir(mode=0o700, parents=True)
        return row

    def _add(self, row: LogRow) -> LogRow:
        self._store.add(row)
        self._jobs.start(StatisticsSpec(), row.name, log=row.id)
        return row

    def _check_readable(self, row: LogRow) -> None:
        try:
            self.guess(Path(row.path), row.reading)
        except QueryveilError as error:
            sentence = str(error).replace(row.path, row.filename)
            raise type(error)(sentence, field=error.field or "file") from None


def _given(reading: Mapping[str, str]) -> dict[str, str]:
    """Return the reading options that are not empty, or raise if one is not valid."""
    from queryveil.logs.options import ReadingOptions

    given = {name: reading[name].strip() for name in ("format", "columns") if reading.get(name, "").strip()}
    if ReadingOptions(**given).format:
        resolve("format", given["format"])
    return given


def _copy(stream: BinaryIO, path: Path, most: int) -> None:
    """Copy a stream to a new private file, or raise once it exceeds the limit."""
    left = most
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(too_large(most), field="file")
            out.write(chunk)


def too_large(most: int) -> str:
    """Return the sentence that refuses an upload larger than the limit."""
    return (
        f"the file is larger than the {most / 1_000_000:,.0f} MB that this server takes; put it into the server's "
        "folder (--folder), or start the server with a larger --max-upload."
    )


def _walk(root: Path) -> Iterator[str]:
    """Yield the relative paths of all files below a folder that are not hidden, without following links to folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield str((Path(folder) / name).relative_to(root))
