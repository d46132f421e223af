"""The worker process of a run: it runs one workflow, and sends its progress and its outcome over a pipe."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path

from queryveil.core.errors import sentence_of
from queryveil.core.files import write_file
from queryveil.core.progress import Progress
from queryveil.serve.fields import with_fields
from queryveil.serve.run_files import RESULT, TEMPORARY, UPLOAD, join_workers
from queryveil.serve.run_specs import RunInputs, RunSpec

COMPILING = "compiling kernels, once on this machine"
OUT_OF_MEMORY = "the run needed more memory than there is; try a smaller log, or fewer runs at once (--jobs)."
_LAST_GRACE = 10.0  # seconds after SIGTERM for a process whose parent has ended
_REPORT_INTERVAL = 0.25  # seconds between two progress reports of one stage


def run_worker(spec: RunSpec, inputs: RunInputs, pipe: Connection) -> None:
    """Perform the run in this process and send its outcome; a worker that is stopped sends none."""
    _set_up_process(inputs)
    try:
        progress = ProgressSender(pipe)
        _watch_compiler(progress)
        if inputs.demo_people:
            _make_demo_log(inputs, progress)
        text = json.dumps(spec.perform(inputs, progress), ensure_ascii=False, default=str)
        write_file(inputs.folder / RESULT, text.encode(), 0o600)
        pipe.send(("done", ""))
    except KeyboardInterrupt:
        return
    except MemoryError:
        pipe.send(("failed", OUT_OF_MEMORY))
    except Exception as error:
        pipe.send(("failed", _name_files_as_sent(with_fields(sentence_of(error)), spec, inputs)))


def _name_files_as_sent(sentence: str, spec: RunSpec, inputs: RunInputs) -> str:
    """Return a sentence with the names by which their owner knows files in place of their paths on the server."""
    named = {str(inputs.files[field]): path for field, path in spec.named_files().items()}
    if inputs.log_row is not None:
        named[inputs.log_row.path] = inputs.log_row.filename
    for path, name in named.items():
        sentence = sentence.replace(path, name)
    return sentence.replace(f"{inputs.folder / UPLOAD}{os.sep}", "")


def _set_up_process(inputs: RunInputs) -> None:
    """Ignore Ctrl-C, stop on SIGTERM, print nothing, and keep temporary files in the run's folder.

    The lock comes first: a worker that has it while its server lives is waited for by the next server.
    """
    join_workers(inputs.folder.parent.parent)
    server = parent_process()
    if server is not None and not server.is_alive():
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(devnull, stream.fileno())
    exit_with_parent()
    temporary = inputs.folder / TEMPORARY
    temporary.mkdir(mode=0o700, exist_ok=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)


def exit_with_parent() -> None:
    """Send this process SIGTERM as soon as its parent process has ended, even if that was killed; kill it later."""
    parent = parent_process()

    def await_parent() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_LAST_GRACE)
            os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=await_parent, daemon=True).start()


def _watch_compiler(progress: "ProgressSender") -> None:
    """Report compiling as progress; kernels are imported here, since the server itself needs none."""
    from queryveil import kernels

    kernels.watchers.append(progress.watch_compiler)


class ProgressSender:
    """A progress callback that sends every new stage at once, and updates within a stage at intervals."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._time = pipe, 0.0
        self._last: tuple[str, int, int] = ("starting", 0, 0)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take a progress report."""
        moment = time.monotonic()
        if stage != self._last[0] or moment - self._time >= _REPORT_INTERVAL:
            self._last, self._time = (stage, int(done), int(total)), moment
            self._pipe.send(("progress", *self._last))

    def watch_compiler(self, is_compiling: bool, seconds: float) -> None:
        """Send while kernels are compiled that this is why the run waits, then the stage that it is in again."""
        text = f"{self._last[0]} ({COMPILING}: {seconds:.0f} s so far)"
        self._pipe.send(("progress", text, 0, 0) if is_compiling else ("progress", *self._last))


def _make_demo_log(inputs: RunInputs, progress: Progress) -> None:
    """Generate the demo log and its market table unless they exist; the seed is fixed."""
    log, market = Path(inputs.log.path), Path(inputs.log.market)
    if log.exists() and market.exists():
        return
    import numpy as np

    from queryveil.logs.generate import generate

    rng = np.random.default_rng(1)
    generate(log, users=inputs.demo_people, rng=rng, market_out=market, overwrite=True, progress=progress)
