"""Algorithm 1 on kernels against its slow twin in plain Python: identical output, and how much faster.

`python -m benchmarks.kernels`: a demo log of 20,000 users, m = 2, kernels compiled beforehand.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from queryveil.api import generate, profiles
from queryveil.core.names import declarations, resolve
from queryveil.methods.base import MethodTask
from queryveil.methods.km import run
from queryveil.methods.targets import TermValues
from tests.builders import rows
from tests.twins.km import algorithm_1

USERS, SEED = 20_000, 1


def measure() -> dict[str, float | str | bool]:
    """Time both on the same profiles, for a small and a larger k."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "log.tsv", users=USERS, seed=SEED)
        log = profiles(Path(folder) / "log.tsv")
    utility = declarations("target")["logsize"].load()(log, TermValues()).tolist()
    results: dict[str, float | str | bool] = {}
    for k in (2, 10):
        method = resolve("method", f"km(k={k}, m=2, algorithm=paper)")
        run(MethodTask(log, method, np.random.default_rng(SEED)))  # compiles
        started = time.perf_counter()
        kept = run(MethodTask(log, method, np.random.default_rng(SEED)))
        ours = time.perf_counter() - started
        started = time.perf_counter()
        twin, _ = algorithm_1(rows(log), log.owner.tolist(), k, 2, "logsize", utility)
        plain = time.perf_counter() - started
        bounds = zip(log.indptr, log.indptr[1:], strict=False)
        same = [set(log.ids[a:b][kept.mask[a:b]].tolist()) for a, b in bounds] == twin
        results |= {
            f"k={k} kernels, seconds": round(ours, 3),
            f"k={k} plain Python, seconds": round(plain, 2),
            f"k={k} times faster (bar: 60)": round(plain / ours, 1),
            f"k={k} identical output": same,
        }
    return results


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
