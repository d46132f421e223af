"""The 1,000 most frequent closed patterns of 20,000 vocabularies against pyfim's closed item sets at the same support.

`python -m benchmarks.patterns`: a demo log of 20,000 users, and as many vocabularies of 150 terms each drawn from a
flattened Zipf law; kernels compiled beforehand. pyfim is told the support that we find, and the fastest of its
algorithms counts; both get what they take: arrays, and a list of tuples. The best of three runs counts, of both.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import RUNS, SEED, SMALL, Figures, make_log
from benchmarks.pairs import MISSING
from queryveil.api import profiles
from queryveil.measures.utility.patterns import closed_patterns

N = 1_000  # patterns
TERMS, LENGTH = 2_000, 150  # of drawn vocabularies
ALGORITHMS = ("fpgrowth", "eclat", "apriori")
Rows = tuple[NDArray[np.int64], NDArray[np.int32], int]  # indptr, ids, terms
Result = TypeVar("Result")


def measure() -> Figures:
    """Time both on the same vocabularies, and compare what they find."""
    try:
        import fim  # noqa: F401
    except ImportError:
        return {"left out": MISSING}
    with tempfile.TemporaryDirectory() as folder:
        log = profiles(make_log(Path(folder), SMALL, "demo"))
    demo = (log.indptr, log.ids, len(log.vocabulary))
    return {**_compared("demo", demo), **_compared(f"{LENGTH} terms each", _drawn())}


def _drawn() -> Rows:
    """Draw vocabularies of different terms."""
    rng = np.random.default_rng(SEED)
    keys = rng.exponential(size=(SMALL, TERMS)) * np.sqrt(np.arange(1, TERMS + 1))
    ids = np.sort(np.argpartition(keys, LENGTH, axis=1)[:, :LENGTH], axis=1).astype(np.int32)
    return np.arange(0, SMALL * LENGTH + 1, LENGTH), ids.ravel(), TERMS


def _compared(name: str, rows: Rows) -> Figures:
    import fim

    indptr, ids, n_terms = rows
    closed_patterns(indptr, ids, n_terms, N)  # compiles
    ours, found = _timed(lambda: closed_patterns(indptr, ids, n_terms, N))
    least = int(found.supports[-1])
    tuples = [tuple(ids[begin:end].tolist()) for begin, end in pairwise(indptr)]
    runs = {
        algorithm: _timed(partial(getattr(fim, algorithm), tuples, target="c", supp=-least, report="a"))
        for algorithm in ALGORITHMS
    }
    fastest = min(runs, key=lambda algorithm: runs[algorithm][0])
    theirs, sets = runs[fastest]
    falling = np.argsort(-np.bincount(ids, minlength=n_terms), kind="stable")
    rank = np.argsort(falling).tolist()
    in_order = sorted((-support, len(items), sorted(rank[item] for item in items)) for items, support in sets)
    same = [entries for _, _, entries in in_order[:N]] == [sorted(rank[i] for i in pattern) for pattern in found]
    return {
        f"{name}: support of the last pattern": least,
        f"{name}: ours, seconds": round(ours, 3),
        f"{name}: pyfim's {fastest}, seconds": round(theirs, 3),
        f"{name}: times faster (bar: 1)": round(theirs / ours, 1),
        f"{name}: the same patterns": same,
    }


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    best = float("inf")
    for _ in range(RUNS):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
