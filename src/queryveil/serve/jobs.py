"""Runs in worker processes: a manager thread starts queued runs, a limited number at once, and records how they end.

Only the manager thread touches workers. Other threads send it stop requests through a queue, and read the state that it
writes to the store, so that a restarted server knows which runs finished.
"""

import asyncio
import json
import multiprocessing
import queue
import shutil
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError, sentence_of
from queryveil.release.manifest import Manifest, load_manifest
from queryveil.serve.run_specs import INDEX, PRIVATE, RELEASE, RunInputs, RunSpec, parse_spec
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, RunRow, RunState, Store, UnknownIdError
from queryveil.serve.worker import RESULT, run_worker

KILLED = "the worker ended unexpectedly (killed, or out of memory); start the run again."
CANCELLED = "the run was cancelled, and nothing of it was kept."
INTERRUPTED = "the server was stopped while the run waited or was under way; start it again."
LOG_DELETED = "the log was deleted before the run had ended; add the log again, and start another run."
_STOP_TIMEOUT = 5.0  # seconds between SIGTERM and SIGKILL
_EVENT_INTERVAL = 0.2  # seconds between two looks at a run that somebody follows

RunOutcome = tuple[RunState, str]  # the final state, and the sentence that explains it


@dataclass
class _Worker:
    """The process of a run, and what is known about its end."""

    run: str
    process: SpawnProcess
    pipe: Connection
    outcome: RunOutcome | None = None  # that the worker sent
    stop_reason: RunOutcome | None = None  # that whoever stopped it gave; it overrides the worker's outcome
    deadline: float | None = None


class RunManager:
    """Starts, watches and ends the runs of a server, each in a worker process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._workers: dict[str, _Worker] = {}
        self._stop_requests: queue.SimpleQueue[tuple[str, RunOutcome]] = queue.SimpleQueue()
        self._wakeup_r, self._wakeup_w = multiprocessing.Pipe(duplex=False)
        self.closing = threading.Event()
        store.interrupt_all(INTERRUPTED)
        self._manager = threading.Thread(target=self._manage, name="jobs", daemon=True)
        self._manager.start()

    def start(self, spec: RunSpec, name: str, *, log: str | None = None, release: str | None = None) -> RunRow:
        """Queue a run, or raise the command line's error if it cannot be run."""
        if spec.needs_release:
            log = self.run_that_made(release or "").log
        row = RunRow.queued(name, spec, log=log, release=release)
        spec.check(self._inputs(spec, row))
        self._store.add(row)
        self._wake()
        return row

    def run_that_made(self, release: str) -> RunRow:
        """Return the finished run that made a release."""
        row = next(iter(self._store.runs(id=release, kind="anonymize")), None)
        if row is None:
            raise UnknownIdError("there is no such release, or it was deleted; choose another.", field="release")
        if row.state != "done":
            raise ConflictError(
                f"the run {row.name} has made no release (it is {row.state}); choose another.", field="release"
            )
        return row

    def cancel(self, run: str) -> RunRow:
        """Stop a run and remove what it has written."""
        row = self._store.run(run)
        if row.is_over:
            raise ConflictError(f"the run {row.name} is over already ({row.state}); there is nothing to cancel.")
        self._stop(run, "cancelled", CANCELLED)
        return self._store.run(run)

    def restart(self, run: str) -> RunRow:
        """Queue a run that did not succeed again, with the same name and spec."""
        row = self._store.run(run)
        spec = parse_spec(row.kind, row.spec)
        spec.check(self._inputs(spec, row))
        if not self._store.requeue(run):
            raise ConflictError(f"the run {row.name} is {row.state}; only one that did not succeed is started again.")
        self._wake()
        return self._store.run(run)

    def delete(self, run: str) -> None:
        """Delete a run, its files, and the runs on its release; a running one is stopped first."""
        row = self._store.run(run)
        for other in self._store.runs(release=run):
            self.delete(other.id)
        self._stop(run, "cancelled", CANCELLED)
        self._await_end(run)
        self._store.delete(row)
        shutil.rmtree(self.folder_of(run), ignore_errors=True)

    def end_runs_on(self, log: str) -> None:
        """Delete the statistics of a log that is being deleted, and fail its unfinished runs; releases stay."""
        for row in self._store.runs(log=log):
            if row.kind == "statistics":
                self.delete(row.id)
            elif not row.is_over:
                self._stop(row.id, "failed", LOG_DELETED)
                self._await_end(row.id)

    async def events(self, run: str) -> AsyncIterator[RunRow]:
        """Yield a run now and after every change, until it is over or the server stops."""
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
            await asyncio.sleep(_EVENT_INTERVAL)

    def result(self, run: str) -> dict[str, Any] | None:
        """Return the result of a run; None unless it is done."""
        if self._store.run(run).state != "done":
            return None
        result: dict[str, Any] = json.loads((self.folder_of(run) / RESULT).read_text())
        return result

    def folder_of(self, run: str) -> Path:
        """Return the folder of a run's files."""
        return self._settings.state_folder / "runs" / run

    def release_of(self, run: str) -> Path:
        """Return the folder of the release that a run made."""
        return self.folder_of(self.run_that_made(run).id) / RELEASE

    def private_of(self, run: str) -> Path:
        """Return the private folder of the release that a run made."""
        return self.folder_of(self.run_that_made(run).id) / PRIVATE

    def manifest(self, run: str) -> Manifest:
        """Return the manifest of the release that a run made."""
        return load_manifest(self.release_of(run))

    def index(self) -> Path | None:
        """Return the index to search: the one in the settings, else the newest that a run has made."""
        made = (self.folder_of(run.id) / INDEX for run in self._store.runs(kind="index") if run.state == "done")
        return self._settings.index or next(made, None)

    def close(self) -> None:
        """Stop all workers and the manager thread; unfinished runs become interrupted."""
        if not self._manager.is_alive():
            return
        self.closing.set()
        self._wake()
        self._manager.join()
        self._store.interrupt_all(INTERRUPTED)
        self._wakeup_r.close()
        self._wakeup_w.close()

    def _stop(self, run: str, state: RunState, sentence: str) -> None:
        """End a queued run, or ask the manager to stop its worker."""
        if not self._store.end(run, state, sentence, only="queued"):
            self._stop_requests.put((run, (state, sentence)))
            self._wake()

    def _await_end(self, run: str) -> None:
        until = time.monotonic() + 2 * _STOP_TIMEOUT
        while not self._store.run(run).is_over and time.monotonic() < until:
            time.sleep(0.02)

    def _wake(self) -> None:
        """Wake the manager thread from its wait."""
        self._wakeup_w.send(None)

    def _manage(self) -> None:
        """Start, watch and end workers until the server stops."""
        while not self.closing.is_set():
            self._start_queued()
            self._poll()
        for worker in self._workers.values():
            self._terminate(worker, ("interrupted", INTERRUPTED))
        while self._workers:
            self._poll()

    def _start_queued(self) -> None:
        """Start queued runs while fewer than the allowed number are running."""
        while len(self._workers) < self._settings.jobs:
            row = self._store.take_queued()
            if row is None:
                return
            try:
                self._workers[row.id] = self._start_worker(row)
            except (InputError, OSError) as error:
                is_gone = isinstance(error, UnknownIdError)
                self._store.end(row.id, "failed", LOG_DELETED if is_gone else sentence_of(error))

    def _start_worker(self, row: RunRow) -> _Worker:
        spec = parse_spec(row.kind, row.spec)
        inputs = self._inputs(spec, row)
        shutil.rmtree(inputs.folder, ignore_errors=True)
        inputs.folder.mkdir(mode=0o700, parents=True)
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe(duplex=False)
        process = context.Process(target=run_worker, args=(spec, inputs, theirs), name=f"run-{row.id}", daemon=True)
        process.start()
        theirs.close()  # so that the pipe reaches its end when the process does
        return _Worker(row.id, process, pipe)

    def _inputs(self, spec: RunSpec, row: RunRow) -> RunInputs:
        """Return what a run works on, or raise if its log, its release or a file is missing."""
        files = {name: self._settings.file(path, name) for name, path in spec.named_files().items()}
        release_run = self.folder_of(self.run_that_made(row.release or "").id) if spec.needs_release else None
        log = self._store.log(row.log or "") if spec.needs_log else None
        return RunInputs(
            folder=self.folder_of(row.id),
            files=files,
            log_row=log,
            release_run=release_run,
            demo_people=self._settings.demo_people if log is not None and log.kind == "demo" else 0,
            index=self.index(),
        )

    def _poll(self) -> None:
        """Wait for a wake-up, a message of a worker, or the time to kill one, and handle it."""
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        timeout = max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else None
        ready = wait([self._wakeup_r, *(worker.pipe for worker in self._workers.values())], timeout)
        if self._wakeup_r in ready:
            self._wakeup_r.recv()
        while not self._stop_requests.empty():
            run, reason = self._stop_requests.get()
            if run in self._workers:
                self._terminate(self._workers[run], reason)
        for worker in list(self._workers.values()):
            if worker.pipe in ready:
                self._receive(worker)
            if worker.deadline is not None and time.monotonic() > worker.deadline:
                worker.process.kill()

    def _receive(self, worker: _Worker) -> None:
        """Handle one message of a worker; the end of its pipe is the end of the worker."""
        try:
            kind, *rest = worker.pipe.recv()
        except (EOFError, OSError):
            self._end(worker)
            return
        if kind == "progress":
            self._store.update_progress(worker.run, *rest)
        else:
            worker.outcome = (kind, *rest)

    def _terminate(self, worker: _Worker, reason: RunOutcome) -> None:
        """Send SIGTERM to a worker and set the deadline after which it is killed."""
        if worker.stop_reason is None:
            worker.stop_reason, worker.deadline = reason, time.monotonic() + _STOP_TIMEOUT
            worker.process.terminate()

    def _end(self, worker: _Worker) -> None:
        """Reap a worker and record how its run ended; the files of an unsuccessful run are removed."""
        worker.process.join()
        worker.pipe.close()
        del self._workers[worker.run]
        state, sentence = worker.stop_reason or worker.outcome or ("failed", KILLED)
        folder = self.folder_of(worker.run)
        shutil.rmtree(folder / "tmp" if state == "done" else folder, ignore_errors=True)
        self._store.end(worker.run, state, sentence)
