"""`km(k=2, m=3)` against `km(k=2, m=2)`, for both algorithms: the method alone, and whole commands.

`python -m benchmarks.sizes` (20,000 users), `python -m benchmarks.sizes full` (the size of the AltaVista log). The
method alone goes from profiles to what is kept, all runs in one process of their own, kernels compiled beforehand, and
takes processor time; a command is timed from the start of its process to its end.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import RUNS, SEED, Figures, anonymize, bar, main, make_log, median, own_process, warm_up

ALGORITHMS, SIZES = ("paper", "best"), (2, 3)
LIMIT = ("--memory-limit", "1GB")


def measure(users: int | None) -> Figures:
    """Run both sizes three times in turn and compare the medians."""
    results: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), users)
        warm_up(Path(folder), *(_method(m, algorithm) for algorithm in ALGORITHMS for m in SIZES))
        alone = own_process("benchmarks.sizes", "methods", str(log))
        for algorithm in ALGORITHMS:
            names = [_method(m, algorithm) for m in SIZES]
            whole: dict[str, list[float]] = {name: [] for name in names}
            for _ in range(RUNS):
                for name in names:
                    whole[name].append(anonymize(log, name, *LIMIT)["seconds"])
            for what, times in (("method", alone), ("whole command", whole)):
                two, three = (median(times[name]) for name in names)
                wanted = f" {bar('≤ 3', users)}" if times is alone else ""
                results |= {
                    f"{algorithm}, {what}, m=2, seconds": round(two, 2),
                    f"{algorithm}, {what}, m=3, seconds": round(three, 2),
                    f"{algorithm}, {what}, ratio{wanted}": round(three / two, 2),
                }
    return results


def _method(m: int, algorithm: str) -> str:
    return f"km(k=2, m={m}, algorithm={algorithm})"


def _methods(path: str) -> dict[str, list[float]]:
    """Return the processor time of the methods alone on profiles that are made once."""
    import numpy as np

    from queryveil.api import generate, profiles
    from queryveil.core.names import resolve
    from queryveil.methods.base import MethodTask
    from queryveil.methods.km import run

    bounds = {name: resolve("method", name) for name in (_method(m, a) for a in ALGORITHMS for m in SIZES)}
    log = profiles(path)
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "tiny.tsv", users=200, seed=SEED)
        tiny = profiles(Path(folder) / "tiny.tsv")
    for bound in bounds.values():
        run(MethodTask(tiny, bound, np.random.default_rng(SEED)))  # compiles, or loads
    times: dict[str, list[float]] = {name: [] for name in bounds}
    for _ in range(RUNS):
        for name, bound in bounds.items():
            started = time.process_time()
            run(MethodTask(log, bound, np.random.default_rng(SEED)))
            times[name].append(time.process_time() - started)
    return times


if __name__ == "__main__":
    if sys.argv[1:2] == ["methods"]:
        print(json.dumps(_methods(sys.argv[2])))
    else:
        main(measure)
