"""Algorithm 1 on kernels against plain Python: identical output, and how much faster.

`python -m benchmarks.kernels`: m = 2, kernels compiled beforehand, processor time. A demo log of 20,000 users against
the slow twin of the tests, and 20,000 people with 8 terms each, drawn by Zipf's law, against good plain Python with
dictionaries of supports and a set per history.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.common import median
from queryveil.api import generate, profiles
from queryveil.core.names import declarations, resolve
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask
from queryveil.methods.km import run
from queryveil.methods.targets import TermValues
from tests.builders import profiles_of, rows
from tests.twins.km import algorithm_1

USERS, SEED, RUNS = 20_000, 1, 5
TERMS, LENGTH = 20_000, 8  # of the log of short histories: terms to draw from, and terms of each person
Rows = Sequence[Sequence[int]]
PlainPython = Callable[[Rows, int, Sequence[float]], list[set[int]]]


def measure() -> dict[str, float | str | bool]:
    """Time both on the same profiles, for a small and a larger k."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "log.tsv", users=USERS, seed=SEED)
        demo = profiles(Path(folder) / "log.tsv")
    return {**_compare("demo log", demo, _twin), **_compare("8 terms each", _short_histories(), plain_algorithm_1)}


def _compare(name: str, log: Profiles, plain: PlainPython) -> dict[str, float | str | bool]:
    """Time the kernels, the median of several runs, and plain Python on one log."""
    utility = declarations("target")["logsize"].load()(log, TermValues()).tolist()
    results: dict[str, float | str | bool] = {}
    for k in (2, 10):
        method = resolve("method", f"km(k={k}, m=2, algorithm=paper)")
        run(MethodTask(log, method, np.random.default_rng(SEED)))  # compiles
        times = []
        for _ in range(RUNS):
            started = time.process_time()
            kept = run(MethodTask(log, method, np.random.default_rng(SEED)))
            times.append(time.process_time() - started)
        started = time.process_time()
        left = plain(rows(log), k, utility)
        seconds = time.process_time() - started
        bounds = zip(log.indptr, log.indptr[1:], strict=False)
        results |= {
            f"{name}, k={k}, kernels, CPU seconds": round(median(times), 4),
            f"{name}, k={k}, plain Python, CPU seconds": round(seconds, 2),
            f"{name}, k={k}, times faster (bar: 60)": round(seconds / median(times), 1),
            f"{name}, k={k}, identical output": [set(log.ids[a:b][kept.mask[a:b]].tolist()) for a, b in bounds] == left,
        }
    return results


def _twin(histories: Rows, k: int, utility: Sequence[float]) -> list[set[int]]:
    return algorithm_1(histories, range(len(histories)), k, 2, "logsize", utility)[0]


def _short_histories() -> Profiles:
    """Return people with equally many terms each, drawn by Zipf's law."""
    weight = 1 / np.arange(1, TERMS + 1)
    drawn = np.random.default_rng(SEED).choice(TERMS, (USERS, 8 * LENGTH), p=weight / weight.sum()).tolist()
    return profiles_of([[f"t{term}" for term in dict.fromkeys(row)][:LENGTH] for row in drawn])


def plain_algorithm_1(histories: Rows, k: int, utility: Sequence[float]) -> list[set[int]]:
    """Return what Algorithm 1 leaves of each history for m = 2 and people of one history each."""
    current = [set(history) for history in histories]
    single: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for history in histories:
        single.update(history)
        pairs.update(combinations(history, 2))
    is_changed = True
    while is_changed:
        is_changed = False
        for held in current:
            for term in [term for term in held if single[term] < k]:
                _remove(single, pairs, held, term)
                is_changed = True
            for pair in combinations(sorted(held), 2):
                if pairs[pair] < k and held.issuperset(pair):
                    first, second = pair
                    _remove(single, pairs, held, second if utility[second] <= utility[first] else first)
                    is_changed = True
    return current


def _remove(single: Counter[int], pairs: Counter[tuple[int, int]], held: set[int], term: int) -> None:
    """Delete a term from a history and lower the supports."""
    held.remove(term)
    single[term] -= 1
    for other in held:
        pairs[(other, term) if other < term else (term, other)] -= 1


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
