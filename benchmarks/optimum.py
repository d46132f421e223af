"""How near `algorithm=best` comes to what is possible: small logs whose best result is proven.

Logs of 24 people and about 8 terms each, m = 2. The most that any (k,2)-anonymous part of such a log keeps is found by
integer programming (HiGHS, in scipy), which takes seconds for logs this small only. A log that is not solved in time is
left out, and counted.

Run it with `python -m benchmarks.optimum`.
"""

from collections import defaultdict
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from queryveil.core.names import resolve
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask
from queryveil.methods.km import run
from tests.builders import profiles_of, rows

PEOPLE, TERMS, LENGTH, SEEDS = 24, 60, 8, 20
SECONDS = 60  # after which a log counts as not solved

Combination = tuple[int, ...]
Variable = tuple[int, Combination]  # a history, or ANY, keeps a combination
ANY = -1


class Program:
    """An integer program, written down constraint by constraint."""

    def __init__(self) -> None:
        self.variables: dict[Variable, int] = {}
        self.cells: list[tuple[int, int, float]] = []  # constraint, variable, factor
        self.least: list[float] = []

    def need(self, least: float, *parts: tuple[float, Variable]) -> None:
        """Add that a sum of factor · variable is at least something."""
        number = self.variables
        self.cells += [(len(self.least), number.setdefault(name, len(number)), factor) for factor, name in parts]
        self.least.append(least)

    def most(self) -> float | None:
        """Return how many single terms histories can keep at most; None if that was not proven in time."""
        is_term = np.array([h != ANY and len(combination) == 1 for h, combination in self.variables], np.float64)
        constraint, variable, factor = (np.array(column) for column in zip(*self.cells, strict=True))
        matrix = csr_array((factor, (constraint, variable)), shape=(len(self.least), len(self.variables)))
        found = milp(
            -is_term,
            integrality=is_term,  # all else is as large as it may and as small as it must be
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, self.least),
            options={"time_limit": SECONDS},
        )
        return None if found.status else -float(found.fun)


def small_log(seed: int) -> Profiles:
    """Make a log whose terms follow Zipf's law."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, TERMS + 1)
    lengths = np.maximum(rng.poisson(LENGTH, PEOPLE), 2)
    draws = [rng.choice(TERMS, length, replace=False, p=share / share.sum()) for length in lengths]
    return profiles_of([[f"t{t:02}" for t in draw] for draw in draws])


def optimum(log: Profiles, k: int) -> float | None:
    """Return how many terms of histories can stay at most: what is kept by any history is kept by k of them."""
    holders: dict[Combination, list[int]] = defaultdict(list)
    for h, history in enumerate(rows(log)):
        for size in (1, 2):
            for combination in combinations(history, size):
                holders[combination].append(h)
    program = Program()
    for combination, who in holders.items():
        program.need(0, *((1, (h, combination)) for h in who), (-k, (ANY, combination)))
        for h in who:
            terms = [(h, (t,)) for t in combination]
            # a history that keeps all terms keeps the combination …
            program.need(1 - len(terms), (1, (ANY, combination)), *((-1, term) for term in terms))
            for term in terms if len(terms) > 1 else ():  # … and one that does not keep a term does not
                program.need(0, (1, term), (-1, (h, combination)))
    return program.most()


def kept(log: Profiles, k: int, algorithm: str) -> int:
    """Return how many terms of histories stay."""
    method = resolve("method", f"km(k={k}, m=2, algorithm={algorithm})")
    return int(np.count_nonzero(run(MethodTask(log, method, np.random.default_rng(0))).mask))


def measure() -> dict[str, float | str | bool]:
    """Return what the paper's algorithm, ours and the proven optimum keep, in % on average."""
    results: dict[str, float | str | bool] = {}
    logs = [small_log(seed) for seed in range(SEEDS)]
    gained = missed = 0.0
    for k in (2, 3):
        most = {log: optimum(log, k) for log in logs}
        shares = np.array(
            [
                [100 * n / len(log.ids) for n in (kept(log, k, "paper"), kept(log, k, "best"), n_most)]
                for log, n_most in most.items()
                if n_most is not None
            ]
        )
        paper, best, proven = shares.mean(axis=0)
        gained, missed = gained + best - paper, missed + proven - best
        results |= {
            f"k={k} logs solved": f"{len(shares)} of {SEEDS}",
            f"k={k} paper, % kept": round(paper, 2),
            f"k={k} best, % kept": round(best, 2),
            f"k={k} optimum, % kept": round(proven, 2),
            f"k={k} share of the gap closed, %": round(100 * (best - paper) / (proven - paper), 1),
        }
    return results | {"share of the gap closed, % (bar: 40)": round(100 * gained / (gained + missed), 1)}


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
