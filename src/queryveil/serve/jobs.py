"""Runs in worker processes: at most so many at once, the rest wait; a manager thread hears them and starts the next.

Only the manager thread touches workers. Everybody else asks it by a queue, and reads what it writes into the store, so
that a restart finds there what finished and what did not.
"""

import asyncio
import json
import multiprocessing
import queue
import shutil
import threading
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

from queryveil.core.errors import InputError, sentence_of
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, LogRow, RunRow, Store, UnknownIdError, checked_name, new_id, now
from queryveil.serve.work import BUNDLED, INDEX, KINDS, PRIVATE, RELEASE, RESULT, Task, main, release_request, resolved

KILLED = "the worker ended unexpectedly (killed, or out of memory); start the run again."
CANCELLED = "the run was cancelled, and nothing of it was kept."
INTERRUPTED = "the server was stopped while the run waited or was under way; start it again."
LOG_DELETED = "the log was deleted before the run had ended; add the log again, and start another run."
_PATIENCE = 5.0  # seconds between asking a worker to stop and killing it
_LISTEN = 0.2  # seconds between two looks at a run that somebody watches
_FILES = ("market", "values", "taxonomy", "places", "corpus")  # of a spec: files in the server's folder
_ON_RELEASES = ("verify", "measure", "attack")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass
class _Worker:
    """A process that does a run, and what is known about its end."""

    run: str
    process: SpawnProcess
    pipe: Connection
    said: tuple[str, str] | None = None  # the state and the sentence that it told
    stopped_for: tuple[str, str] | None = None  # the same of whoever stopped it, which counts more
    deadline: float | None = None


class Jobs:
    """The runs of a server."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._workers: dict[str, _Worker] = {}
        self._asked: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()  # run, state, sentence
        self._ear, self._bell = multiprocessing.Pipe(duplex=False)
        self.closing = threading.Event()
        store.interrupt_all(INTERRUPTED)
        self._manager = threading.Thread(target=self._manage, name="jobs", daemon=True)
        self._manager.start()

    def start(
        self,
        kind: str,
        name: str,
        log: str | None = None,
        release: str | None = None,
        spec: Mapping[str, Any] = _NOTHING,
    ) -> RunRow:
        """Queue a run, or refuse what cannot be run with the sentence of the command line."""
        if kind not in KINDS:
            raise InputError(f"there is no run of kind {kind!r}; there are {', '.join(KINDS)}.", field="kind")
        if kind in _ON_RELEASES:
            log = self.made(release or "").log
        row = RunRow(
            new_id(), checked_name(name), kind, log, release, dict(spec), "queued", "", 0, 0, "", now(), None, None
        )
        self._check(row)
        self._store.add_run(row)
        self._ring()
        return row

    def made(self, release: str) -> RunRow:
        """Return the run that made a release, if it has."""
        try:
            row = self._store.run(release)
        except UnknownIdError:
            row = None
        if row is None or row.kind != "anonymize":
            raise UnknownIdError("there is no such release, or it was deleted; choose another.", field="release")
        if row.state != "done":
            raise ConflictError(
                f"the run {row.name} has made no release (it is {row.state}); choose another.", field="release"
            )
        return row

    def cancel(self, run: str) -> RunRow:
        """Stop a run; what it had begun to write is removed."""
        row = self._store.run(run)
        if row.is_over:
            raise ConflictError(f"the run {row.name} is over already ({row.state}); there is nothing to cancel.")
        self._stop(run, "cancelled", CANCELLED)
        return self._store.run(run)

    def again(self, run: str) -> RunRow:
        """Start a run that did not succeed once more, under its name and as it was asked for."""
        row = self._store.run(run)
        self._check(row)
        if not self._store.queue_again(run):
            raise ConflictError(f"the run {row.name} is {row.state}; only one that did not succeed is started again.")
        self._ring()
        return self._store.run(run)

    def delete(self, run: str) -> None:
        """Remove a run, all that it made, and the runs on its release; one that is under way is stopped first."""
        row = self._store.run(run)
        for other in self._store.runs(release=run):
            self.delete(other.id)
        self._stop(run, "cancelled", CANCELLED)
        self._await_end(run)
        self._store.delete_run(row.id)
        shutil.rmtree(self.folder_of(run), ignore_errors=True)

    def forget_log(self, log: str) -> None:
        """End the runs on a log that is being deleted, and remove its statistics; releases stay."""
        for row in self._store.runs(log=log):
            if row.kind == "statistics":
                self.delete(row.id)
            elif not row.is_over:
                self._stop(row.id, "failed", LOG_DELETED)
                self._await_end(row.id)

    async def events(self, run: str) -> AsyncIterator[RunRow]:
        """Yield a run as it is now, then whenever something changed, until it is over or the server stops."""
        last = None
        while not self.closing.is_set():
            try:
                row = self._store.run(run)
            except UnknownIdError:
                return
            if row != last:
                yield row
            if row.is_over:
                return
            last = row
            await asyncio.sleep(_LISTEN)

    def result(self, run: str) -> dict[str, Any] | None:
        """Return what a run found; None unless it is done."""
        if self._store.run(run).state != "done":
            return None
        found: dict[str, Any] = json.loads((self.folder_of(run) / RESULT).read_text())
        return found

    def folder_of(self, run: str) -> Path:
        """Return where a run keeps its files."""
        return self._settings.home / "runs" / run

    def release_of(self, run: str) -> Path:
        """Return the release that a run made."""
        return self.folder_of(self.made(run).id) / RELEASE

    def private_of(self, run: str) -> Path:
        """Return who is behind the release that a run made."""
        return self.folder_of(self.made(run).id) / PRIVATE

    def close(self) -> None:
        """Stop all workers and the manager; what was under way is interrupted."""
        if not self._manager.is_alive():
            return
        self.closing.set()
        self._ring()
        self._manager.join()
        self._store.interrupt_all(INTERRUPTED)
        self._ear.close()
        self._bell.close()

    def _check(self, row: RunRow) -> None:
        """Refuse a run that is asked for in a way that no run can do."""
        files = self._files(row.spec)
        for kind in ("measure", "attack"):
            for name in row.spec.get(f"{kind}s", ()):
                resolved(kind, name, f"{kind}s")
        if row.kind in _ON_RELEASES:
            self.made(row.release or "")
        if row.spec.get("claim"):
            resolved("guarantee", row.spec["claim"], "claim")
        if row.kind not in ("verify", "index"):
            log = self._store.log(row.log or "")
            if row.kind == "anonymize":
                market = Path(log.market) if log.market else None
                release_request(row.spec, Path(log.path), log.reading, files, market)

    def _files(self, spec: Mapping[str, Any]) -> dict[str, Path]:
        """Return the files in the server's folder that a spec names."""
        named = {name: str(spec[name]) for name in _FILES if spec.get(name)}
        return {name: self._settings.file(path, name) for name, path in named.items() if path != BUNDLED}

    def index(self) -> Path | None:
        """Return what is searched: the index that was given, else the newest that a run has made."""
        made = (self.folder_of(run.id) / INDEX for run in self._store.runs(kind="index") if run.state == "done")
        return self._settings.index or next(made, None)

    def _stop(self, run: str, state: str, sentence: str) -> None:
        """End a run that waits, or have the manager end it."""
        if not self._store.end(run, state, sentence, only="queued"):
            self._asked.put((run, state, sentence))
            self._ring()

    def _await_end(self, run: str) -> None:
        until = time.monotonic() + 2 * _PATIENCE
        while not self._store.run(run).is_over and time.monotonic() < until:
            time.sleep(0.02)

    def _ring(self) -> None:
        self._bell.send(None)

    def _manage(self) -> None:
        """Start, hear and end workers until the server stops."""
        while not self.closing.is_set():
            self._fill()
            self._hear(timeout=self._until_deadline())
        for worker in self._workers.values():
            self._tell_to_stop(worker, "interrupted", INTERRUPTED)
        while self._workers:
            self._hear(timeout=self._until_deadline())

    def _fill(self) -> None:
        """Start what waits, as long as there is room."""
        while len(self._workers) < self._settings.jobs:
            row = self._store.take_queued()
            if row is None:
                return
            try:
                self._workers[row.id] = self._begin(row)
            except (InputError, OSError) as error:
                self._store.end(row.id, "failed", LOG_DELETED if _is_gone(error) else sentence_of(error))

    def _begin(self, row: RunRow) -> _Worker:
        task = self._task(row)
        shutil.rmtree(task.folder, ignore_errors=True)
        task.folder.mkdir(mode=0o700, parents=True)
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe(duplex=False)
        process = context.Process(target=main, args=(task, theirs), name=f"run-{row.id}", daemon=True)
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return _Worker(row.id, process, pipe)

    def _task(self, row: RunRow) -> Task:
        log: LogRow | None = None if row.log is None or row.kind == "verify" else self._store.log(row.log)
        folder, files = self.folder_of(row.id), self._files(row.spec)
        release = None if row.release is None else self.folder_of(self.made(row.release).id)
        if log is None:
            return Task(row.kind, folder, row.spec, release=release, files=files)
        return Task(
            row.kind,
            folder,
            row.spec,
            log=Path(log.path),
            shown=log.filename,
            reading=log.reading,
            market=Path(log.market) if log.market else None,
            demo_people=self._settings.demo_people if log.kind == "demo" else 0,
            release=release,
            files=files,
            index=self.index(),
        )

    def _hear(self, timeout: float | None) -> None:
        """Wait for something to happen, and see to it."""
        heard = wait([self._ear, *(worker.pipe for worker in self._workers.values())], timeout)
        if self._ear in heard:
            self._ear.recv()
        while not self._asked.empty():
            run, state, sentence = self._asked.get()
            if run in self._workers:
                self._tell_to_stop(self._workers[run], state, sentence)
        for worker in list(self._workers.values()):
            if worker.pipe in heard:
                self._listen(worker)
            if worker.deadline is not None and time.monotonic() > worker.deadline:
                worker.process.kill()

    def _listen(self, worker: _Worker) -> None:
        """Take one message; the end of the pipe is that of the worker."""
        try:
            kind, *rest = worker.pipe.recv()
        except (EOFError, OSError):
            self._end(worker)
            return
        if kind == "progress":
            self._store.note_progress(worker.run, *rest)
        else:
            worker.said = (kind, *rest)

    def _tell_to_stop(self, worker: _Worker, state: str, sentence: str) -> None:
        if worker.stopped_for is None:
            worker.stopped_for, worker.deadline = (state, sentence), time.monotonic() + _PATIENCE
            worker.process.terminate()

    def _end(self, worker: _Worker) -> None:
        """See a worker off and write down how its run ended; what did not succeed leaves nothing."""
        worker.process.join()
        worker.pipe.close()
        del self._workers[worker.run]
        state, sentence = worker.stopped_for or worker.said or ("failed", KILLED)
        if state == "done":
            shutil.rmtree(self.folder_of(worker.run) / "tmp", ignore_errors=True)
        else:
            shutil.rmtree(self.folder_of(worker.run), ignore_errors=True)
        self._store.end(worker.run, state, sentence)

    def _until_deadline(self) -> float | None:
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else None


def _is_gone(error: Exception) -> bool:
    return isinstance(error, UnknownIdError)
