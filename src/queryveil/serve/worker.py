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
from queryveil.serve.run_specs import RunInputs, RunSpec

RESULT = "result.json"  # in a run's folder
OUT_OF_MEMORY = "the run needed more memory than there is; try a smaller log, or fewer runs at once (--jobs)."
_REPORT_INTERVAL = 0.25  # seconds between two progress reports of one stage


def run_worker(spec: RunSpec, inputs: RunInputs, pipe: Connection) -> None:
    """Perform the run in this process and send its outcome; a worker that is stopped sends none."""
    _set_up_process(inputs)
    try:
        progress = _progress_sender(pipe)
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
        sentence, log = sentence_of(error), inputs.log_row  # the owner knows the log by its file name, not its path
        pipe.send(("failed", sentence if log is None else sentence.replace(log.path, log.filename)))


def _set_up_process(inputs: RunInputs) -> None:
    """Ignore Ctrl-C, stop on SIGTERM, print nothing, and keep temporary files in the run's folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(devnull, stream.fileno())
    temporary = inputs.folder / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    tempfile.tempdir = str(temporary)
    exit_with_parent()


def exit_with_parent() -> None:
    """Send this process SIGTERM as soon as its parent process has ended, even if that was killed."""
    parent = parent_process()

    def await_parent() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=await_parent, daemon=True).start()


def _progress_sender(pipe: Connection) -> Progress:
    """Return a progress callback that sends every new stage at once, and updates within a stage at intervals."""
    last_stage, last_time = "", 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last_stage, last_time
        moment = time.monotonic()
        if stage != last_stage or moment - last_time >= _REPORT_INTERVAL:
            last_stage, last_time = stage, moment
            pipe.send(("progress", stage, int(done), int(total)))

    return report


def _make_demo_log(inputs: RunInputs, progress: Progress) -> None:
    """Generate the demo log and its market table unless they exist; the seed is fixed."""
    log, market = Path(inputs.log.path), Path(inputs.log.market)
    if log.exists() and market.exists():
        return
    import numpy as np

    from queryveil.logs.generate import generate

    rng = np.random.default_rng(1)
    generate(log, users=inputs.demo_people, rng=rng, market_out=market, overwrite=True, progress=progress)
