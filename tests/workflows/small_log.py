"""A small log with times and countries, so that it can be cut into days and parts."""

from pathlib import Path

import numpy as np

TERMS = "abcdefgh"
PEOPLE = 40


def write_log(folder: Path, seed: int) -> Path:
    """Write a log of a few people who search on three days, every other one in the same country."""
    rng = np.random.default_rng(seed)
    lines = ["user,query,time,country"]
    for person in range(PEOPLE):
        for day in range(1, 4):
            terms = rng.choice(list(TERMS), size=rng.integers(1, 4), replace=False, p=np.arange(8, 0, -1) / 36)
            lines.append(f"p{person},{' '.join(terms)},2026-01-0{day} 10:00:00,{'de' if person % 2 else 'fr'}")
    path = folder / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
