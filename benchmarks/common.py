"""What the benchmarks share: logs of two sizes, and contenders that run in processes of their own."""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Figures = dict[str, float | str | bool]

SMALL = 20_000  # users of a log in the form of ordinary length; in the full form None: as many as the original has
RUNS = 3  # of a timed contender, in turn with the others; the median counts
SEED = 1
ROOT = Path(__file__).resolve().parent.parent
# without what keeps Python from storing its bytecode, which pip and a first run leave behind
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_SAMPLE_SECONDS = 0.02
_SAMPLE_SHARE = 0.005  # of the time gone by, so that looking at a long run costs little


def make_log(folder: Path, users: int | None, like: str = "altavista", *, market: bool = False) -> Path:
    """Generate a log, and on request its market table `market.csv` in the same folder."""
    from queryveil.api import generate

    path = folder / "log.tsv"
    generate(path, like=like, users=users, seed=SEED, market_out=folder / "market.csv" if market else None)
    return path


def bar(text: str, users: int | None) -> str:
    """Name a bar; it is one of the full size, which a smaller log only looks at."""
    return f"(bar: {text})" if users is None else f"(bar at full size: {text})"


def median(values: Sequence[float]) -> float:
    """Return the middle one of an odd number of values."""
    return sorted(values)[len(values) // 2]


def own_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run a contender of a benchmark module in a process of its own and return the figures it prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def anonymize(log: Path, method: str, *options: str) -> dict[str, float]:
    """Run the whole command in a process of its own; return its seconds and the peak of its process tree in MB.

    `processor_seconds` are those of the whole tree, which other work delays less.
    """
    out = log.parent / "release"
    command = [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", method, "--out", str(out)]
    started, used = time.perf_counter(), _processor_seconds()
    process = subprocess.Popen(
        [*command, "--seed", str(SEED), "--force", "--private", str(out.with_name("private")), *options],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    peaks: dict[int, int] = {}
    seconds_of: dict[int, float] = {}
    watch = threading.Thread(target=_watch, args=(process, peaks, seconds_of))
    watch.start()
    _, said = process.communicate()
    seconds = time.perf_counter() - started
    watch.join()
    if process.returncode:
        raise RuntimeError(f"{method}: the command exits with {process.returncode}: {said.decode()}")
    return {
        "seconds": seconds,
        # Spark does not wait for its Java, whose seconds only the watch sees; the watch misses the last moments
        "processor_seconds": max(_processor_seconds() - used, sum(seconds_of.values())),
        "peak_mb": sum(peaks.values()) / 1e6,
        "processes": len(peaks),
    }


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def warm_up(folder: Path, *methods: str) -> None:
    """Run the whole command on a small log, so that no kernel is compiled while one is timed or its memory watched."""
    (folder / "small").mkdir()
    log = make_log(folder / "small", SMALL)
    for method in methods:
        anonymize(log, method)


def _watch(process: "subprocess.Popen[bytes]", peaks: dict[int, int], seconds_of: dict[int, float]) -> None:
    """Note the highest resident memory and the processor time of a process and of each it starts.

    The sum over processes is at least the tree's peak, and equal to it where there is one process only.
    """
    import psutil

    started = time.perf_counter()
    while process.poll() is None:
        try:
            members = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
        except psutil.Error:
            return
        for pid in members:
            peaks[pid] = max(peaks.get(pid, 0), _highest(pid))
            seconds_of[pid] = max(seconds_of.get(pid, 0), _seconds_of(pid))
        time.sleep(max(_SAMPLE_SECONDS, _SAMPLE_SHARE * (time.perf_counter() - started)))


def _highest(pid: int) -> int:
    # not getrusage: its peak is inherited from the parent process
    try:
        return 1024 * int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):  # it has ended
        return 0


def _seconds_of(pid: int) -> float:
    """Return the processor time of a process, without that of its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(measure: Callable[[int | None], Figures]) -> None:
    """Print the figures of a module: of a small log, or with the argument `full` of one of the original's size."""
    for name, value in measure(None if sys.argv[1:2] == ["full"] else SMALL).items():
        print(f"{name}: {value}")
