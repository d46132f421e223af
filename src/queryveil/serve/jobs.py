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
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, BinaryIO

from queryveil.core.errors import InputError, sentence_of
from queryveil.release.manifest import Manifest, load_manifest
from queryveil.serve.fields import errors_name_fields
from queryveil.serve.progress_text import StageClock
from queryveil.serve.run_files import (
    INDEX,
    PRIVATE,
    RELEASE,
    RESULT,
    RUNS,
    TEMPORARY,
    UPLOAD,
    clear_folder,
    forget_files,
    remove,
    remove_leftovers,
    store_upload,
    upload_name,
)
from queryveil.serve.run_specs import LANES, RunInputs, RunSpec, kinds_of_lane, parse_spec
from queryveil.serve.settings import Settings
from queryveil.serve.store import ConflictError, LogRow, QuotaError, RunRow, RunState, Store, UnknownIdError
from queryveil.serve.worker import run_worker

KILLED = "the worker ended unexpectedly (killed, or out of memory); start the run again."
CANCELLED = "the run was cancelled, and nothing of it was kept."
INTERRUPTED = "the server was stopped while the run was under way; start it again."
FORGOTTEN = "who is behind this release was forgotten; only the release itself is left."
STILL_ENDING = "a run is still being stopped; try again in a few seconds."
LOG_DELETED = "the log was deleted before the run had ended; add the log again, and start another run."
_STOP_TIMEOUT = 5.0  # seconds between SIGTERM and SIGKILL
_RETENTION_INTERVAL = 3_600.0  # seconds between two looks for releases that are older than private folders are kept
_EVENT_INTERVAL = 0.2  # seconds between two looks at a run that somebody follows

RunOutcome = tuple[RunState, str]  # the final state, and the sentence that explains it


@dataclass
class _Worker:
    """The process of a run, and what is known about its end."""

    run: str
    lane: str
    process: SpawnProcess
    pipe: Connection
    outcome: RunOutcome | None = None  # that the worker sent
    stop_reason: RunOutcome | None = None  # that whoever stopped it gave; it overrides the worker's outcome
    deadline: float | None = None
    clock: StageClock = field(default_factory=StageClock)


class RunManager:
    """Starts, watches and ends the runs of a server, each in a worker process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._workers: dict[str, _Worker] = {}
        self._stop_requests: queue.SimpleQueue[tuple[str, RunOutcome]] = queue.SimpleQueue()
        self._wakeup_r, self._wakeup_w = multiprocessing.Pipe(duplex=False)
        self.closing = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        store.interrupt_running(INTERRUPTED)
        remove_leftovers(settings.state_folder, store)
        self._manager = threading.Thread(target=self._manage, name="jobs", daemon=True)
        self._manager.start()

    def start(self, spec: RunSpec, name: str, *, log: str | None = None, release: str | None = None) -> RunRow:
        """Queue a run, or raise the command line's error if it cannot be run."""
        [row] = self.start_all([(name, spec)], log=log, release=release)
        return row

    def start_on_upload(
        self, kind: type[RunSpec], fields: Mapping[str, Any], name: str, filename: str, stream: BinaryIO
    ) -> RunRow:
        """Queue a run on a file that was sent, which is kept in the run's folder; raise as `start` does."""
        sent = upload_name(filename)
        spec = kind.model_validate({**fields, "sent": sent})
        row = RunRow.queued(name, spec)
        self._check_quotas([spec])
        try:
            path = self.folder_of(row.id) / UPLOAD / sent
            path.parent.mkdir(mode=0o700, parents=True)
            store_upload(path, stream, self._settings)
            self._check(spec, row)
            self._store.add(row)
        except BaseException:
            shutil.rmtree(self.folder_of(row.id), ignore_errors=True)
            raise
        self._wake()
        return row

    def start_all(
        self, runs: Sequence[tuple[str, RunSpec]], *, log: str | None = None, release: str | None = None
    ) -> Sequence[RunRow]:
        """Queue several runs, or none of them if one cannot be run or the queue or the disk is full."""
        rows = []
        for name, spec in runs:
            if spec.needs_release:
                log = self.run_that_made(release or "").log
            row = RunRow.queued(name, spec, log=log, release=release)
            self._check(spec, row)
            rows.append(row)
        self._check_quotas([spec for _, spec in runs])
        self._store.add_all(rows)
        self._wake()
        return rows

    def _check(self, spec: RunSpec, row: RunRow) -> None:
        """Raise the command line's error, with fields in place of flags, if a run cannot be run."""
        if spec.needs_private:
            self.private_of(row.release or "")
        with errors_name_fields():
            spec.check(self._inputs(spec, row))

    def _check_quotas(self, specs: Sequence[RunSpec]) -> None:
        """Raise if the queue or the disk would hold more than the server allows."""
        most, kinds = self._settings.max_queue, kinds_of_lane(RunSpec.lane)
        new = sum(spec.lane == RunSpec.lane for spec in specs)
        waiting = sum(run.kind in kinds for run in self._store.runs(state="queued"))
        if new and waiting + new > most:
            raise QuotaError(
                f"the queue has room for {most - waiting:,} of {most:,} runs; cancel some, wait, or start the server "
                "with a larger --max-queue."
            )
        self._settings.check_disk()

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
        self._check(parse_spec(row.kind, row.spec), row)
        if not self._store.requeue(run):
            raise ConflictError(f"the run {row.name} is {row.state}; only one that did not succeed is started again.")
        self._wake()
        return self._store.run(run)

    def delete(self, run: str) -> None:
        """Delete a run, its files, and the runs on its release; those that have not ended are stopped first."""
        row = self._store.run(run)
        self.delete_rows([row, *self._store.runs(release=run)], reason=("cancelled", CANCELLED))

    def forget(self, run: str) -> RunRow:
        """Delete who is behind the release that a run made, and keep the release."""
        row = self.run_that_made(run)
        if row.forgotten is not None:
            raise ConflictError(FORGOTTEN, field="release")
        unfinished = [each for each in self._store.runs(release=run) if not each.is_over]
        self.delete_rows([], forget=[row], stop=unfinished, reason=("failed", FORGOTTEN))
        return self._store.run(run)

    def delete_rows(
        self,
        runs: Sequence[RunRow],
        *,
        logs: Sequence[LogRow] = (),
        forget: Sequence[RunRow] = (),
        stop: Sequence[RunRow] = (),
        reason: RunOutcome,
    ) -> None:
        """Delete runs and logs, and who is behind the releases of others; `stop` are runs that fail and stay.

        The rows go first, in one transaction: after a crash the next start removes the files of rows that are gone.
        """
        for row in (*runs, *stop):
            self._stop(row.id, *reason)
        for row in (*runs, *stop):
            self._await_end(row.id)
        self._store.delete(*runs, *logs, forget=forget)
        for listener in self._listeners:
            listener()
        for row in runs:
            remove(self.folder_of(row.id))
        for row in forget:
            forget_files(self.folder_of(row.id))
        for log in logs:
            if log.is_copy:
                remove(Path(log.path).parent)
        self._store.erase_deleted()

    def on_deletion(self, listener: Callable[[], None]) -> None:
        """Call a function whenever something was deleted, before its files are: for caches of what they hold."""
        self._listeners.append(listener)

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

    def seconds_left(self, run: str) -> float | None:
        """Return how long the current stage of a run will still take; None while that is unknown."""
        worker = self._workers.get(run)
        return None if worker is None else worker.clock.seconds_left()

    def result(self, run: str) -> dict[str, Any] | None:
        """Return the result of a run; None unless it is done."""
        if self._store.run(run).state != "done":
            return None
        result: dict[str, Any] = json.loads((self.folder_of(run) / RESULT).read_text())
        return result

    def folder_of(self, run: str) -> Path:
        """Return the folder of a run's files."""
        return self._settings.state_folder / RUNS / run

    def release_of(self, run: str) -> Path:
        """Return the folder of the release that a run made."""
        return self.folder_of(self.run_that_made(run).id) / RELEASE

    def private_of(self, run: str) -> Path:
        """Return the private folder of the release that a run made, or raise if it was forgotten who is behind it."""
        row = self.run_that_made(run)
        if row.forgotten is not None:
            raise ConflictError(FORGOTTEN, field="release")
        return self.folder_of(row.id) / PRIVATE

    def manifest(self, run: str) -> Manifest:
        """Return the manifest of the release that a run made."""
        return load_manifest(self.release_of(run))

    def index(self) -> Path | None:
        """Return the index to search: the one in the settings, else the newest that a run has made."""
        run = self.index_run()
        return self._settings.index or (None if run is None else self.folder_of(run.id) / INDEX)

    def index_run(self) -> RunRow | None:
        """Return the run that made the newest index."""
        return next((run for run in self._store.runs(kind="index") if run.state == "done"), None)

    def close(self) -> None:
        """Stop all workers and the manager thread; running runs become interrupted, and queued ones stay queued."""
        if not self._manager.is_alive():
            return
        self.closing.set()
        self._wake()
        self._manager.join()
        self._store.interrupt_running(INTERRUPTED)
        self._wakeup_r.close()
        self._wakeup_w.close()

    def _stop(self, run: str, state: RunState, sentence: str) -> None:
        """End a queued run, or ask the manager to stop its worker."""
        if not self._store.end(run, state, sentence, only="queued"):
            self._stop_requests.put((run, (state, sentence)))
            self._wake()

    def _await_end(self, run: str) -> None:
        until = time.monotonic() + 2 * _STOP_TIMEOUT
        while not self._store.run(run).is_over:
            if time.monotonic() > until:
                raise ConflictError(STILL_ENDING)
            time.sleep(0.02)

    def _wake(self) -> None:
        """Wake the manager thread from its wait."""
        self._wakeup_w.send(None)

    def _manage(self) -> None:
        """Start, watch and end workers until the server stops."""
        while not self.closing.is_set():
            self._forget_old()
            self._start_queued()
            self._poll()
        for worker in self._workers.values():
            self._terminate(worker, ("interrupted", INTERRUPTED))
        while self._workers:
            self._poll()

    def _forget_old(self) -> None:
        """Forget who is behind releases that are older than private folders are kept, unless runs need to know."""
        if not self._settings.forget_after:
            return
        oldest = (datetime.now(UTC) - timedelta(days=self._settings.forget_after)).isoformat(timespec="milliseconds")
        made = self._store.runs(kind="anonymize", state="done")
        old = [run for run in made if run.forgotten is None and run.ended is not None and run.ended < oldest]
        idle = [run for run in old if all(each.is_over for each in self._store.runs(release=run.id))]
        if idle:
            self.delete_rows([], forget=idle, reason=("failed", FORGOTTEN))

    def _start_queued(self) -> None:
        """Start queued runs while fewer than the allowed number of their lane are running."""
        for lane in LANES:
            most, kinds = self._settings.jobs if lane == RunSpec.lane else 1, kinds_of_lane(lane)
            while sum(worker.lane == lane for worker in self._workers.values()) < most:
                row = self._store.take_queued(kinds)
                if row is None:
                    break
                try:
                    self._workers[row.id] = self._start_worker(row)
                except (InputError, OSError) as error:
                    is_gone = isinstance(error, UnknownIdError)
                    self._store.end(row.id, "failed", LOG_DELETED if is_gone else sentence_of(error))

    def _start_worker(self, row: RunRow) -> _Worker:
        spec = parse_spec(row.kind, row.spec)
        inputs = self._inputs(spec, row)
        clear_folder(inputs.folder)
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe(duplex=False)
        process = context.Process(target=run_worker, args=(spec, inputs, theirs), name=f"run-{row.id}", daemon=True)
        process.start()
        theirs.close()  # so that the pipe reaches its end when the process does
        return _Worker(row.id, spec.lane, process, pipe)

    def _inputs(self, spec: RunSpec, row: RunRow) -> RunInputs:
        """Return what a run works on, or raise if its log, its release or a file is missing."""
        files = {
            name: self._settings.file(path, name, may_be_folder=name in spec.folder_fields)
            for name, path in spec.named_files().items()
        }
        release_run = self.folder_of(self.run_that_made(row.release or "").id) if spec.needs_release else None
        log = self._store.log(row.log or "") if spec.needs_log else None
        return RunInputs(
            folder=self.folder_of(row.id),
            files=files,
            log_row=log,
            release_run=release_run,
            demo_people=self._settings.demo_people if log is not None and log.kind == "demo" else 0,
            index=self.index(),
            max_unpacked=self._settings.max_unpacked,
        )

    def _poll(self) -> None:
        """Wait for a wake-up, a message of a worker, or the time to kill one, and handle it."""
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        timeout = max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else _RETENTION_INTERVAL
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
            worker.clock.report(*rest)
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
        shutil.rmtree(folder / TEMPORARY if state == "done" else folder, ignore_errors=True)
        self._store.end(worker.run, state, sentence)
