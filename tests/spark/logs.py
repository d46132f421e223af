"""Small logs for runs on Spark."""

from pathlib import Path

import numpy as np

TERMS = [f"t{i}" for i in range(25)]


def write_log(path: Path, people: int = 60, seed: int = 1) -> Path:
    """Write a log of people in two countries, with identifiers, duplicates, a bot, empty queries and a bad line."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(TERMS) + 1)
    lines = ["user\tquery\ttime\tcountry"]
    for person in range(people):
        for day in range(1, 1 + int(rng.integers(1, 4))):
            terms = rng.choice(TERMS, size=rng.integers(1, 4), replace=False, p=weights / weights.sum())
            line = f"p{person}\t{' '.join(terms)}\t2026-01-0{day} 10:00:00\t{'de' if person % 3 else 'fr'}"
            lines += [line] * int(rng.integers(1, 3))
    lines += [f"bot\tt{i}\t2026-01-01 10:{i % 60:02}:00\tde" for i in range(130)]
    lines += ["p1\tme@example.org Été\t2026-01-01 11:00:00\tde", "p2\t4111 1111 1111 1111\t2026-01-02 11:00:00\tfr"]
    lines += ["p3\tand no time and no country", "p9\tt0\t2026-01-02 11:00:00\tli"]
    lines += [
        "p4\t\t2026-01-03 11:00:00\tde",
        "silent\t \t2026-01-03 11:00:00\tde",
        "silent\t?\t2026-01-03 12:00:00\tfr",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path
