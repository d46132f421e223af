"""`describe` against reading the same log and building its profiles, as `read` and `profiles` do.

`python -m benchmarks.describe` (20,000 users), `python -m benchmarks.describe full` (the size of the AltaVista log):
each side is a whole process, imports included and kernels compiled before, with a memory limit of 1 GB; both run in
turn.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import ROOT, RUNS, Figures, bar, main, make_log, median

SIDES = {
    "reading": "import queryveil, sys\nwith queryveil.read(sys.argv[1], memory_limit='1GB') as log:\n"
    "    queryveil.profiles(log)",
    "describe": "import queryveil, sys\nqueryveil.describe(sys.argv[1], memory_limit='1GB')",
}


def measure(users: int | None) -> Figures:
    """Run both sides in turn and compare the medians."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_log(Path(folder), users)
        side("describe", path)  # compiles
        runs: dict[str, list[tuple[float, float, float]]] = {who: [] for who in SIDES}
        for _ in range(RUNS):
            for who, done in runs.items():
                done.append(side(who, path))
    clock, processor, peak = ({who: median([run[i] for run in done]) for who, done in runs.items()} for i in range(3))
    return {
        "reading, seconds": round(clock["reading"], 2),
        "describe, seconds": round(clock["describe"], 2),
        f"time ratio {bar('≤ 1.5', users)}": round(clock["describe"] / clock["reading"], 2),
        f"processor time ratio {bar('≤ 1.5', users)}": round(processor["describe"] / processor["reading"], 2),
        "reading, peak MB": round(peak["reading"]),
        f"describe, peak MB {bar('≤ 2,000', users)}": round(peak["describe"]),
    }


def side(who: str, path: Path) -> tuple[float, float, float]:
    """Run one side; return the seconds by the clock, those of the processor, and the peak in MB."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", SIDES[who], str(path)], cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{who} failed")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


if __name__ == "__main__":
    main(measure)
