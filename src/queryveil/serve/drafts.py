"""Drafts: logs that were sent or chosen, and are looked at, and read differently if need be, before they are added.

A draft keeps its file, so that its columns can be corrected without sending it again; a log of which nothing was made
yet can become a draft again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from queryveil.serve.fields import with_fields
from queryveil.serve.jobs import LOG_DELETED, RunManager
from queryveil.serve.logs import Logs, errors_name_sent_file, given_reading
from queryveil.serve.run_specs import source_of
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, DraftRow, LogRow, Store

if TYPE_CHECKING:
    from queryveil.workflows.preview import LogPreview

HAS_RUNS = (
    "runs were started on this log as it is read now; delete them first, or add the file again under another name."
)
HAS_NO_FILE = "the demo log is made by queryveil itself, and cannot be read differently; add a log of your own."
_NO_READING: Mapping[str, str] = {}


class Drafts:
    """Makes, previews, changes, adds and discards drafts."""

    def __init__(self, settings: Settings, store: Store, jobs: RunManager, logs: Logs) -> None:
        self._settings, self._store, self._jobs, self._logs = settings, store, jobs, logs

    def send(self, name: str, filename: str, stream: BinaryIO, reading: Mapping[str, str] = _NO_READING) -> DraftRow:
        """Store a log that was sent, or raise if it is too large or cannot be a log, however it is read."""
        with self._logs.received(name, filename, stream, reading) as row:
            return self._keep(row)

    def choose(self, name: str, relative_path: str, reading: Mapping[str, str] = _NO_READING) -> DraftRow:
        """Take a file of the server's folder, which stays where it is."""
        return self._keep(self._logs.file_row(name, relative_path, reading))

    def preview(self, draft: LogRow) -> "LogPreview":
        """Return the beginning of a draft as it would be read."""
        from queryveil.workflows.preview import preview

        with errors_name_sent_file(draft):
            found = preview(source_of(draft.path, draft.reading))
        return replace(found, problem=with_fields(found.problem).replace(draft.path, draft.filename))

    def change(self, draft: str, *, name: str, reading: Mapping[str, str]) -> DraftRow:
        """Replace the name of a draft and how it is read."""
        self._store.change_draft(self._store.draft(draft).id, name=name, reading=given_reading(reading))
        return self._store.draft(draft)

    def add(self, draft: str) -> LogRow:
        """Make a draft a log, and start its statistics; raise if it cannot be read, or another log has its name."""
        row = self._store.draft(draft)
        self._logs.check_readable(row)
        self._settings.check_disk()
        log = self._store.exchange([row], LogRow(**vars(row)))
        self._logs.start_statistics(log)
        return log

    def discard(self, draft: str) -> None:
        """Delete a draft, and the server's copy of its file."""
        self._jobs.delete_rows([], logs=[self._store.draft(draft)], reason=("cancelled", LOG_DELETED))

    def reopen(self, log: str) -> DraftRow:
        """Make a log of which nothing was made a draft again, to read it differently."""
        row, runs = self._store.log(log), self._store.runs(log=log)
        if row.kind == "demo":
            raise ConflictError(HAS_NO_FILE, field="log")
        statistics = self._logs.statistics(log)
        if any(run != statistics for run in runs):
            raise ConflictError(HAS_RUNS, field="log")
        self._jobs.delete_rows(runs, reason=("cancelled", LOG_DELETED))
        return self._store.exchange([row], DraftRow(**vars(row)))

    def _keep(self, row: LogRow) -> DraftRow:
        draft = DraftRow(**vars(row))
        self.preview(draft)
        return self._store.add(draft)
