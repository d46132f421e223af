"""Logs of a server: the demo log, uploads in the private folder, files of the folder that the server may read."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from queryveil.core.errors import InputError, QueryveilError
from queryveil.serve.jobs import Jobs
from queryveil.serve.settings import Settings
from queryveil.serve.store import LogRow, RunRow, Store, checked_name, new_id, now
from queryveil.serve.work import source_of

MOST_FILES = 1_000  # of the folder, that are listed
_CHUNK = 1 << 20  # bytes
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Guess:
    """How a file is laid out, as the command line guesses it."""

    format: str
    columns: tuple[str, ...]  # of the file
    roles: Mapping[str, str]  # user, query, time, rank, url → column


class Logs:
    """Adds, lists and deletes logs; the statistics of each are begun at once."""

    def __init__(self, settings: Settings, store: Store, jobs: Jobs) -> None:
        self._settings, self._store, self._jobs = settings, store, jobs

    def add_demo(self, name: str) -> LogRow:
        """Add the demo log, which is made by the first run that needs it."""
        row = self._new(name, "demo", "demo.tsv", _NOTHING)
        return self._add(row, Path(row.path).with_name("market.csv"))

    def add_upload(self, name: str, filename: str, stream: BinaryIO, reading: Mapping[str, str] = _NOTHING) -> LogRow:
        """Keep a log that was sent, if it can be read as one; stop at the size that is allowed."""
        row = self._new(name, "upload", _plain(filename), reading)
        try:
            _copy(stream, Path(row.path), self._settings.max_upload)
            self._check_readable(row)
            return self._add(row)
        except BaseException:
            shutil.rmtree(Path(row.path).parent, ignore_errors=True)
            raise

    def add_file(self, name: str, relative_path: str, reading: Mapping[str, str] = _NOTHING) -> LogRow:
        """Add a file of the server's folder, which stays where it is."""
        path = self._settings.file(relative_path)
        row = LogRow(new_id(), checked_name(name), "file", str(path), relative_path, _given(reading), "", now())
        self._check_readable(row)
        return self._add(row)

    def delete(self, log: str) -> None:
        """Forget a log and remove what the server keeps of it; runs on it end, releases stay."""
        row = self._store.log(log)
        self._store.delete_log(log)
        self._jobs.forget_log(log)
        if row.kind != "file":
            shutil.rmtree(Path(row.path).parent, ignore_errors=True)

    def files(self) -> list[tuple[str, int]]:
        """Return the files that may be chosen, by their paths in the server's folder, and their sizes."""
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

    def guess(self, path: Path, reading: Mapping[str, str] = _NOTHING) -> Guess:
        """Return how a file is laid out, or say why it cannot be read as a log."""
        from queryveil.engines.local.files import find_files

        [found] = find_files(source_of(path, _given(reading)))
        roles = {("user" if role == "person" else role): column for role, column in found.layout.roles.items()}
        return Guess(found.format, found.layout.columns, roles)

    def statistics(self, log: str) -> RunRow | None:
        """Return the run that says what is in a log."""
        return next(iter(self._store.runs(log=log, kind="statistics")), None)

    def _new(self, name: str, kind: str, filename: str, reading: Mapping[str, str]) -> LogRow:
        log = new_id()
        folder = self._settings.home / "logs" / log
        row = LogRow(log, checked_name(name), kind, str(folder / "log"), filename, _given(reading), "", now())
        folder.mkdir(mode=0o700, parents=True)
        return row

    def _add(self, row: LogRow, market: Path | None = None) -> LogRow:
        added = self._store.add_log(LogRow(**{**vars(row), "market": "" if market is None else str(market)}))
        self._jobs.start("statistics", row.name, log=row.id)
        return added

    def _check_readable(self, row: LogRow) -> None:
        try:
            self.guess(Path(row.path), row.reading)
        except QueryveilError as error:
            sentence = str(error).replace(row.path, row.filename)
            raise type(error)(sentence, field=error.field or "file") from None


def _plain(filename: str) -> str:
    """Return the name of an uploaded file without folders and what cannot be shown."""
    name = PurePath(filename.replace("\\", "/")).name
    return "".join(c for c in name if c.isprintable())[:200] or "upload"


def _given(reading: Mapping[str, str]) -> dict[str, str]:
    """Return the options of reading that say something, checked."""
    from queryveil.logs.options import Reading

    given = {name: reading[name].strip() for name in ("format", "columns") if reading.get(name, "").strip()}
    if Reading(**given).format:
        from queryveil.core.names import resolve

        resolve("format", given["format"])
    return given


def _copy(stream: BinaryIO, path: Path, most: int) -> None:
    left = most
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(too_large(most), field="file")
            out.write(chunk)


def too_large(most: int) -> str:
    """Say that something is larger than what is taken."""
    return (
        f"the file is larger than the {most / 1_000_000:,.0f} MB that this server takes; put it into the server's "
        "folder (--folder), or start the server with a larger --max-upload."
    )


def _walk(root: Path) -> Iterator[str]:
    """Yield the paths of files below a folder, hidden ones left out; links to folders are not followed."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield str((Path(folder) / name).relative_to(root))
