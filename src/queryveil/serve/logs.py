"""The logs of a server: the demo log, uploads in the private folder, and files of the folder that it may read."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from queryveil.core.errors import InputError, QueryveilError
from queryveil.core.names import resolve
from queryveil.serve.fields import with_fields
from queryveil.serve.jobs import LOG_DELETED, RunManager
from queryveil.serve.run_files import LOGS, check_unpacked, store_upload
from queryveil.serve.run_specs import StatisticsSpec, parse_spec, source_of, spec_class
from queryveil.serve.settings import Settings
from queryveil.serve.store import LogRow, RunRow, Store, checked_name, new_id

MOST_FILES = 1_000  # of the folder that are listed
DeletionScope = Literal["log", "private", "everything"]  # of what goes with a log
DELETIONS: Mapping[DeletionScope, str] = {  # what the audit trail calls them
    "log": "delete only the log",
    "private": "delete the log and who is behind its releases",
    "everything": "delete everything of the log",
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
}
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
        with self.received(name, filename, stream, reading) as row:
            self.check_readable(row)
            return self._add(row)

    @contextmanager
    def received(
        self, name: str, filename: str, stream: BinaryIO, reading: Mapping[str, str] = _NO_READING
    ) -> Iterator[LogRow]:
        """Store an uploaded log and yield its row; the file is removed if it is refused, here or by the caller."""
        last_part = PurePath(filename.replace("\\", "/")).name
        filename = "".join(c for c in last_part if c.isprintable())[:200] or "upload"
        row = self._new_row(name, "upload", filename, reading)
        try:
            store_upload(Path(row.path), stream, self._settings)
            refuse_archive(Path(row.path), filename)
            with errors_name_sent_file(row):
                check_unpacked(Path(row.path), filename, self._settings.max_unpacked)
            yield row
        except BaseException:
            shutil.rmtree(Path(row.path).parent, ignore_errors=True)
            raise

    def add_file(self, name: str, relative_path: str, reading: Mapping[str, str] = _NO_READING) -> LogRow:
        """Add a file of the server's folder without copying it."""
        row = self.file_row(name, relative_path, reading)
        self.check_readable(row)
        return self._add(row)

    def file_row(self, name: str, relative_path: str, reading: Mapping[str, str] = _NO_READING) -> LogRow:
        """Return the row of a log that is a file of the server's folder."""
        path, name = str(self._settings.file(relative_path)), checked_name(name)
        return LogRow(name=name, kind="file", path=path, filename=relative_path, reading=given_reading(reading))

    def delete(self, log: str, scope: DeletionScope = "log") -> None:
        """Delete a log and the server's copy of it, and of its runs what the scope says.

        `log` leaves releases and private folders, `private` the releases alone, `everything` nothing, and of a file in
        the folder no run that was given it. Statistics always go; other runs that have not ended fail, or go too.
        """
        row, runs = self._store.log(log), self._store.runs(log=log)
        if scope == "everything" and not row.is_copy:
            for run in self._store.runs():  # its result may quote the file
                if run not in runs and row.filename in parse_spec(run.kind, run.spec).named_files().values():
                    runs.append(run)
        gone = runs if scope == "everything" else [run for run in runs if spec_class(run.kind).goes_with_log]
        stay = [run for run in runs if run not in gone]
        has_private = [run for run in stay if run.state == "done" and run.kind == "anonymize"]
        self._jobs.delete_rows(
            gone,
            logs=[row],
            forget=has_private if scope == "private" else (),
            stop=[run for run in stay if not run.is_over],
            reason=("failed", LOG_DELETED),
        )

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

        [found] = find_files(source_of(path, given_reading(reading)))
        roles = {("user" if role == "person" else role): column for role, column in found.layout.roles.items()}
        return GuessedLayout(found.format, found.layout.columns, roles)

    def statistics(self, log: str) -> RunRow | None:
        """Return the run that computes the statistics of a log."""
        return next(iter(self._store.runs(log=log, kind="statistics")), None)

    def _new_row(self, name: str, kind: Literal["demo", "upload"], filename: str, reading: Mapping[str, str]) -> LogRow:
        """Return the row of a log that is kept in a new private folder, and create that folder."""
        log = new_id()
        folder = self._settings.state_folder / LOGS / log
        name, path, reading = checked_name(name), str(folder / "log"), given_reading(reading)
        row = LogRow(id=log, name=name, kind=kind, path=path, filename=filename, reading=reading)
        folder.mkdir(mode=0o700, parents=True)
        return row

    def _add(self, row: LogRow) -> LogRow:
        self._store.add(row)
        self.start_statistics(row)
        return row

    def start_statistics(self, row: LogRow) -> None:
        """Start the run that computes the statistics of a log."""
        self._jobs.start(StatisticsSpec(), row.name, log=row.id)

    def check_readable(self, row: LogRow) -> None:
        """Raise if a file cannot be read as a log."""
        with errors_name_sent_file(row):
            self.guess(Path(row.path), row.reading)


@contextmanager
def errors_name_sent_file(row: LogRow) -> Iterator[None]:
    """Let errors name fields in place of flags, and a log's file as its owner calls it."""
    try:
        yield
    except QueryveilError as error:
        sentence = with_fields(str(error)).replace(row.path, row.filename)
        raise type(error)(sentence, field=error.field or "file") from None


def given_reading(reading: Mapping[str, str]) -> dict[str, str]:
    """Return the reading options that are not empty, or raise if one is not valid."""
    from queryveil.logs.options import ReadingOptions

    given = {name: reading[name].strip() for name in ("format", "columns") if reading.get(name, "").strip()}
    if ReadingOptions(**given).format:
        resolve("format", given["format"])
    return given


def refuse_archive(path: Path, filename: str) -> None:
    """Refuse an archive of files, which would else be called a text with NUL bytes."""
    with path.open("rb") as stream:
        kind = _ARCHIVES.get(stream.read(4))
    if kind is not None:
        sentence = f"{filename} is {kind}; unpack it, and send the log itself, which may be a .gz or .zst file."
        raise InputError(sentence, field="file")


def _walk(root: Path) -> Iterator[str]:
    """Yield the relative paths of all files below a folder that are not hidden, without following links to folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield str((Path(folder) / name).relative_to(root))
