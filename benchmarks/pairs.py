"""Counting pairs of terms with their supports at k = 2 against FP-growth of pyfim, on the same term numbers.

`python -m benchmarks.pairs` (20,000 users), `python -m benchmarks.pairs full` (the size of the AltaVista log): each
side in a process of its own, imports, compilation and the making of its input apart. Ours gives arrays and runs on all
cores, and on one for comparison; pyfim gives Python tuples and has one core; the faster of two of its variants counts.
What it takes only to count, giving out nothing but how many pairs there are, is shown too. pyfim is built from source
and is not needed by anything else.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import RUNS, Figures, bar, main, make_log, median, own_process
from queryveil.core.progress import silent
from queryveil.histories.profiles import Profiles

K = 2
MISSING = "pyfim is not installed; get it with `.venv/bin/python -m pip install -c constraints.txt pyfim` (needs gcc)"
OURS, ONE_CORE = "queryveil", "queryveil, one core"
THEIRS = {"pyfim, simple nodes": "s", "pyfim, complex nodes": "c"}  # its algo=; d is slower, t crashes
ONLY_COUNTING = {f"{side}, only counting": variant for side, variant in THEIRS.items()}
SIDES = (OURS, ONE_CORE, *THEIRS, *ONLY_COUNTING)


def measure(users: int | None) -> Figures:
    """Run the sides three times in turn and compare the medians."""
    try:
        import fim  # noqa: F401
    except ImportError:
        return {"left out": MISSING}
    from queryveil.api import profiles

    with tempfile.TemporaryDirectory() as folder:
        log = profiles(make_log(Path(folder), users))
        path = Path(folder) / "pairs.npz"
        np.savez(path, indptr=log.indptr, ids=log.ids, owner=log.owner)
        n_people, n_pairs = log.n_people, len(log.ids)
        del log
        runs = {side: [own_process("benchmarks.pairs", side, str(path))] for side in SIDES}  # compiles, or finds it
        for _ in range(RUNS - 1):
            for side, done in runs.items():
                done.append(own_process("benchmarks.pairs", side, str(path)))
    seconds = {side: median([run["seconds"] for run in done]) for side, done in runs.items()}
    first = {side: done[0] for side, done in runs.items()}
    theirs, counting = min(seconds[side] for side in THEIRS), min(seconds[side] for side in ONLY_COUNTING)
    return {
        "log": f"{n_people:,} people, {n_pairs:,} (person, term)",
        "frequent pairs": f"{first[OURS]['pairs']:,}",
        **{f"{side}, seconds": round(value, 3) for side, value in seconds.items()},
        f"times faster than pyfim {bar('≥ 2', users)}": round(theirs / seconds[OURS], 1),
        "times faster on one core": round(theirs / seconds[ONE_CORE], 1),
        "times faster than its only counting": round(counting / seconds[OURS], 1),
        "identical pairs and supports": len({first[side]["digest"] for side in (OURS, ONE_CORE, *THEIRS)}) == 1,
    }


def _ours(path: str) -> dict[str, object]:
    from queryveil.kernels.histories import count_people
    from queryveil.methods.deletion import count_combinations

    def counted(log: Profiles) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        people = count_people(log.indptr, log.ids, log.owner, int(log.ids.max()) + 1)
        tree = count_combinations(log, int(np.count_nonzero(people >= K)), K, 2, silent)  # ids fall with people
        return tree.start2, tree.term2, tree.support2

    tiny = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.arange(2, dtype=np.int32)
    counted(_profiles(*tiny))  # compiles, or loads
    with np.load(path) as arrays:
        log = _profiles(arrays["indptr"], arrays["ids"], arrays["owner"])
    started = time.perf_counter()
    start, term, support = counted(log)
    seconds = time.perf_counter() - started
    rarest = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return {"seconds": seconds, **_described(rarest, term, support)}


def _profiles(indptr: NDArray[np.int64], ids: NDArray[np.int32], owner: NDArray[np.int32]) -> Profiles:
    return Profiles((), indptr, ids, np.ones_like(ids), owner, ())


def _theirs(path: str, variant: str, report: str) -> dict[str, object]:
    import fim

    with np.load(path) as arrays:
        bounds, ids = arrays["indptr"].tolist(), arrays["ids"].tolist()
    baskets = [tuple(ids[a:b]) for a, b in pairwise(bounds)]
    started = time.perf_counter()
    found = fim.fpgrowth(baskets, target="s", supp=-K, zmin=2, zmax=2, report=report, algo=variant)
    seconds = time.perf_counter() - started
    if report == "#":
        return {"seconds": seconds}
    pairs = np.array([(*pair, support) for pair, support in found])
    return {"seconds": seconds, **_described(pairs[:, :2].max(axis=1), pairs[:, :2].min(axis=1), pairs[:, 2])}


def _described(rarest: NDArray[Any], other: NDArray[Any], support: NDArray[Any]) -> dict[str, object]:
    order = np.lexsort((other, rarest))
    table = np.stack((rarest, other, support), axis=1)[order].astype(np.int64)
    return {"pairs": len(table), "digest": hashlib.sha256(table.tobytes()).hexdigest()}


def _side(side: str, path: str) -> dict[str, object]:
    if side == ONE_CORE:
        os.cpu_count = lambda: 1  # what the number of threads is taken from
    if side in (OURS, ONE_CORE):
        return _ours(path)
    return _theirs(path, THEIRS[side], "a") if side in THEIRS else _theirs(path, ONLY_COUNTING[side], "#")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(_side(*sys.argv[1:])))
    else:
        main(measure)
