"""How much more `algorithm=best` keeps than `algorithm=paper` of few people's very long, sparse histories.

Logs of 800 people and 100 terms each on average: half of what a person asks for is what everybody does
(Zipf–Mandelbrot), half is of some topics of interest; how much people ask is log-normal.

Run it with `python -m benchmarks.long_histories`.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import resolve
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask
from queryveil.methods.km import run
from tests.builders import profiles_of

PEOPLE, TERMS, TOPICS, TOPIC_SIZE = 800, 40_000, 400, 200
SEEDS = (1, 2, 3, 4)
MEAN, SPREAD = 116, 0.9  # of what people ask for; a term that is asked for twice is one term


def shares(n: int, shift: float, exponent: float) -> NDArray[np.float64]:
    """Return the shares of n terms after the law of Zipf and Mandelbrot."""
    weight = np.power(np.arange(1, n + 1) + shift, -exponent)
    return np.asarray(weight / weight.sum(), np.float64)


def long_log(seed: int) -> Profiles:
    """Make a log."""
    rng = np.random.default_rng(seed)
    everybody, within = shares(TERMS, 10, 1.05), shares(TOPIC_SIZE, 3, 1.0)
    topics = [rng.choice(TERMS, TOPIC_SIZE, replace=False) for _ in range(TOPICS)]
    lengths = 1 + rng.lognormal(np.log(MEAN) - SPREAD**2 / 2, SPREAD, PEOPLE).astype(np.int64)
    histories = []
    for length in lengths:
        n_own = rng.binomial(length, 0.5)
        mine = rng.choice(TOPICS, 1 + rng.poisson(3), p=shares(TOPICS, 5, 1.0))
        own = [topics[topic][rng.choice(TOPIC_SIZE, p=within)] for topic in rng.choice(mine, n_own)]
        histories.append([f"t{t}" for t in (*rng.choice(TERMS, length - n_own, p=everybody), *own)])
    return profiles_of(histories)


def kept(log: Profiles, k: int, algorithm: str) -> float:
    """Return the log size that an algorithm keeps, in %."""
    method = resolve("method", f"km(k={k}, m=2, algorithm={algorithm})")
    mask = run(MethodTask(log, method, np.random.default_rng(SEEDS[0]))).mask
    return 100 * float(log.counts[mask].sum() / log.counts.sum())


def measure() -> dict[str, float | str | bool]:
    """Return what both algorithms keep at k = 2 and 5, m = 2, on average, and the gain in relative percent."""
    logs = [long_log(seed) for seed in SEEDS]
    lengths = np.mean([len(log.ids) / log.n_histories for log in logs])
    results: dict[str, float | str | bool] = {"logs": f"{len(logs)} of {PEOPLE} people, {lengths:.1f} terms each"}
    for k in (2, 5):
        paper, best = (np.array([kept(log, k, name) for log in logs]) for name in ("paper", "best"))
        gains = 100 * (best / paper - 1)
        results |= {
            f"k={k} log size kept, paper / best, %": f"{paper.mean():.2f} / {best.mean():.2f}",
            f"k={k} more kept, each log, %": " ".join(f"{gain:.2f}" for gain in gains),
            f"k={k} more kept, % (bar: 5)": round(float(gains.mean()), 2),
        }
    return results


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
