"""How much processor time the first run of a method takes after installing, kernel by kernel.

`python -m benchmarks.cold_start [METHOD …]`: each on a generated log of 5,000 people with an empty cache, then again.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, Figures, make_log

METHODS = ("km(k=10, m=2)", "vocabulary(k=5, eps=4)", "linkability(p=0.5)")
USERS = 5_000
SHOWN = 0.05  # seconds of a kernel that is listed by itself


def measure(methods: tuple[str, ...] = METHODS) -> Figures:
    """Return the processor time of the first and the second run of every method, and that of compiling each kernel."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), USERS)
        for method in methods:
            with tempfile.TemporaryDirectory() as cache:
                first, kernels = _run(log, method, cache)
                second, _ = _run(log, method, cache)
            figures[f"{method}, first run, CPU seconds"] = round(first, 1)
            figures[f"{method}, second run, CPU seconds"] = round(second, 1)
            for name, seconds in sorted(kernels.items(), key=lambda item: -item[1]):
                if seconds >= SHOWN:
                    figures[f"{method}, {name}"] = round(seconds, 2)
    return figures


def _run(log: Path, method: str, cache: str) -> tuple[float, dict[str, float]]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "benchmarks.cold_start", "--child", str(log), method]
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(done.stdout.splitlines()[-1])


def _child(log: Path, method: str) -> None:
    from queryveil.api import anonymize
    from queryveil.kernels.compiler import KernelCompiler

    compile_extra: Callable[..., Any] = KernelCompiler.compile_extra
    seconds: dict[str, float] = {}
    running: list[str] = []  # the kernel that Python called, and those that it calls

    def timed(self: KernelCompiler, function: Callable[..., Any]) -> Any:
        running.append(f"{function.__module__.removeprefix('queryveil.kernels.')}.{function.__name__}")
        started = time.thread_time()
        try:
            return compile_extra(self, function)
        finally:
            name = running.pop()
            if not running:
                seconds[name] = seconds.get(name, 0.0) + time.thread_time() - started

    KernelCompiler.compile_extra = timed  # type: ignore[method-assign]
    anonymize(log, method, log.parent / "release", private=log.parent / "private", seed=1, force=True)
    print(json.dumps(seconds))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _child(Path(sys.argv[2]), sys.argv[3])
    else:
        for what, value in measure(tuple(sys.argv[1:]) or METHODS).items():
            print(f"{what}: {value}")
